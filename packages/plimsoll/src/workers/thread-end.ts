/**
 * How a thread ends. Node may crash as a whole when a thread is stopped while it loads its modules or while native code runs
 * in it (nodejs/node #38418, WiseLibs/better-sqlite3 #1507): a thread is asked to end, and stopped only if it does not.
 */

import type { MessagePort, Worker } from "node:worker_threads";

const pleaseEnd = "please end";
/** A thread that is still busy after this long is stopped wherever it is. */
const patienceMs = 2000;
/** What `threadId` says of a thread that has ended. */
const ended = -1;

/** Contract: never rejects. A thread that fails while it ends has ended. */
export async function endThread(worker: Worker | undefined): Promise<void> {
  if (worker === undefined || worker.threadId === ended) return;
  const exit = new Promise((resolve) => worker.once("exit", resolve));
  // Nobody waits for anything that it could still say. Without a listener, the process would end with it.
  worker.on("error", () => undefined);
  // Whoever waits for it keeps the process alive.
  worker.ref();
  worker.postMessage(pleaseEnd);
  const timer = setTimeout(() => void worker.terminate(), patienceMs);
  await exit;
  clearTimeout(timer);
}

/** For the thread: `take` gets every message until it is asked to end, which it does when its work is done. */
export function takeUntilEnd<Message>(
  port: MessagePort,
  take: (message: Message) => void | Promise<void>,
): void {
  port.on("message", (message: Message | typeof pleaseEnd) => {
    if (message === pleaseEnd) port.close();
    else void take(message);
  });
}

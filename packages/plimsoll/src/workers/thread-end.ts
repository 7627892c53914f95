/**
 * Ends a worker thread. The whole Node process can crash when a thread is terminated while it loads its modules or runs native
 * code (nodejs/node #38418, WiseLibs/better-sqlite3 #1507). So Plimsoll first asks the thread to end, and terminates it only if
 * it is still running after `patienceMs`.
 */

import type { MessagePort, Worker } from "node:worker_threads";

const pleaseEnd = "please end";
/** If a thread has not ended after this many milliseconds, it is terminated. */
const patienceMs = 2000;
/** Node sets the `threadId` of a worker that has ended to this value. */
const ended = -1;

/** Contract: never rejects. A thread that fails while it is ending is treated as ended. */
export async function endThread(worker: Worker | undefined): Promise<void> {
  if (worker === undefined || worker.threadId === ended) return;
  const exit = new Promise((resolve) => worker.once("exit", resolve));
  // Errors no longer matter here, but without a listener they would end the process.
  worker.on("error", () => undefined);
  // Keeps the process alive until the thread has ended.
  worker.ref();
  worker.postMessage(pleaseEnd);
  const timer = setTimeout(() => void worker.terminate(), patienceMs);
  await exit;
  clearTimeout(timer);
}

/**
 * Runs inside the thread. `take` gets every message until the thread is asked to end. The thread then ends as soon as its work is
 * done.
 */
export function takeUntilEnd<Message>(
  port: MessagePort,
  take: (message: Message) => void | Promise<void>,
): void {
  port.on("message", (message: Message | typeof pleaseEnd) => {
    if (message === pleaseEnd) port.close();
    else void take(message);
  });
}

/** Threads end by themselves when asked. Only a thread that is stuck is terminated. */

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { afterEach, expect, test, vi } from "vitest";
import { endThread } from "./thread-end.ts";

const module = new URL("./thread-end.ts", import.meta.url).href;

afterEach(() => {
  vi.useRealTimers();
});

function threadOf(take: string): Worker {
  const script = `
    import { parentPort } from "node:worker_threads";
    import { takeUntilEnd } from ${JSON.stringify(module)};
    takeUntilEnd(parentPort, ${take});
    parentPort.postMessage("ready");`;
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`));
}

async function exitCodeOf(worker: Worker): Promise<number> {
  const exit = once(worker, "exit");
  await endThread(worker);
  const [code] = await exit;
  return code as number;
}

test("a thread that is at work finishes it, says so, and ends", async () => {
  const worker = threadOf(
    `() => { const end = Date.now() + 50; while (Date.now() < end); parentPort.postMessage("done"); }`,
  );
  const heard: unknown[] = [];
  worker.on("message", (message) => heard.push(message));
  worker.postMessage("work");
  expect(await exitCodeOf(worker)).toBe(0);
  expect(heard).toEqual(["ready", "done"]);
});

test("a thread that is still loading is let load, and ends then", async () => {
  expect(await exitCodeOf(threadOf("() => {}"))).toBe(0);
});

test("a thread that never comes to read is stopped", async () => {
  const worker = threadOf("() => { for (;;); }");
  await once(worker, "message");
  worker.postMessage("work");
  expect(await exitCodeOf(worker)).toBe(1);
});

const failing: Readonly<Record<string, () => Worker>> = {
  "cannot be loaded": () =>
    new Worker(new URL("data:text/javascript,import 'file:///not-there.mjs'")),
  "throws when it is asked to end": () => {
    const script = `
      const { parentPort } = require("node:worker_threads");
      parentPort.on("message", () => { throw new Error("boom"); });`;
    return new Worker(script, { eval: true });
  },
};

test.each(Object.entries(failing))("a thread that %s has ended", async (_name, start) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const worker = start();
  await endThread(worker);
  expect(worker.threadId).toBe(-1);
  // There is nothing left to terminate.
  expect(vi.getTimerCount()).toBe(0);
});

test("whoever asks a thread that has ended, or none, does not wait", async () => {
  const worker = threadOf("() => {}");
  await endThread(worker);
  await endThread(worker);
  await endThread(undefined);
});

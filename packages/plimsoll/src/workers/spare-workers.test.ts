/** Spare workers: the next owner gets a worker that already runs, and nothing else changes. */

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { createSpareWorkers } from "./spare-workers.ts";
import { Thread } from "./thread.ts";
import { endThread } from "./thread-end.ts";

const ending = new URL("./thread-end.ts", import.meta.url).href;
const script = `
  import { parentPort, threadId } from "node:worker_threads";
  import { takeUntilEnd } from ${JSON.stringify(ending)};
  takeUntilEnd(parentPort, (messages) => {
    for (const { id, question } of messages) {
      if (question === "never") continue;
      if (question === "die") throw new Error("boom");
      parentPort.postMessage([{ id, answer: threadId }]);
    }
  });`;
const address = new URL(`data:text/javascript,${encodeURIComponent(script)}`);

function counted() {
  const started: Worker[] = [];
  const workers = createSpareWorkers(() => {
    const worker = new Worker(address);
    started.push(worker);
    return worker;
  });
  const owner = (): Thread<string, number> => new Thread(workers);
  return { started, owner, end: () => Promise.all(started.map((worker) => endThread(worker))) };
}

test("the next owner gets the worker of one that has let it go", async () => {
  const { started, owner, end } = counted();
  const first = owner();
  const thread = await first.ask("who");
  await first.release();
  expect(await owner().ask("who")).toBe(thread);
  expect(started).toHaveLength(1);
  await end();
});

test("two owners at once have two workers", async () => {
  const { started, owner, end } = counted();
  const threads = await Promise.all([owner().ask("who"), owner().ask("who")]);
  expect(new Set(threads).size).toBe(2);
  expect(started).toHaveLength(2);
  await end();
});

test("a worker that is still at work is ended and not handed on, and its question fails", async () => {
  const { started, owner, end } = counted();
  const first = owner();
  await first.ask("who");
  const question = first.ask("never");
  await Promise.all([expect(question).rejects.toThrow("The thread has ended."), first.release()]);
  expect(started[0]?.threadId).toBe(-1);
  await owner().ask("who");
  expect(started).toHaveLength(2);
  await end();
});

test("a worker that has ended while nobody owned it is not handed on", async () => {
  const { started, owner, end } = counted();
  const first = owner();
  await first.ask("who");
  await first.release();
  await started[0]?.terminate();
  await owner().ask("who");
  expect(started).toHaveLength(2);
  await end();
});

test("an owner whose worker dies gets the error, also if it was a spare one", async () => {
  const { started, owner, end } = counted();
  const first = owner();
  await first.ask("who");
  await first.release();
  await expect(owner().ask("die")).rejects.toThrow("The thread has ended.");
  await owner().ask("who");
  expect(started).toHaveLength(2);
  await end();
});

test("a fifth spare worker is ended", async () => {
  const { started, owner, end } = counted();
  const owners = Array.from({ length: 5 }, owner);
  await Promise.all(owners.map((one) => one.ask("who")));
  const [, , , , fifth] = started;
  if (fifth === undefined) throw new Error("There is no fifth worker.");
  const exit = once(fifth, "exit");
  for (const one of owners) await one.release();
  await exit;
  expect(started.map(({ threadId }) => threadId === -1)).toEqual([
    false,
    false,
    false,
    false,
    true,
  ]);
  await end();
});

test("a spare worker does not keep its process alive", () => {
  const sourceOf = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);
  const program = `
    import { Worker } from "node:worker_threads";
    import { createSpareWorkers } from ${sourceOf("./spare-workers.ts")};
    import { Thread } from ${sourceOf("./thread.ts")};
    const worker = new Worker(new URL(${JSON.stringify(address.href)}));
    const thread = new Thread(createSpareWorkers(() => worker));
    await thread.ask("who");
    worker.once("exit", () => console.log("the worker was ended first"));
    process.once("beforeExit", () => console.log("the process has nothing to wait for"));
    await thread.release();`;
  const options = ["--input-type=module", "--eval", program];
  const { stdout } = spawnSync(process.execPath, options, { encoding: "utf8", timeout: 30_000 });
  expect(stdout).toBe("the process has nothing to wait for\n");
});

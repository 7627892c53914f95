/** Threads that answer questions: each answer reaches its question, and no question waits for a thread that is gone. */

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { afterEach, expect, test } from "vitest";
import { Thread } from "./thread.ts";

const opened: Thread<unknown, unknown, unknown>[] = [];
let started: Worker[] = [];

afterEach(async () => {
  started = [];
  await Promise.all(opened.splice(0).map((thread) => thread.end()));
});

/** A thread that runs `take(messages, say)` for every batch of messages it receives. */
function threadOf(take: string, onEnd?: (cause?: unknown) => void) {
  const ending = new URL("./thread-end.ts", import.meta.url).href;
  const script = `
    import { parentPort } from "node:worker_threads";
    import { takeUntilEnd } from ${JSON.stringify(ending)};
    const say = (...replies) => parentPort.postMessage(replies);
    const take = ${take};
    takeUntilEnd(parentPort, (messages) => take(messages, say));`;
  const thread = new Thread<unknown, unknown, unknown>({
    startWorker: () => {
      const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`));
      started.push(worker);
      return worker;
    },
    ...(onEnd === undefined ? {} : { onEnd }),
  });
  opened.push(thread);
  return thread;
}

const echo = `(messages, say) => say(...messages.map(({ id, question }) => ({ id, answer: question })))`;
const silent = "() => undefined";
const dying = `() => { throw new Error("boom"); }`;

test("what is asked at once goes over together, and each gets its own answer in whatever order they come", async () => {
  const backwards = `(messages, say) => say(...messages.map(({ id, question }) => ({ id, answer: question + messages.length })).reverse())`;
  const thread = threadOf(backwards);
  expect(await Promise.all(["a", "b", "c"].map((name) => thread.ask(name)))).toEqual([
    "a3",
    "b3",
    "c3",
  ]);
  expect([thread.waiting, started.length]).toEqual([0, 1]);
});

test("a thread starts with the first question, and one thread answers them all", async () => {
  const thread = threadOf(echo);
  expect(started).toHaveLength(0);
  await thread.ask(1);
  await thread.ask(2);
  expect(started).toHaveLength(1);
});

test("whoever waits for a thread that dies hears of it, with the reason, and the next question starts another", async () => {
  const ends: unknown[] = [];
  const thread = threadOf(
    `(messages, say) => { if (messages[0].question === "die") throw new Error("boom"); say(...messages.map(({ id }) => ({ id, answer: "alive" }))); }`,
    (cause) => ends.push(cause),
  );
  const asked = await Promise.allSettled([thread.ask("die"), thread.ask("too")]);
  expect(asked.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(ends).toEqual([new Error("boom")]);
  expect(await thread.ask("again")).toBe("alive");
  expect(started).toHaveLength(2);
});

test.each([
  ["ended", (thread: Thread<unknown, unknown, unknown>) => void thread.end()],
  ["stopped", (thread: Thread<unknown, unknown, unknown>) => thread.stop()],
])("whoever waits for a thread that is %s hears of it at once", async (_how, leave) => {
  const thread = threadOf(silent);
  const asked = thread.ask("anything");
  leave(thread);
  await expect(asked).rejects.toThrow("The thread has ended.");
  expect(thread.waiting).toBe(0);
});

test("a thread that cannot be started fails its question and no other", async () => {
  let isBroken = true;
  const working = threadOf(echo);
  const thread = new Thread<unknown, unknown>({
    startWorker: () => {
      if (isBroken) throw new Error("no threads left");
      return new Worker(
        `require("node:worker_threads").parentPort.on("message", ([{ id }]) => require("node:worker_threads").parentPort.postMessage([{ id, answer: "here" }]))`,
        { eval: true },
      );
    },
  });
  await expect(thread.ask(1)).rejects.toThrow("no threads left");
  isBroken = false;
  expect(await thread.ask(2)).toBe("here");
  thread.stop();
  expect(await working.ask(3)).toBe(3);
});

test("a question that cannot cross fails, and the thread goes on", async () => {
  const thread = threadOf(echo);
  await expect(thread.ask(() => undefined)).rejects.toThrow("could not be cloned");
  expect(await thread.ask("next")).toBe("next");
  expect(started).toHaveLength(1);
});

test("while it works, a thread gives news and is told what it asks for", async () => {
  const thread = threadOf(`(messages, say) => {
    for (const { id, question, told, value } of messages)
      if (question !== undefined) say({ id, news: "begun" }, { id, news: question });
      else say({ id, answer: [told, value] });
  }`);
  const heard: unknown[] = [];
  const answer = await thread.ask("how much?", {
    onNews: (news, tell) => {
      heard.push(news);
      if (news === "how much?") tell(7, 42);
    },
  });
  expect(heard).toEqual(["begun", "how much?"]);
  expect(answer).toEqual([7, 42]);
});

test("what a thread says by itself is its greeting", async () => {
  const thread = new Thread<unknown, unknown>({
    startWorker: () =>
      new Worker(
        `require("node:worker_threads").parentPort.postMessage([{ id: 0, answer: "ready" }])`,
        { eval: true },
      ),
  });
  expect(await thread.greeting()).toBe("ready");
});

test("buffers are handed over, not copied", async () => {
  const thread = threadOf(
    `(messages, say) => say(...messages.map(({ id, question }) => ({ id, answer: question.length })))`,
  );
  const bytes = new Uint8Array(10);
  expect(await thread.ask(bytes, { transfer: [bytes.buffer] })).toBe(10);
  expect(bytes.length).toBe(0);
});

test("nobody hears what a thread says after it was left", async () => {
  const late = `(messages, say) => { const end = Date.now() + 30; while (Date.now() < end); say(...messages.map(({ id }) => ({ id, answer: "late" }))); }`;
  const thread = threadOf(late);
  const first = thread.ask(1).catch(() => "left");
  await new Promise((resolve) => setImmediate(resolve));
  const [worker] = started;
  const ending = thread.end();
  const second = thread.ask(2);
  expect(await first).toBe("left");
  await ending;
  if (worker?.threadId !== -1) await once(worker as Worker, "exit");
  expect(await second).toBe("late");
  expect(started).toHaveLength(2);
});

test("a thread that dies with nobody waiting is replaced as well", async () => {
  const ends: unknown[] = [];
  const thread = threadOf(dying, (cause) => ends.push(cause));
  const asked = thread.ask("x").catch(() => undefined);
  await asked;
  expect(ends).toHaveLength(1);
  await thread.ask("y").catch(() => undefined);
  expect(started).toHaveLength(2);
});

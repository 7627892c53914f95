import { expect, test } from "vitest";
import { NamedQueues, Queue } from "./queue.ts";

/** Tasks that end when the test says so, and that record when they begin. */
function pieces() {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const work = (name: string) => (): Promise<string> => {
    begun.push(name);
    const end = Promise.withResolvers<string>();
    ends.set(name, end);
    return end.promise;
  };
  const settle = async (name: string, error?: Error): Promise<void> => {
    if (error === undefined) ends.get(name)?.resolve(name);
    else ends.get(name)?.reject(error);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { begun, work, settle };
}

test("a piece begins when the one before has ended, and each gives its own", async () => {
  const { begun, work, settle } = pieces();
  const queue = new Queue();
  const given = Promise.all([queue.run(work("one")), queue.run(work("two"))]);
  await settle("");
  expect([begun, queue.count]).toEqual([["one"], 2]);
  await settle("one");
  expect([begun, queue.count]).toEqual([["one", "two"], 1]);
  await settle("two");
  expect([await given, queue.count]).toEqual([["one", "two"], 0]);
});

test("a piece that fails fails alone", async () => {
  const { begun, work, settle } = pieces();
  const queue = new Queue();
  const failing = expect(queue.run(work("one"))).rejects.toThrow("no");
  const next = queue.run(work("two"));
  await settle("");
  await settle("one", new Error("no"));
  await failing;
  expect(begun).toEqual(["one", "two"]);
  await settle("two");
  expect(await next).toBe("two");
});

test("work that throws before it gives a promise fails alone too", async () => {
  const queue = new Queue();
  const thrown = queue.run(() => {
    throw new Error("at once");
  });
  await expect(thrown).rejects.toThrow("at once");
  expect(await queue.run(async () => "next")).toBe("next");
});

test("a queue is idle when what was begun has ended, failed or not", async () => {
  const queue = new Queue();
  await queue.idle();
  let isDone = false;
  queue.run(async () => Promise.reject(new Error("no"))).catch(() => undefined);
  void queue.run(async () => {
    isDone = true;
  });
  await queue.idle();
  expect(isDone).toBe(true);
});

test("work of other names does not wait, and a name without work is forgotten", async () => {
  const { begun, work, settle } = pieces();
  const queues = new NamedQueues();
  const given = Promise.all([
    queues.run("a", work("a1")),
    queues.run("a", work("a2")),
    queues.run("b", work("b1")),
  ]);
  await settle("");
  expect([begun, queues.size]).toEqual([["a1", "b1"], 2]);
  await settle("b1");
  expect(queues.size).toBe(1);
  await settle("a1");
  expect([begun.at(-1), queues.size]).toEqual(["a2", 1]);
  await settle("a2");
  await given;
  expect(queues.size).toBe(0);
});

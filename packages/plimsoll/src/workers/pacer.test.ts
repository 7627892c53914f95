import { expect, test } from "vitest";
import { createPacer } from "./pacer.ts";

async function turnsOf(costs: readonly number[], costPerTurn: number): Promise<number[]> {
  const { passLater } = createPacer({ costPerTurn });
  let turn = 0;
  let isDone = false;
  const count = (): void => {
    turn++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const turns = await Promise.all(costs.map((cost) => passLater(cost).then(() => turn)));
  isDone = true;
  return turns.map((one) => one - (turns[0] ?? 0));
}

test("work is spread over turns of the event loop, in the order of the calls", async () => {
  expect(await turnsOf([4, 4, 4, 4, 4], 8)).toEqual([0, 0, 1, 1, 2]);
});

test("a single piece of work that costs more than a turn has a turn of its own", async () => {
  expect(await turnsOf([2, 90, 2, 2], 8)).toEqual([0, 1, 2, 2]);
});

test("work that fits into the present turn starts at once, and later work never does", async () => {
  const { pass, passLater } = createPacer({ costPerTurn: 8 });
  expect(pass(4)).toBeUndefined();
  expect(pass(4)).toBeUndefined();
  expect(pass(4)).toBeInstanceOf(Promise);
  const order: string[] = [];
  const later = createPacer({ costPerTurn: 8 })
    .passLater(1)
    .then(() => order.push("work"));
  order.push("caller");
  await Promise.all([later, passLater(1)]);
  expect(order).toEqual(["caller", "work"]);
});

test("ten thousand pieces of work that wait are no more work than one by one", async () => {
  const turns = await turnsOf(new Array(10_000).fill(1), 100);
  expect(turns.at(-1)).toBe(99);
});

test("lanes take turns: the work of one does not wait for all the work of another", async () => {
  const { passLater } = createPacer({ costPerTurn: 8 });
  const order: string[] = [];
  const work = (name: string, lane: string): Promise<unknown> =>
    passLater(4, lane).then(() => order.push(name));
  const many = Array.from({ length: 100 }, (_, at) => work(`long ${at}`, "long"));
  await work("short", "short");
  expect(order).toEqual(["long 0", "short"]);
  await Promise.all(many);
  expect(order.slice(2)).toEqual(Array.from({ length: 99 }, (_, at) => `long ${at + 1}`));
});

test("says when no more work may wait", async () => {
  const { hasRoom, passLater } = createPacer({ costPerTurn: 8, backlogMax: 10 });
  expect(hasRoom(10)).toBe(true);
  const work = passLater(6);
  expect(hasRoom(5)).toBe(false);
  expect(hasRoom(4)).toBe(true);
  await work;
  expect(hasRoom(10)).toBe(true);
});

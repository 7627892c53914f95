import { expect, test } from "vitest";
import { gather } from "./gather.ts";

/** A clock that the test moves by hand. */
function clockwork() {
  let now = 0;
  let waiting: { readonly at: number; readonly work: () => void }[] = [];
  return {
    later: (work: () => void, ms: number) => {
      const entry = { at: now + ms, work };
      waiting.push(entry);
      return () => {
        waiting = waiting.filter((other) => other !== entry);
      };
    },
    pass: (ms: number) => {
      const until = now + ms;
      for (;;) {
        const [next] = waiting.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        now = next.at;
        waiting = waiting.filter((other) => other !== next);
        next.work();
      }
      now = until;
    },
    held: () => waiting.length,
    now: () => now,
  };
}

function watched(everyMs = 500) {
  const clock = clockwork();
  const drawn: string[] = [];
  const rows = gather((key) => drawn.push(key), clock, everyMs);
  return { ...clock, rows, drawn };
}

test("the first change of a row is drawn at once", () => {
  const { rows, drawn } = watched();
  rows.add("one");
  rows.add("two");
  expect(drawn).toEqual(["one", "two"]);
});

test("later changes of the same row wait, and are one drawing", () => {
  const { rows, drawn, pass } = watched();
  rows.add("one");
  rows.add("one");
  rows.add("one");
  pass(499);
  expect(drawn).toEqual(["one"]);
  pass(1);
  expect(drawn).toEqual(["one", "one"]);
});

test("a row that never rests is drawn every 500 ms", () => {
  const { rows, drawn, pass } = watched();
  for (let step = 0; step < 100; step++) {
    rows.add("one");
    pass(20);
  }
  expect(drawn).toHaveLength(5);
});

test("after a rest the next change is drawn at once again, and nothing is held", () => {
  const { rows, drawn, pass, held } = watched();
  rows.add("one");
  pass(500);
  expect(held()).toBe(0);
  rows.add("one");
  expect(drawn).toHaveLength(2);
});

test("the first change of the next burst is drawn at once, also right after the end of the last one was", () => {
  const { rows, drawn, pass } = watched();
  rows.add("one");
  pass(20);
  rows.add("one");
  pass(480);
  expect(drawn).toHaveLength(2);
  pass(19);
  rows.add("one");
  expect(drawn).toHaveLength(2);
  pass(481);
  expect(drawn).toHaveLength(3);
  pass(19);
  rows.add("one");
  expect(drawn).toHaveLength(4);
});

test("a phase is drawn whatever the time, with what had waited", () => {
  const { rows, drawn, pass } = watched();
  rows.add("one");
  rows.add("one");
  rows.flush("one");
  expect(drawn).toHaveLength(2);
  pass(2000);
  expect(drawn).toHaveLength(2);
});

test("nothing is drawn after the end", () => {
  const { rows, drawn, pass, held } = watched();
  rows.add("one");
  rows.add("one");
  rows.close();
  pass(2000);
  expect([drawn.length, held()]).toEqual([1, 0]);
});

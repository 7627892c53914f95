/** Tags are remembered as runs: consecutive messages share one, and there is a bound that spares priority 1. */

import { expect, test } from "vitest";
import { type TagRun, tagsOf, withRun } from "./tag.ts";

const runsFrom = (runs: readonly TagRun[]): readonly TagRun[] =>
  runs.reduce<readonly TagRun[]>((all, run) => withRun(all, run), []);

test("consecutive messages with the same tag are one run", () => {
  const runs = [1, 2, 3, 7].map((seq): TagRun => ({ first: seq, last: seq, priority: 1 }));
  expect(runsFrom(runs)).toEqual([
    { first: 1, last: 3, priority: 1 },
    { first: 7, last: 7, priority: 1 },
  ]);
});

test("a later tag replaces the fields that it names", () => {
  const runs: readonly TagRun[] = [
    { first: 1, last: 9, priority: 3, isGeneral: true },
    { first: 4, last: 4, priority: 1, type: "log" },
    { first: 4, last: 4, priority: 2 },
  ];
  expect(tagsOf(runs, [3, 4, 10])).toEqual([
    { general: 3 },
    { general: 3, priority: 2, type: "log" },
    undefined,
  ]);
});

test("a session remembers at most 500 runs, and forgets those of priority 1 last", () => {
  const many = Array.from({ length: 1_200 }, (_, index): TagRun => {
    const seq = 2 * index + 1;
    return { first: seq, last: seq, priority: index % 4 === 0 ? 1 : 3 };
  });
  const runs = runsFrom(many);
  expect(runs).toHaveLength(500);
  expect(runs.filter(({ priority }) => priority === 1)).toHaveLength(300);
});

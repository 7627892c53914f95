import { expect, test } from "vitest";
import { pauseAfter } from "./growing-pause.ts";

test("each pause is twice the one before, and none is longer than the longest", () => {
  const pause = { baseMs: 5000, maxMs: 60_000 };
  expect([0, 1, 2, 3, 4, 5].map((failures) => pauseAfter(pause, failures))).toEqual([
    5000, 10_000, 20_000, 40_000, 60_000, 60_000,
  ]);
});

test("after a thousand failures the pause is still a number", () => {
  expect(pauseAfter({ baseMs: 500, maxMs: 5000 }, 5000)).toBe(5000);
});

test("a longest pause that is shorter than the first holds from the first", () => {
  expect(pauseAfter({ baseMs: 100, maxMs: 40 }, 0)).toBe(40);
});

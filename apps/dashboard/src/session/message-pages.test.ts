import type { MessageDetails } from "plimsoll/api";
import { expect, test } from "vitest";
import { joined, nextRange } from "./message-pages.ts";

const page = (...numbers: readonly number[]): MessageDetails => ({
  items: numbers.map((seq) => ({ seq, at: 1, tokens: 1, role: "user", parts: [] })),
  edits: [],
});

test("a unit of thousands of messages is read a few at a time, from the last one that is known", () => {
  const unit = { first: 10, last: 4000 };
  expect(nextRange(unit, undefined, false)).toEqual({ first: 10, last: 16 });
  expect(nextRange(unit, page(10, 12, 16), false)).toEqual({ first: 16, last: 22 });
  expect(nextRange(unit, page(10, 4000), false)).toBeUndefined();
});

test("a short unit is read at once, and no further", () => {
  expect(nextRange({ first: 3, last: 4 }, undefined, false)).toEqual({ first: 3, last: 4 });
});

test("where the numbers of a branch jump further than a page, all that is left is asked for", () => {
  expect(nextRange({ first: 10, last: 900 }, page(10), true)).toEqual({ first: 10, last: 900 });
});

test("what is read twice is shown once", () => {
  expect(joined(page(1, 2), page(2, 5)).items.map(({ seq }) => seq)).toEqual([1, 2, 5]);
});

import type { WindowUnit } from "plimsoll/api";
import { expect, test } from "vitest";
import { filterUnits, placeOf, scrollTopFor, stepByKey, visibleRows } from "./list-window.ts";

const view = { scrollTop: 0, height: 320, rowHeight: 32, count: 10_000 };

test("of ten thousand rows only those on the screen, and a few beyond its edges, are made", () => {
  expect(visibleRows(view)).toEqual({ first: 0, end: 16 });
  expect(visibleRows({ ...view, scrollTop: 32_000 })).toEqual({ first: 994, end: 1016 });
  expect(visibleRows({ ...view, scrollTop: 319_680 })).toEqual({ first: 9984, end: 10_000 });
});

test("a list that has become shorter than where it was scrolled to shows no rows that are not there", () => {
  expect(visibleRows({ ...view, scrollTop: 50_000, count: 3 })).toEqual({ first: 3, end: 3 });
  expect(visibleRows({ ...view, count: 0 })).toEqual({ first: 0, end: 0 });
  expect(visibleRows({ ...view, scrollTop: -40 })).toEqual({ first: 0, end: 16 });
});

test("a row is scrolled to by the shortest way, and one that is seen stays where it is", () => {
  expect(scrollTopFor({ ...view, scrollTop: 100 }, 2)).toBe(64);
  expect(scrollTopFor({ ...view, scrollTop: 100 }, 5)).toBe(100);
  expect(scrollTopFor({ ...view, scrollTop: 100 }, 20)).toBe(352);
});

test("keys move by a row, a page, or to either end", () => {
  const keys = ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End", "x"];
  expect(keys.map((key) => stepByKey(key, view))).toEqual([
    1,
    -1,
    9,
    -9,
    -10_000,
    10_000,
    undefined,
  ]);
});

const units: readonly WindowUnit[] = [
  { id: "a", tokens: 9, begins: "You are", segments: [{ kind: "system", tokens: 9 }] },
  {
    id: "b",
    tokens: 9,
    begins: "Run the Tests",
    isPinned: true,
    segments: [
      { kind: "assistant", tokens: 4 },
      { kind: "results", tokens: 5 },
    ],
  },
  {
    id: "c",
    tokens: 2,
    begins: "gone",
    handle: "pl_abc",
    segments: [{ kind: "handle", tokens: 2 }],
  },
];

test.each([
  [{ text: "" }, [0, 1, 2]],
  [{ text: " tests " }, [1]],
  [{ text: "PL_AB" }, [2]],
  [{ text: "pinned" }, [1]],
  [{ text: "", kind: "results" as const }, [1]],
  [{ text: "gone", kind: "results" as const }, []],
])("a filter %j lets pass %j", (filter, expected) => {
  expect(filterUnits(units, filter)).toEqual(expected);
});

test("a unit that the filter hides has the place of the next one that is shown", () => {
  expect([placeOf([2, 5, 9], 5), placeOf([2, 5, 9], 6), placeOf([2, 5, 9], 10)]).toEqual([1, 2, 3]);
});

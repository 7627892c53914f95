import type { WindowUnit } from "plimsoll/api";
import { expect, test } from "vitest";
import {
  boxesOf,
  boxesOfUnit,
  layOut,
  margin,
  pointOf,
  rowHeight,
  rowsFor,
  topOf,
  unitAt,
  unitByKey,
} from "./window-layout.ts";

const unitsOf = (...tokens: readonly number[]): readonly WindowUnit[] =>
  tokens.map((count, index) => ({
    id: `u${index}`,
    segments: [{ kind: "user", tokens: count }],
    tokens: count,
    begins: "",
  }));
/** Eight rows of 1,000 pixels for 8,000 tokens: one pixel per token. */
const layout = (...tokens: readonly number[]) =>
  layOut({ units: unitsOf(...tokens), window: 8000, limit: 6500 }, 1000);

test("the whole area is the model's window: what is not filled stays empty", () => {
  const { rows, capacity } = layout(500, 700);
  expect([rows, capacity]).toEqual([8, 8000]);
  expect(boxesOfUnit(layout(500, 700), 0)).toEqual([{ row: 0, x: 0, width: 500 }]);
});

test("a unit that passes the end of a row goes on in the next, like text", () => {
  const boxes = boxesOfUnit(layout(500, 1700), 1);
  expect(boxes.map(({ row }) => row)).toEqual([0, 1, 2]);
  expect(boxes.map(({ x }) => Math.round(x))).toEqual([500, 0, 0]);
  expect(boxes.map(({ width }) => Math.round(width))).toEqual([500, 1000, 200]);
});

test("boxes of all units together are as long as their tokens", () => {
  const tokens = Array.from({ length: 997 }, (_, index) => 1 + (index % 13));
  const picture = layOut({ units: unitsOf(...tokens), window: 9000, limit: 8000 }, 777);
  const length = tokens
    .flatMap((_, index) => boxesOfUnit(picture, index))
    .reduce((sum, { width }) => sum + width, 0);
  const sum = tokens.reduce((total, count) => total + count, 0);
  expect(length).toBeCloseTo((sum / 9000) * picture.rows * 777, 6);
});

test("the load line falls exactly where the limit is, and the end of a row belongs to that row", () => {
  expect(pointOf(layout(10), 6500)).toEqual({ row: 6, x: 500 });
  expect(pointOf(layout(10), 6000)).toEqual({ row: 5, x: 1000 });
  expect(pointOf(layout(10), 8000)).toEqual({ row: 7, x: 1000 });
  expect(pointOf(layout(10), 0)).toEqual({ row: 0, x: 0 });
});

test("units that are larger than the window are still all shown", () => {
  const picture = layOut({ units: unitsOf(6000, 6000), window: 8000, limit: 6500 }, 1000);
  expect(picture.capacity).toBe(12_000);
  expect(boxesOf(picture, 0, 12_000)).toHaveLength(picture.rows);
});

test("a session without a turn has no window yet, and draws nothing", () => {
  const picture = layOut({ units: [], window: 0, limit: 0 }, 1000);
  expect(boxesOf(picture, 0, 0)).toEqual([]);
  expect(unitAt(picture, 5, topOf(0) + 1)).toBeUndefined();
  expect(unitByKey(picture, undefined, "ArrowRight")).toBeUndefined();
});

test("every point of a box finds its unit again", () => {
  const tokens = Array.from({ length: 400 }, (_, index) => 5 + ((index * 7) % 31));
  const picture = layOut({ units: unitsOf(...tokens), window: 9000, limit: 8000 }, 640);
  for (const [index] of tokens.entries())
    for (const { row, x, width } of boxesOfUnit(picture, index))
      expect(unitAt(picture, x + width / 2, topOf(row) + 3)).toBe(index);
});

test.each([
  ["between rows", 5, margin + rowHeight + 1],
  ["above", 5, 1],
  ["left of it", -1, margin + 1],
  ["in empty room", 900, margin + 1],
  ["below", 5, 10_000],
])("%s there is no unit", (_, x, y) => {
  expect(unitAt(layout(500), x, y)).toBeUndefined();
});

test("a unit of no tokens is never in the way of its neighbours", () => {
  expect(unitAt(layout(100, 0, 100), 100, margin + 1)).toBe(2);
  expect(boxesOfUnit(layout(100, 0, 100), 1)).toEqual([]);
});

test("narrow screens get more rows, within bounds; so do many units", () => {
  expect([rowsFor(1200, 50), rowsFor(328, 50), rowsFor(4000, 50), rowsFor(0, 0)]).toEqual([
    7, 12, 6, 12,
  ]);
  expect(rowsFor(1200, 10_000)).toBe(12);
});

test("keys walk over units in order, and up and down to the unit that stands there", () => {
  const picture = layout(600, 600, 600, 600);
  expect(unitByKey(picture, undefined, "ArrowRight")).toBe(0);
  expect(unitByKey(picture, 1, "ArrowRight")).toBe(2);
  expect(unitByKey(picture, 3, "ArrowRight")).toBe(3);
  expect(unitByKey(picture, 0, "ArrowLeft")).toBe(0);
  expect(unitByKey(picture, 0, "ArrowDown")).toBe(2);
  expect(unitByKey(picture, 2, "ArrowUp")).toBe(0);
  expect(unitByKey(picture, 3, "ArrowDown")).toBe(3);
  expect([unitByKey(picture, 1, "Home"), unitByKey(picture, 1, "End")]).toEqual([0, 3]);
  expect(unitByKey(picture, 1, "Enter")).toBeUndefined();
});

import { expect, test } from "vitest";
import { ago, share, timeOf, usd } from "./format.ts";

test("a share that is not quite nothing or all does not look like it", () => {
  expect([0, 0.001, 0.01, 0.7999, 0.9999, 1, 1.2].map(share)).toEqual([
    "0%",
    "<1%",
    "1%",
    "79%",
    "99%",
    "100%",
    "120%",
  ]);
});

test("small amounts of money keep digits that say something", () => {
  expect([0, 0.00001, 0.0123, 0.5, 1234.5, -0.02].map(usd)).toEqual([
    "$0.00",
    "<$0.0001",
    "$0.0123",
    "$0.50",
    "$1,234.50",
    "−$0.0200",
  ]);
});

test("how long ago is told in the largest unit that has passed", () => {
  const now = 1_000_000_000;
  const after = (ms: number): string => ago(now - ms, now);
  expect([0, 4999, 12_400, 61_000, 7_300_000, 200_000_000].map(after)).toEqual([
    "just now",
    "just now",
    "12 s ago",
    "1 min ago",
    "2 h ago",
    "2 d ago",
  ]);
  expect(ago(now + 60_000, now)).toBe("just now");
});

test("a time that is none is said to be unknown", () => {
  expect(timeOf(Number.NaN)).toBe("unknown");
  expect(timeOf(0)).toMatch(/^19(69|70)-\d\d-\d\d \d\d:\d\d:\d\d$/);
});

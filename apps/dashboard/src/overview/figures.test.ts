import { expect, test } from "vitest";
import type { CostReport } from "../api.ts";
import { figuresOf } from "./figures.ts";

const cost: CostReport = {
  sessions: 24,
  turns: 1204,
  sentTokens: 1_000_000,
  cachedTokens: 860_000,
  outputTokens: 9000,
  savedTokens: 250_000,
  usd: 4.5,
  estimatedUsd: 0,
  savedUsd: 1.25,
  compactions: 1,
  measured: { usage: 10, cache: 10, estimated: 0 },
  isPartial: false,
};
const valuesOf = (changed: Partial<CostReport>): readonly string[] =>
  figuresOf({ ...cost, ...changed }).map(({ value }) => value);

test("the figures say what was saved and what came from the cache", () => {
  expect(valuesOf({})).toEqual(["24", "250,000", "$1.25", "86%"]);
  expect(figuresOf(cost)[1]?.note).toBe("20% of what the windows would have taken");
});

test("what is not known is said to be, and is never zero", () => {
  expect(valuesOf({ savedUsd: null, measured: { usage: 3, cache: 0, estimated: 1 } })).toEqual([
    "24",
    "250,000",
    "unknown",
    "unknown",
  ]);
});

test("before the first turn nothing is divided by nothing", () => {
  const empty = { sentTokens: 0, savedTokens: 0, cachedTokens: 0, sessions: 0 };
  expect(valuesOf({ ...empty, measured: { usage: 0, cache: 0, estimated: 0 } })).toEqual([
    "0",
    "0",
    "$1.25",
    "unknown",
  ]);
});

test("a sum over the newest sessions only says that there are more", () => {
  expect(valuesOf({ isPartial: true })[0]).toBe("24+");
});

import { expect, test } from "vitest";
import { mustMarkBetween, planMarks } from "./cache-plan.ts";
import type { CacheRule } from "./price-rows.ts";

const rule: CacheRule = {
  kind: "marks",
  minTokens: 1024,
  ttlSeconds: 300,
  longTtlSeconds: 3600,
  maxMarks: 4,
  lookbackBlocks: 20,
};
const places = ["end", "between", "memories", "rules", "base"].map((place, index) => ({
  place,
  prefixTokens: 5000 - index * 1000,
}));

test("four marks at most, with those that are there, the most important first", () => {
  expect(planMarks(places, { rule, taken: 0 })).toEqual(["end", "between", "memories", "rules"]);
  expect(planMarks(places, { rule, taken: 3 })).toEqual(["end"]);
  expect(planMarks(places, { rule, taken: 4 })).toEqual([]);
  expect(planMarks(places, { rule, taken: 7 })).toEqual([]);
});

test("what is too short to be cached is not marked, and takes no place of others", () => {
  const short = [{ place: "short", prefixTokens: 1023 }, ...places];
  expect(planMarks(short, { rule, taken: 0 })).toEqual(["end", "between", "memories", "rules"]);
});

test("nothing is marked where requests are not", () => {
  expect(planMarks(places, { rule: { kind: "unknown" }, taken: 0 })).toEqual([]);
  expect(mustMarkBetween(1000, { kind: "unknown" })).toBe(false);
});

test("more new blocks than a provider looks back over need a mark between", () => {
  expect(mustMarkBetween(15, rule)).toBe(false);
  expect(mustMarkBetween(16, rule)).toBe(true);
});

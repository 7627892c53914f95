import { describe, expect, test } from "vitest";
import { noDebt, readingCost, withPrice, withSaved, worthOf } from "./compaction-payoff.ts";
import type { PriceList } from "./price-rows.ts";

const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const list: PriceList = { prices, cache: { kind: "unknown" }, source: "", date: "" };
const outlook = {
  tokens: 90_000,
  cachedTokens: 88_000,
  afterTokens: 50_000,
  prefixTokens: 5_000,
  growthTokens: 1_000,
  forcedTokens: 1_000_000,
  turnsToCome: 10,
};

describe("what a compaction is worth", () => {
  test("its price is what the next request costs more", () => {
    const worth = worthOf(outlook, list);
    const now = readingCost(prices, 50_000, 5_000);
    const without = readingCost(prices, 90_000, 88_000);
    expect(worth?.priceUsd).toBeCloseTo(now - without, 10);
    expect(worth?.priceUsd).toBeGreaterThan(0.1);
  });

  test("it pays only when enough turns come", () => {
    const savedAfter = (turnsToCome: number) =>
      worthOf({ ...outlook, turnsToCome }, list)?.savedUsd ?? 0;
    expect(savedAfter(1)).toBeLessThan(0);
    expect(savedAfter(5)).toBeLessThan(0);
    expect(savedAfter(30)).toBeGreaterThan(0);
  });

  test("with an expired cache it is cheaper at once", () => {
    const cold = worthOf({ ...outlook, cachedTokens: 0 }, list);
    expect(cold?.priceUsd).toBeLessThan(0);
    expect(cold?.savedUsd).toBeGreaterThan(0);
  });

  test("one that must come soon anyway is worth little now", () => {
    const soon = worthOf({ ...outlook, forcedTokens: 92_000, turnsToCome: 30 }, list);
    const free = worthOf({ ...outlook, turnsToCome: 30 }, list);
    expect(soon?.savedUsd).toBeLessThan(free?.savedUsd ?? 0);
  });

  test("without prices nothing is said", () => {
    const { prices: _, ...unknown } = list;
    expect(worthOf(outlook, unknown)).toBeUndefined();
  });
});

test("a debt is paid back by what is saved, and never below nothing", () => {
  const owed = withPrice(noDebt, { priceUsd: 0.5 });
  expect(withSaved(owed, 0.2).usd).toBeCloseTo(0.3, 10);
  expect(withSaved(owed, 0.9).usd).toBe(0);
  expect(withSaved(owed, -1).usd).toBe(0.5);
  expect(withPrice(noDebt, { priceUsd: -3 }).usd).toBe(0);
});

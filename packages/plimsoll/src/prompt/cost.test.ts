import { expect, test } from "vitest";
import { addFigures, costOfTurn, nothingPaid, type PaidTurn } from "./cost.ts";
import type { PriceList } from "./price-rows.ts";

const list: PriceList = {
  prices: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, cacheWriteLong: 6 },
  cache: { kind: "unknown" },
  source: "",
  date: "",
};
const { prices: _, ...unpriced } = list;
const million = 1_000_000;
const turn: PaidTurn = {
  usage: {
    inputTokens: 4 * million,
    cacheReadTokens: million,
    cacheWriteTokens: 2 * million,
    cacheWriteLongTokens: million,
    outputTokens: million,
  },
  tokensBefore: 5 * million,
  tokensAfter: 4 * million,
  headTokens: million,
  lastTokens: 2 * million,
  lastBefore: 3 * million,
  isCompaction: false,
};

test("every token is billed once, at its own price", () => {
  const figures = costOfTurn(turn, list);
  expect(figures).toMatchObject({
    sentTokens: 4 * million,
    cachedTokens: million,
    writtenTokens: 2 * million,
    freshTokens: million,
    outputTokens: million,
    savedTokens: million,
    measured: { usage: 1, cache: 1, estimated: 0 },
  });
  expect(figures.usd).toBeCloseTo(3 + 0.3 + 3.75 + 6 + 15, 6);
  expect(figures.savedUsd).toBeCloseTo(0.3, 6);
  expect(figures.compactionUsd).toBe(0);
});

test("a compaction is charged with what is read anew, against the request that would have gone", () => {
  const figures = costOfTurn({ ...turn, tokensAfter: 2 * million, isCompaction: true }, list);
  expect(figures.compactions).toBe(1);
  expect(figures.compactionTokens).toBe(million);
  // Of 2M tokens, 1M are read and 1M are written. Without the compaction, 2M would be read and 2M written. It is cheaper, so it
  // costs nothing.
  expect(figures.compactionUsd).toBe(0);
  const warm = { ...turn, tokensAfter: 2 * million, lastTokens: 5 * million, isCompaction: true };
  const grown = { ...warm, lastBefore: 5 * million };
  expect(costOfTurn(grown, list).compactionUsd).toBeCloseTo(0.3 + 3.75 - 5 * 0.3, 6);
  // Earlier removals do not matter: only the tokens that the client has added since are new.
  const again = { ...grown, tokensBefore: 50 * million, lastBefore: 50 * million };
  expect(costOfTurn(again, list).compactionUsd).toBeCloseTo(0.3 + 3.75 - 5 * 0.3, 6);
});

test("unknown prices are unknown, never nothing, also in a sum", () => {
  const unknown = costOfTurn(turn, unpriced);
  expect([unknown.usd, unknown.savedUsd]).toEqual([null, null]);
  expect(costOfTurn({ ...turn, isCompaction: true }, unpriced).compactionUsd).toBeNull();
  const sum = addFigures(addFigures(nothingPaid, costOfTurn(turn, list)), unknown);
  expect(sum.usd).toBeNull();
  expect(sum.sentTokens).toBe(8 * million);
});

test("what no provider reported is estimated, and said to be", () => {
  const { usage: _usage, ...silent } = turn;
  expect(costOfTurn(silent, list)).toMatchObject({
    sentTokens: 4 * million,
    freshTokens: 4 * million,
    cachedTokens: 0,
    measured: { usage: 0, cache: 0, estimated: 1 },
    usd: 0,
    estimatedUsd: 12,
  });
  expect(costOfTurn(silent, unpriced)).toMatchObject({ usd: null, estimatedUsd: null });
  const unsent = { ...silent, tokensAfter: 0, tokensBefore: 0 };
  expect(costOfTurn(unsent, unpriced)).toEqual({ ...nothingPaid, turns: 1 });
  const uncached = { ...turn, usage: { inputTokens: 10, outputTokens: 1 } };
  expect(costOfTurn(uncached, list).measured).toEqual({ usage: 1, cache: 0, estimated: 0 });
});

/** Computes whether a compaction saves money. Compares its cost now with its saving over the turns that are likely to come. */

import type { PriceList, Prices } from "./price-rows.ts";

/** The state of a conversation, in tokens as the provider counts them. */
export interface Outlook {
  /** Size of the next request without a compaction. */
  readonly tokens: number;
  /** Number of these tokens that are still in the provider's cache. */
  readonly cachedTokens: number;
  /** Size of the next request after a compaction. */
  readonly afterTokens: number;
  /** Size of the beginning of this request, up to the place of the first edit. The compaction does not change this beginning. */
  readonly prefixTokens: number;
  /** Number of tokens that each turn adds. */
  readonly growthTokens: number;
  /** A request of this size or more must be compacted. */
  readonly forcedTokens: number;
  readonly turnsToCome: number;
}

export interface Worth {
  /** The extra cost of the next request if it is compacted. Negative if the compaction makes this request cheaper. */
  readonly priceUsd: number;
  /** The total saving over all turns to come, after `priceUsd` has been subtracted. */
  readonly savedUsd: number;
}

/** Maximum number of turns to look ahead. Nobody can predict further. */
const turnsMax = 1000;
const perMillion = 1_000_000;

/** The cost and the saving of compacting now. Undefined if no prices are known. */
export function worthOf(outlook: Outlook, { prices }: PriceList): Worth | undefined {
  if (prices === undefined) return undefined;
  const now = planned(outlook, prices, true);
  const later = planned(outlook, prices, false);
  return { priceUsd: now.first - later.first, savedUsd: later.all - now.all };
}

/**
 * The cost of the first turn, and of all turns together. A request is compacted when it reaches `forcedTokens`. If `isAtOnce`,
 * the first request is compacted in any case.
 */
function planned(
  outlook: Outlook,
  prices: Prices,
  isAtOnce: boolean,
): { readonly first: number; readonly all: number } {
  const { afterTokens, prefixTokens, growthTokens, forcedTokens } = outlook;
  let size = outlook.tokens;
  let cached = Math.min(outlook.cachedTokens, size);
  let [first, all] = [0, 0];
  const turns = Math.max(1, Math.min(turnsMax, Math.round(outlook.turnsToCome)));
  for (let turn = 0; turn < turns; turn++) {
    if ((isAtOnce && turn === 0) || size >= forcedTokens) {
      size = Math.min(size, afterTokens);
      cached = Math.min(cached, prefixTokens, size);
    }
    const cost = readingCost(prices, size, cached);
    if (turn === 0) first = cost;
    all += cost;
    cached = size;
    size += growthTokens;
  }
  return { first, all };
}

/**
 * What the provider charges for the input of one request. Cached tokens are read from the cache, and all other tokens are written
 * to it.
 */
export function readingCost(prices: Prices, tokens: number, cachedTokens: number): number {
  const cached = Math.min(tokens, cachedTokens);
  return (cached * prices.cacheRead + (tokens - cached) * prices.cacheWrite) / perMillion;
}

/**
 * The cost of compactions that were made to save money, minus their savings so far. As long as there is a debt, Plimsoll makes no
 * further compaction to save money. So whenever the conversation ends, such compactions have cost at most the price of one
 * compaction more than they saved.
 */
export interface Debt {
  readonly usd: number;
}

export const noDebt: Debt = { usd: 0 };

export function withPrice({ usd }: Debt, { priceUsd }: Pick<Worth, "priceUsd">): Debt {
  return { usd: Math.max(0, usd + priceUsd) };
}

/** Reduces the debt by the amount that compactions saved in one turn. */
export function withSaved({ usd }: Debt, savedUsd: number): Debt {
  return { usd: Math.max(0, usd - Math.max(0, savedUsd)) };
}

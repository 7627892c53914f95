/** Whether a compaction pays: what it costs now against what it saves over the turns that are likely to come. */

import type { PriceList, Prices } from "./price-rows.ts";

/** How a conversation stands, in tokens as the provider counts them. */
export interface Outlook {
  /** The next request as it is, and what of it the provider still has in its cache. */
  readonly tokens: number;
  readonly cachedTokens: number;
  /** The next request after a compaction, and what stands before its first edit. */
  readonly afterTokens: number;
  readonly prefixTokens: number;
  /** What a turn adds. */
  readonly growthTokens: number;
  /** From here on a compaction must be. */
  readonly forcedTokens: number;
  readonly turnsToCome: number;
}

export interface Worth {
  /** What the next request costs more with a compaction than without; below 0 where it is cheaper at once. */
  readonly priceUsd: number;
  /** What all turns to come cost less, the price taken off. */
  readonly savedUsd: number;
}

/** Further ahead nobody can see. */
const turnsMax = 1000;
const perMillion = 1_000_000;

/** Undefined: no prices are known. */
export function worthOf(outlook: Outlook, { prices }: PriceList): Worth | undefined {
  if (prices === undefined) return undefined;
  const now = planned(outlook, prices, true);
  const later = planned(outlook, prices, false);
  return { priceUsd: now.first - later.first, savedUsd: later.all - now.all };
}

/** Both plans compact when they must; one of them does so at once, too. */
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

/** Of one request: what the cache has is read from it, the rest is written to it. */
export function readingCost(prices: Prices, tokens: number, cachedTokens: number): number {
  const cached = Math.min(tokens, cachedTokens);
  return (cached * prices.cacheRead + (tokens - cached) * prices.cacheWrite) / perMillion;
}

/**
 * What compactions for money's sake have cost and not yet saved. While there is any no further one is made: so a bill is never
 * more than the price of one of them above that of doing nothing, wherever a conversation ends.
 */
export interface Debt {
  readonly usd: number;
}

export const noDebt: Debt = { usd: 0 };

export function withPrice({ usd }: Debt, { priceUsd }: Pick<Worth, "priceUsd">): Debt {
  return { usd: Math.max(0, usd + priceUsd) };
}

/** A turn was sent with so much less than without any compaction. */
export function withSaved({ usd }: Debt, savedUsd: number): Debt {
  return { usd: Math.max(0, usd - Math.max(0, savedUsd)) };
}

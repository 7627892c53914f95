/** Computes the cost of tokens. If any part of a sum is unknown, the whole sum is unknown. */

import type { Usage } from "../message/message.ts";
import { readingCost } from "./compaction-payoff.ts";
import type { PriceList } from "./price-rows.ts";
import { type SavedFrom, savedTokensOf } from "./saved.ts";

/** The tokens of a turn, grouped by price. Every token is in exactly one group. */
export interface BilledTokens {
  readonly fresh: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Cache writes with the long lifetime. They are not part of `cacheWrite`. */
  readonly cacheWriteLong?: number;
  readonly output: number;
}

const perMillion = 1_000_000;

/** The cost in US dollars, or undefined if it is unknown. */
export function costOf(tokens: BilledTokens, { prices }: PriceList): number | undefined {
  if (prices === undefined) return undefined;
  const long = tokens.cacheWriteLong ?? 0;
  if (long > 0 && prices.cacheWriteLong === undefined) return undefined;
  const sum =
    tokens.fresh * prices.input +
    tokens.cacheRead * prices.cacheRead +
    tokens.cacheWrite * prices.cacheWrite +
    long * (prices.cacheWriteLong ?? 0) +
    tokens.output * prices.output;
  return sum / perMillion;
}

/**
 * `inputTokens` includes everything the model read, on every wire. Anthropic's own figure excludes cached tokens, so
 * `wire/anthropic/answer.ts` adds them. OpenAI's figure includes them and reports them again as `cached_tokens`. Input that is
 * not reported as read from or written to the cache is billed as fresh.
 */
export function billedOf(usage: Usage): BilledTokens {
  const cacheRead = Math.min(usage.cacheReadTokens ?? 0, usage.inputTokens);
  const written = Math.min(usage.cacheWriteTokens ?? 0, usage.inputTokens - cacheRead);
  const long = Math.min(usage.cacheWriteLongTokens ?? 0, written);
  return {
    fresh: usage.inputTokens - cacheRead - written,
    cacheRead,
    cacheWrite: written - long,
    ...(long === 0 ? {} : { cacheWriteLong: long }),
    output: usage.outputTokens,
  };
}

export interface Spent extends SavedFrom {
  readonly usage?: Usage | undefined;
}

/** The cost according to the reported usage, and the saving. The result is empty if prices or usage are unknown. */
export function moneyOf(
  list: PriceList,
  { usage, ...request }: Spent,
): { readonly usd?: number; readonly savedUsd?: number } {
  if (list.prices === undefined || usage === undefined) return {};
  const usd = costOf(billedOf(usage), list);
  const kept = savedTokensOf(request);
  return {
    ...(usd === undefined ? {} : { usd }),
    savedUsd: readingCost(list.prices, kept, kept),
  };
}

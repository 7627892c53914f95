/** What turns have cost, and what they would have cost: tokens and money, measured where a provider said so, else estimated. */

import type { Usage } from "../message/message.ts";
import { type BilledTokens, billedOf, costOf } from "./bill.ts";
import { readingCost } from "./compaction-payoff.ts";
import type { PriceList } from "./price-rows.ts";

/** A turn as far as it costs something. */
export interface PaidTurn {
  readonly usage?: Usage;
  /** What the client sent, and what went out, as the provider would count. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Of it, system prompt and tools. */
  readonly headTokens: number;
  /** What went out the last time in this conversation, and what the client had sent; 0 for the first. */
  readonly lastTokens: number;
  readonly lastBefore: number;
  readonly isCompaction: boolean;
}

/** US dollars; null: unknown, which is never zero. */
export type Money = number | null;

export interface CostFigures {
  readonly turns: number;
  /** How far the figures can be trusted: usage reported, the cache's part of it reported, and neither. */
  readonly measured: {
    readonly usage: number;
    readonly cache: number;
    readonly estimated: number;
  };
  /** What went out, and how it was billed. */
  readonly sentTokens: number;
  readonly cachedTokens: number;
  readonly writtenTokens: number;
  readonly freshTokens: number;
  readonly outputTokens: number;
  /** Of turns whose usage was reported. */
  readonly usd: Money;
  /** Of the others: what they sent, as fresh input; what they answered is unknown. */
  readonly estimatedUsd: Money;
  /** What clients sent and did not go out; estimated at the price of the cache. */
  readonly savedTokens: number;
  readonly savedUsd: Money;
  /** What compactions made the provider read anew; estimated. */
  readonly compactions: number;
  readonly compactionTokens: number;
  readonly compactionUsd: Money;
}

export const nothingPaid: CostFigures = {
  turns: 0,
  measured: { usage: 0, cache: 0, estimated: 0 },
  sentTokens: 0,
  cachedTokens: 0,
  writtenTokens: 0,
  freshTokens: 0,
  outputTokens: 0,
  usd: 0,
  estimatedUsd: 0,
  savedTokens: 0,
  savedUsd: 0,
  compactions: 0,
  compactionTokens: 0,
  compactionUsd: 0,
};

export function costOfTurn(turn: PaidTurn, list: PriceList): CostFigures {
  const { usage, tokensBefore, tokensAfter } = turn;
  // What was never sent costs nothing, whatever the price.
  if (usage === undefined && tokensAfter === 0) return { ...nothingPaid, turns: 1 };
  const billed = usage === undefined ? estimated(turn) : billedOf(usage);
  const saved = Math.max(0, tokensBefore - tokensAfter);
  const reread = turn.isCompaction ? rereadBy(turn) : undefined;
  return {
    turns: 1,
    measured: measuredBy(usage),
    sentTokens: usage?.inputTokens ?? tokensAfter,
    cachedTokens: billed.cacheRead,
    writtenTokens: billed.cacheWrite + (billed.cacheWriteLong ?? 0),
    freshTokens: billed.fresh,
    outputTokens: billed.output,
    ...paidFor(usage, costOf(billed, list) ?? null),
    savedTokens: saved,
    savedUsd: savedMoney(list, saved),
    compactions: turn.isCompaction ? 1 : 0,
    compactionTokens: reread?.tokens ?? 0,
    compactionUsd: reread === undefined ? 0 : rereadMoney(list, turn, reread.head),
  };
}

function measuredBy(usage: Usage | undefined): CostFigures["measured"] {
  if (usage === undefined) return { usage: 0, cache: 0, estimated: 1 };
  const hasCache = usage.cacheReadTokens !== undefined || usage.cacheWriteTokens !== undefined;
  return { usage: 1, cache: hasCache ? 1 : 0, estimated: 0 };
}

function paidFor(usage: Usage | undefined, usd: Money): Pick<CostFigures, "usd" | "estimatedUsd"> {
  if (usage !== undefined) return { usd, estimatedUsd: 0 };
  // Without a price nothing is known of it, and a sum with it is no sum.
  return { usd: usd === null ? null : 0, estimatedUsd: usd };
}

/** Nobody reported anything: all of it as fresh input, and no word of the answer. */
function estimated({ tokensAfter }: PaidTurn): BilledTokens {
  return { fresh: tokensAfter, cacheRead: 0, cacheWrite: 0, output: 0 };
}

/** At the least that it would have cost: it would have been in the cache. */
function savedMoney({ prices }: PriceList, tokens: number): Money {
  return prices === undefined ? null : readingCost(prices, tokens, tokens);
}

/** What stood in the cache, and had to be read again: everything behind system prompt and tools. */
function rereadBy({ tokensAfter, lastTokens, headTokens }: PaidTurn): {
  readonly tokens: number;
  readonly head: number;
} {
  const head = Math.min(headTokens, lastTokens);
  return { tokens: lastTokens === 0 ? 0 : Math.max(0, tokensAfter - head), head };
}

/** Compared with the same request as it would have gone out without the compaction; a saving is no cost. */
function rereadMoney({ prices }: PriceList, turn: PaidTurn, head: number): Money {
  if (prices === undefined) return null;
  const { tokensAfter, tokensBefore, lastTokens, lastBefore } = turn;
  const grown = lastTokens + Math.max(0, tokensBefore - lastBefore);
  const without = readingCost(prices, grown, lastTokens);
  return Math.max(0, readingCost(prices, tokensAfter, head) - without);
}

/** A sum with an unknown part is unknown. */
export function addFigures(one: CostFigures, other: CostFigures): CostFigures {
  const money = (left: Money, right: Money): Money =>
    left === null || right === null ? null : left + right;
  return {
    turns: one.turns + other.turns,
    measured: {
      usage: one.measured.usage + other.measured.usage,
      cache: one.measured.cache + other.measured.cache,
      estimated: one.measured.estimated + other.measured.estimated,
    },
    sentTokens: one.sentTokens + other.sentTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
    writtenTokens: one.writtenTokens + other.writtenTokens,
    freshTokens: one.freshTokens + other.freshTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    usd: money(one.usd, other.usd),
    estimatedUsd: money(one.estimatedUsd, other.estimatedUsd),
    savedTokens: one.savedTokens + other.savedTokens,
    savedUsd: money(one.savedUsd, other.savedUsd),
    compactions: one.compactions + other.compactions,
    compactionTokens: one.compactionTokens + other.compactionTokens,
    compactionUsd: money(one.compactionUsd, other.compactionUsd),
  };
}

/**
 * The actual cost of turns, and their cost without Plimsoll, in tokens and money. Figures are measured if a provider reported
 * them, and estimated otherwise.
 */

import type { Usage } from "../message/message.ts";
import { type BilledTokens, billedOf, costOf } from "./bill.ts";
import { readingCost } from "./compaction-payoff.ts";
import type { PriceList } from "./price-rows.ts";
import { savedTokensOf } from "./saved.ts";

/** The facts about a turn that matter for its cost. */
export interface PaidTurn {
  readonly usage?: Usage;
  /**
   * Number of tokens that the client sent, and number of tokens that Plimsoll sent to the provider, as the provider counts them.
   */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly window?: number;
  /** Number of tokens of the system prompt and the tools. */
  readonly headTokens: number;
  /**
   * Number of tokens that Plimsoll sent, and number of tokens that the client sent, in the previous turn of this conversation.
   * Both are 0 in the first turn.
   */
  readonly lastTokens: number;
  readonly lastBefore: number;
  readonly isCompaction: boolean;
}

/** An amount in US dollars, or null if it is unknown. An unknown amount is never treated as zero. */
export type Money = number | null;

export interface CostFigures {
  readonly turns: number;
  /** Number of turns with reported usage, with reported cache usage, and without a report. Shows how reliable the figures are. */
  readonly measured: {
    readonly usage: number;
    readonly cache: number;
    readonly estimated: number;
  };
  /** Number of tokens sent. The next three fields break this number down by price. */
  readonly sentTokens: number;
  readonly cachedTokens: number;
  readonly writtenTokens: number;
  readonly freshTokens: number;
  readonly outputTokens: number;
  /** Cost of the turns with reported usage. */
  readonly usd: Money;
  /**
   * Estimated cost of the turns without a report. All of their input is billed as fresh, and their output is left out because it
   * is unknown.
   */
  readonly estimatedUsd: Money;
  /**
   * Number of tokens that Plimsoll left out of the clients' requests, as far as the window would have taken them. `savedUsd` is
   * their estimated cost at the price of cached tokens.
   */
  readonly savedTokens: number;
  readonly savedUsd: Money;
  /**
   * Number of compactions. The next two fields estimate how many tokens the provider had to read again because of them, and the
   * cost of that.
   */
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
  const { usage, tokensAfter } = turn;
  // A request that was never sent costs nothing, whatever the price.
  if (usage === undefined && tokensAfter === 0) return { ...nothingPaid, turns: 1 };
  const billed = usage === undefined ? estimated(turn) : billedOf(usage);
  const saved = savedTokensOf(turn);
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
  // Without a price the cost is unknown, and so is every sum that includes it.
  return { usd: usd === null ? null : 0, estimatedUsd: usd };
}

/** The tokens of a turn without a report. All input is taken as fresh, and the output as zero. */
function estimated({ tokensAfter }: PaidTurn): BilledTokens {
  return { fresh: tokensAfter, cacheRead: 0, cacheWrite: 0, output: 0 };
}

/** The cost of tokens that were not sent. They would have been in the cache, so the price of cached tokens applies. */
function savedMoney({ prices }: PriceList, tokens: number): Money {
  return prices === undefined ? null : readingCost(prices, tokens, tokens);
}

/**
 * Number of tokens that the provider had to read again after a compaction. These are all tokens after the system prompt and the
 * tools.
 */
function rereadBy({ tokensAfter, lastTokens, headTokens }: PaidTurn): {
  readonly tokens: number;
  readonly head: number;
} {
  const head = Math.min(headTokens, lastTokens);
  return { tokens: lastTokens === 0 ? 0 : Math.max(0, tokensAfter - head), head };
}

/** The extra cost compared with the same request without the compaction. 0 if the compaction made the request cheaper. */
function rereadMoney({ prices }: PriceList, turn: PaidTurn, head: number): Money {
  if (prices === undefined) return null;
  const { tokensAfter, tokensBefore, lastTokens, lastBefore } = turn;
  const grown = lastTokens + Math.max(0, tokensBefore - lastBefore);
  const without = readingCost(prices, grown, lastTokens);
  return Math.max(0, readingCost(prices, tokensAfter, head) - without);
}

/** Adds figures. If one amount of a sum is unknown, the sum is unknown. */
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

/** Turns as points of a history: what each took of its window, and what it cost. */

import type { TurnPoint } from "../../message/api.ts";
import type { Usage } from "../../message/message.ts";
import { billedOf, costOf } from "../../prompt/bill.ts";
import type { PriceList } from "../../prompt/prices.ts";
import { readingCost } from "../../prompt/compaction-payoff.ts";
import type { TurnRecord } from "../../store/store.ts";
import type { PricesOf } from "../fit/when-to-compact.ts";

export interface Spent {
  readonly usage?: Usage | undefined;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** By what was reported; nothing is said where prices or usage are unknown. */
export function moneyOf(
  list: PriceList,
  { usage, tokensBefore, tokensAfter }: Spent,
): { readonly usd?: number; readonly savedUsd?: number } {
  if (list.prices === undefined || usage === undefined) return {};
  const usd = costOf(billedOf(usage), list);
  const kept = Math.max(0, tokensBefore - tokensAfter);
  return {
    ...(usd === undefined ? {} : { usd }),
    savedUsd: readingCost(list.prices, kept, kept),
  };
}

export function pointOf(pricesOf: PricesOf, turn: TurnRecord): TurnPoint {
  const { provider, usage, priority, error, measurement } = turn;
  const tokensAfter = turn.tokensAfter ?? measurement.total;
  const { system, skills, tools, conversation, total, certainty } = measurement;
  return {
    id: turn.id,
    branch: turn.branch,
    at: turn.startedAt,
    endedAt: turn.endedAt,
    ...(provider === undefined ? {} : { provider }),
    model: turn.model,
    outcome: turn.outcome,
    status: turn.status,
    ...(error === undefined ? {} : { error }),
    measurement: { system, skills, tools, conversation, total, certainty },
    ...(turn.tokensBefore === undefined ? {} : { tokensBefore: turn.tokensBefore }),
    limit: turn.limit,
    ...(turn.headTokens === undefined ? {} : { headTokens: turn.headTokens }),
    window: turn.window,
    ...(turn.isWindowGuess === true ? { isWindowGuess: true } : {}),
    ...(priority === undefined ? {} : { priority }),
    ...(usage === undefined ? {} : { usage }),
    ...moneyOf(pricesOf({ provider: provider ?? "", model: turn.model }), {
      usage,
      tokensBefore: turn.tokensBefore ?? tokensAfter,
      tokensAfter,
    }),
  };
}

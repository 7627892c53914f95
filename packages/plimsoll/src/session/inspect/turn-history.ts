/** The history of a session's turns: for each turn, how much of the window it used and how much it cost. */

import type { TurnPoint } from "../../message/api.ts";
import { moneyOf } from "../../prompt/bill.ts";
import type { TurnRecord } from "../../store/store.ts";
import type { PricesOf } from "../measure/prices.ts";

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
    ...(turn.windowLimit === undefined ? {} : { windowLimit: turn.windowLimit }),
    window: turn.window,
    ...(turn.isWindowGuess === true ? { isWindowGuess: true } : {}),
    ...(priority === undefined ? {} : { priority }),
    ...(usage === undefined ? {} : { usage }),
    ...moneyOf(pricesOf({ provider: provider ?? "", model: turn.model }), {
      usage,
      tokensBefore: turn.tokensBefore ?? tokensAfter,
      tokensAfter,
      window: turn.window,
    }),
  };
}

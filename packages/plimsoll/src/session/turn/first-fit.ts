/** A turn is made to fit. Whoever closes does not wait for that: what came in is stored, and nothing of it is sent. */

import { errorMessage, PlimsollError } from "../../message/error.ts";
import { fitTurn, untouched } from "../fit/fit.ts";
import type { Fitted } from "../fit/last-resort.ts";
import { whileEditing } from "../log/edits.ts";
import { reportDegraded } from "../log/report.ts";
import type { OpenTurn, TurnContext } from "./context.ts";
import { endTurn } from "./end-turn.ts";
import type { Unended } from "./open-turns.ts";

/** Contract: rejects with CLOSED when the product closes meanwhile; the turn has ended then. */
export async function firstFit(context: TurnContext, begun: OpenTurn): Promise<Fitted> {
  const { closing, openTurns } = context;
  const closed = Promise.withResolvers<never>();
  let aborted: Promise<void> | undefined;
  const unfitted: Unended = {
    isAwaited: false,
    abort: () => {
      aborted ??= endAsItCame(context, begun)
        .catch(() => undefined)
        .finally(() => closed.reject(closing.reason));
      return aborted;
    },
  };
  openTurns.add(unfitted);
  try {
    const fitting = whileEditing(begun.placed.log, () => madeToFit(context, begun));
    const fitted = await Promise.race([fitting, closed.promise]);
    return aborted === undefined ? fitted : await closed.promise;
  } finally {
    openTurns.delete(unfitted);
  }
}

async function endAsItCame(context: TurnContext, begun: OpenTurn): Promise<void> {
  const { draft, placed } = begun;
  const fitted = await untouched(context, draft);
  announceStart(context, begun, fitted);
  const error = errorMessage(context.closing.reason);
  await endTurn(context, { draft, placed, fitted }, { status: "aborted", error });
}

/** Plimsoll's own failures never stop a request. A spoilt session of the proxy is begun anew by whoever received it. */
async function madeToFit(context: TurnContext, begun: OpenTurn): Promise<Fitted> {
  const { closing } = context;
  const { draft, isOff, isLeftOpen } = begun;
  closing.throwIfAborted();
  if (isOff === true) return untouched(context, draft);
  try {
    return await fitTurn(context, draft);
  } catch (error) {
    closing.throwIfAborted();
    if (isSpoilt(error) && isLeftOpen !== true) throw error;
    reportDegraded(draft, "original", `Plimsoll failed: ${errorMessage(error)}`);
    return untouched(context, draft);
  }
}

export function isSpoilt(error: unknown): boolean {
  return PlimsollError.is(error) && error.code === "STORE_CORRUPT";
}

export function announceStart({ bus }: TurnContext, begun: OpenTurn, fitted: Fitted): void {
  const { draft, placed } = begun;
  const {
    turn,
    who: { priority },
  } = draft;
  bus.emit({
    tenant: placed.log.record.tenant,
    event: {
      type: "turn-start",
      session: placed.log.record.id,
      at: turn.at,
      turn: turn.id,
      branch: placed.branch.record.id,
      model: fitted.target.model,
      newMessages: placed.newMessages,
      measurement: fitted.measurement,
      limit: fitted.limit,
      ...(fitted.headTokens === undefined ? {} : { headTokens: fitted.headTokens }),
      ...(priority === undefined ? {} : { priority }),
    },
  });
}

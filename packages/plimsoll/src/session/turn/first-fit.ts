/** Makes a new turn fit. A shutdown does not wait until the turn fits. In that case the request is stored but not sent. */

import { errorMessage, PlimsollError } from "../../message/error.ts";
import type { Fitted } from "../fit/last-resort.ts";
import { agentOf } from "../log/append.ts";
import { reportDegraded } from "../log/report.ts";
import { rememberSize } from "../measure/window-size.ts";
import type { OpenTurn } from "./context.ts";
import { nameSession } from "./name-session.ts";
import type { Unended } from "./open-turns.ts";
import type { TurnServices } from "./services.ts";

/** Contract: rejects with CLOSED if Plimsoll shuts down meanwhile. By then, the turn has ended. */
export async function firstFit(services: TurnServices, begun: OpenTurn): Promise<Fitted> {
  const { closing, openTurns } = services;
  const closed = Promise.withResolvers<never>();
  let aborted: Promise<void> | undefined;
  const unfitted: Unended = {
    isAwaited: false,
    abort: () => {
      aborted ??= endAsItCame(services, begun)
        .catch(() => undefined)
        .finally(() => closed.reject(closing.reason));
      return aborted;
    },
  };
  openTurns.add(unfitted);
  try {
    const fitted = await Promise.race([madeToFit(services, begun), closed.promise]);
    return aborted === undefined ? fitted : await closed.promise;
  } finally {
    openTurns.delete(unfitted);
  }
}

async function endAsItCame(services: TurnServices, begun: OpenTurn): Promise<void> {
  const { draft, placed } = begun;
  const fitted = await services.fitter.untouched(draft);
  announceStart(services, begun, fitted);
  const error = errorMessage(services.closing.reason);
  await services.end({ draft, placed, fitted }, { status: "aborted", error });
}

/** Plimsoll's own failures never stop a request. If a proxy session is damaged, the caller starts the request again. */
async function madeToFit(
  { fitter, closing }: TurnServices,
  { draft, isBypassed, isLeftOpen }: OpenTurn,
): Promise<Fitted> {
  closing.throwIfAborted();
  if (isBypassed === true) return fitter.untouched(draft);
  try {
    return await fitter.fit(draft);
  } catch (error) {
    closing.throwIfAborted();
    if (isSpoilt(error) && isLeftOpen !== true) throw error;
    reportDegraded(draft, "original", `Plimsoll failed: ${errorMessage(error)}`);
    return fitter.untouched(draft);
  }
}

export function isSpoilt(error: unknown): boolean {
  return PlimsollError.is(error) && error.code === "STORE_CORRUPT";
}

export function announceStart(
  { bus }: Pick<TurnServices, "bus">,
  begun: OpenTurn,
  fitted: Fitted,
): void {
  const { draft, placed } = begun;
  const {
    turn,
    who: { priority },
  } = draft;
  rememberSize(placed, fitted.measurement.total);
  nameSession(draft);
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
      ...agentOf(placed.log),
    },
  });
}

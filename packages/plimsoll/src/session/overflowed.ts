/** A provider said that a turn is too long: what is learned from it, and what is sent instead. */

import { errorMessage } from "../message/error.ts";
import type { Overflow } from "../wire/overflow.ts";
import type { Draft } from "./draft.ts";
import { recordError, reportDegraded } from "./edit-log.ts";
import { refit } from "./fit.ts";
import type { Fitted } from "./last-resort.ts";
import { announce } from "./record.ts";
import { noteOverflow } from "./recovery.ts";
import type { Target } from "./target.ts";
import type { TurnContext } from "./turn.ts";

/** A turn is sent at most three times. */
const maxRetries = 2;

export interface Overflowed {
  readonly fitted: Fitted;
  readonly overflow: Overflow;
  /** How often the turn was sent. */
  readonly attempt: number;
  readonly isOff: boolean;
}

export async function fitAgain(
  context: TurnContext,
  draft: Draft,
  { fitted, overflow, attempt, isOff }: Overflowed,
): Promise<Fitted | undefined> {
  const { branch, log } = draft;
  noteOverflow(log, context.now());
  const target = learnFrom(context, draft, fitted, { overflow, attempt });
  let smaller: Fitted | undefined;
  if (!isOff && attempt <= maxRetries) {
    try {
      smaller = await refit(context, { ...draft, targets: [target] }, fitted, {
        isBytes: overflow.kind === "bytes",
      });
    } catch (error) {
      reportDegraded(draft, "overflow", `Plimsoll failed: ${errorMessage(error)}`);
    }
  }
  if (smaller === undefined) branch.mustCompact = true;
  const isRetried = smaller !== undefined;
  announceOverflow(context, draft, { fitted, overflow, attempt, isRetried });
  return smaller;
}

/** For whoever watches, and for the table of errors. */
export function announceOverflow(
  context: Pick<TurnContext, "now">,
  draft: Draft,
  { fitted, overflow, attempt, isRetried }: Omit<Overflowed, "isOff"> & { isRetried: boolean },
): void {
  const { needTokens, limitTokens } = overflow;
  const { log, turn } = draft;
  announce(log, {
    type: "overflow",
    session: log.record.id,
    at: context.now(),
    turn: turn.id,
    attempt,
    isRetried,
    ...(limitTokens === undefined ? {} : { limitTokens }),
    ...(needTokens === undefined ? {} : { needTokens }),
  });
  recordError(draft, "TOKEN_LIMIT_EXCEEDED", "The provider said that the request is too long.", {
    attempt,
    sent: fitted.tokensAfter,
    ...(limitTokens === undefined ? {} : { limit: limitTokens }),
  });
}

const belowTooMuch = 0.95;

/** What a provider says of itself is better than what we thought: its window, and how it counts. */
function learnFrom(
  context: TurnContext,
  { log, wire }: Draft,
  { target, measured, tokensAfter }: Fitted,
  { overflow, attempt }: Pick<Overflowed, "overflow" | "attempt">,
): Target {
  const { limitTokens, needTokens, inputTokens, maxTokens, kind } = overflow;
  const need = inputTokens ?? needTokens;
  if (need !== undefined && kind !== "bytes")
    context.calibrations.observe(log, target.key, measured, need);
  if (limitTokens !== undefined) context.targets.learnWindow(target, limitTokens);
  // Without a figure we know only that this was too much; said of a second try it tells nothing more.
  const isTooMuch = kind === "input" || kind === "input+output";
  if (limitTokens === undefined && need === undefined && isTooMuch && attempt === 1)
    log.windows.set(target.key, Math.floor((tokensAfter + target.limit.maxOutput) * belowTooMuch));
  const known = context.targets.resolve(target.provider, wire, {
    model: target.model,
    tenant: target.tenant,
    maxOutputTokens: maxTokens ?? target.limit.maxOutput,
  });
  const smaller = context.targets.narrowed(
    known,
    Math.min(known.limit.window, target.limit.window),
  );
  return context.targets.narrowed(smaller, log.windows.get(target.key));
}

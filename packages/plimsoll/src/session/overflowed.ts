/** A provider said that a turn is too long: what is learned from it, and what is sent instead. */

import { errorMessage } from "../message/error.ts";
import type { Overflow } from "../wire/overflow.ts";
import { takeBasis } from "./calibrations.ts";
import type { Draft } from "./draft.ts";
import { recordError, reportDegraded } from "./edit-log.ts";
import { refit } from "./fit.ts";
import { type Fitted, outputToSend } from "./last-resort.ts";
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
  const what =
    overflow.kind === "input+output" ? "the request and its answer are" : "the request is";
  recordError(draft, "TOKEN_LIMIT_EXCEEDED", `The provider said that ${what} too long.`, {
    attempt,
    sent: fitted.tokensAfter,
    ...(limitTokens === undefined ? {} : { limit: limitTokens }),
  });
}

const belowTooMuch = 0.95;

/** What a provider says of itself is better than what we thought: its window, and how it counts. */
function learnFrom(
  context: TurnContext,
  draft: Draft,
  fitted: Fitted,
  { overflow, attempt }: Pick<Overflowed, "overflow" | "attempt">,
): Target {
  const { limitTokens, kind } = overflow;
  const { log, wire, branch } = draft;
  const { target, measured } = fitted;
  const answer = outputToSend(draft, fitted)?.maxTokens ?? target.limit.reserve;
  const input = inputOf(overflow, answer);
  if (input !== undefined) {
    context.calibrations.observe(log, target, measured, input);
    takeBasis(branch, fitted, input);
  }
  if (limitTokens !== undefined) context.targets.learnWindow(target, limitTokens);
  // Without a figure we know only that this was too much; said of a second try it tells nothing more.
  const isTooMuch = kind === "input" || kind === "input+output";
  if (limitTokens === undefined && input === undefined && isTooMuch && attempt === 1)
    log.windows.set(target.key, windowBelow(kind, fitted.tokensAfter, answer));
  const known = context.targets.resolve(target.provider, wire, {
    model: target.model,
    tenant: target.tenant,
    ...(draft.output === undefined ? {} : { maxOutputTokens: draft.output.maxTokens }),
  });
  return context.targets.narrowed(known, log.windows.get(target.key));
}

/** Where the answer was too long and not the request, half of it is tried next. */
function windowBelow(kind: Overflow["kind"], tokens: number, answer: number): number {
  return Math.floor(
    kind === "input+output" ? tokens + answer / 2 : (tokens + answer) * belowTooMuch,
  );
}

/** What the provider counted of the request alone. */
function inputOf(
  { kind, inputTokens, needTokens }: Overflow,
  answerTokens: number,
): number | undefined {
  if (kind === "bytes" || inputTokens !== undefined) return inputTokens;
  if (needTokens === undefined) return undefined;
  return kind === "input+output" ? Math.max(1, needTokens - answerTokens) : needTokens;
}

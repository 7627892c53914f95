/** A provider said that a turn is too long: what is learned from it, and what is sent instead. */

import { inProviderTokens, scaleBy } from "../../budget/token-scale.ts";
import { errorMessage } from "../../message/error.ts";
import type { Overflow } from "../../wire/overflow.ts";
import type { Draft } from "../draft/draft.ts";
import type { CalibrationWorld } from "../draft/projection.ts";
import { announce } from "../log/append.ts";
import { remember, rememberInSession, type SessionLog } from "../log/log.ts";
import type { TakenTokens } from "../log/memory.ts";
import { recordError, reportDegraded } from "../log/report.ts";
import { takeBasis } from "../measure/calibrations.ts";
import type { Target, Targets } from "../measure/target.ts";
import { refit } from "./fit.ts";
import { type Fitted, type FitWorld, outputToSend } from "./last-resort.ts";

/** A turn is sent at most three times. */
const maxRetries = 2;

export interface OverflowWorld extends FitWorld {
  readonly targets: Targets;
}

export interface Overflowed {
  readonly fitted: Fitted;
  readonly overflow: Overflow;
  /** How often the turn was sent. */
  readonly attempt: number;
  readonly isBypassed: boolean;
  /** What the model has looked up in this turn stood behind the request, in our tokens: it is no part of the view. */
  readonly lookedUpTokens?: number | undefined;
}

export async function fitAgain(
  context: OverflowWorld,
  draft: Draft,
  { fitted, overflow, attempt, isBypassed, lookedUpTokens = 0 }: Overflowed,
): Promise<Fitted | undefined> {
  const { branch, log } = draft;
  // A request that had room, and only asked for too long an answer, is no sign of a conversation that is too long.
  if (overflow.kind !== "input+output")
    rememberInSession(log, { kind: "overflowed", at: context.now() });
  const target = learnFrom(context, draft, fitted, { overflow, attempt, lookedUpTokens });
  let smaller: Fitted | undefined;
  if (!isBypassed && attempt <= maxRetries) {
    try {
      smaller = await refit(context, { ...draft, targets: [target] }, fitted, {
        isBytes: overflow.kind === "bytes",
        lookedUpTokens,
      });
    } catch (error) {
      reportDegraded(draft, "overflow", `Plimsoll failed: ${errorMessage(error)}`);
    }
  }
  if (smaller === undefined) remember(branch, { kind: "must-compact" });
  const isRetried = smaller !== undefined;
  announceOverflow(context, draft, { fitted, overflow, attempt, isRetried });
  return smaller;
}

type OverflowReport = Omit<Overflowed, "isBypassed" | "lookedUpTokens">;

/** For whoever watches, and for the table of errors. */
export function announceOverflow(
  context: Pick<OverflowWorld, "now">,
  draft: Draft,
  { fitted, overflow, attempt, isRetried }: OverflowReport & { readonly isRetried: boolean },
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

type Learning = Pick<Overflowed, "overflow" | "attempt"> & { readonly lookedUpTokens: number };

/** What a provider says of itself is better than what Plimsoll thought: its window, and how it counts. */
function learnFrom(
  context: Pick<OverflowWorld, "calibrations" | "targets">,
  draft: Draft,
  fitted: Fitted,
  { overflow, attempt, lookedUpTokens }: Learning,
): Target {
  const { limitTokens, kind } = overflow;
  const { log } = draft;
  const { target } = fitted;
  const answer = outputToSend(draft, fitted, lookedUpTokens)?.maxTokens ?? target.limit.reserve;
  const input = inputOf(overflow, answer);
  if (input !== undefined) learnCount(context, draft, fitted, { input, lookedUpTokens });
  if (limitTokens !== undefined) {
    context.targets.learnWindow(target, limitTokens);
    rememberInSession(log, { kind: "window-named", target: target.key });
  }
  // Without a figure Plimsoll knows only that this was too much.
  const isTooMuch = kind === "input" || kind === "input+output";
  if (limitTokens === undefined && input === undefined && isTooMuch) {
    const refused = { tokens: fitted.tokensAfter + lookedUpTokens, answer };
    const mayBeAnswer = kind === "input+output" || attempt === 1;
    guessWindow(log, target, refused, mayBeAnswer);
  }
  return resolvedAgain(context.targets, draft, target);
}

interface CountedInput {
  /** The provider's count of all that was sent. */
  readonly input: number;
  readonly lookedUpTokens: number;
}

/** The next projection is of the view alone, and so is what Plimsoll measured: what the model has looked up is taken off. */
function learnCount(
  { calibrations }: CalibrationWorld,
  { log, branch }: Draft,
  fitted: Fitted,
  { input, lookedUpTokens }: CountedInput,
): void {
  const { target, measured } = fitted;
  const { conversation } = calibrations.factors(log, target);
  const ofView = Math.max(
    1,
    input - Math.ceil(inProviderTokens(lookedUpTokens, scaleBy(conversation))),
  );
  if (lookedUpTokens === 0) calibrations.observe(log, target, measured, input);
  takeBasis(branch, fitted, ofView);
}

function guessWindow(
  log: SessionLog,
  { key }: Target,
  refused: Refused,
  mayBeAnswer: boolean,
): void {
  const tokens = windowBelow(refused, mayBeAnswer, log.memory.taken[key]);
  rememberInSession(log, { kind: "window-guessed", target: key, tokens });
}

/** The same target, with all that is known of it by now. */
function resolvedAgain(
  targets: Pick<Targets, "resolve" | "narrowed">,
  { log, wire, request: { output } }: Draft,
  target: Target,
): Target {
  const known = targets.resolve(target.provider, wire, {
    model: target.model,
    tenant: target.tenant,
    ...(target.facts === undefined ? {} : { facts: target.facts }),
    ...(output === undefined ? {} : { maxOutputTokens: output.maxTokens }),
  });
  return targets.narrowed(known, log.memory.windows[target.key]);
}

interface Refused {
  readonly tokens: number;
  /** As long as the request asked for. */
  readonly answer: number;
}

/**
 * Half-way between the most that the provider took and what it refused. Some servers keep room for the answer that is asked
 * for, others do not, and a bare refusal does not say: a long answer is made shorter first, which costs nothing; what is
 * refused even so is too long itself.
 */
function windowBelow(
  { tokens, answer }: Refused,
  mayBeAnswer: boolean,
  taken: TakenTokens | undefined,
): number {
  const { used = 0, total = 0 } = taken ?? {};
  if (mayBeAnswer && answer > tokens * longAnswer) {
    const most = tokens + answer;
    return Math.floor((Math.max(tokens, total < most ? total : 0) + most) / 2);
  }
  return Math.floor(used > 0 && used < tokens ? (used + tokens) / 2 : tokens * belowTooMuch);
}

/** An answer of less than this share of its request is not what makes it too long. */
const longAnswer = 0.05;

/** What the provider counted of the request alone. */
function inputOf(
  { kind, inputTokens, needTokens }: Overflow,
  answerTokens: number,
): number | undefined {
  if (kind === "bytes" || inputTokens !== undefined) return inputTokens;
  if (needTokens === undefined) return undefined;
  return kind === "input+output" ? Math.max(1, needTokens - answerTokens) : needTokens;
}

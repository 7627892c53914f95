/** Handles a provider's "too long": Plimsoll learns from the error and sends a smaller request. */

import { assessAfter } from "../../budget/guard.ts";
import { grown } from "../../budget/projection.ts";
import { inOwnTokens, inProviderTokens, scaleBetween, scaleBy } from "../../budget/token-scale.ts";
import { errorMessage } from "../../message/error.ts";
import type { Overflow } from "../../wire/overflow.ts";
import type { Draft } from "../draft/draft.ts";
import {
  type AssessedView,
  assessView,
  type CalibrationWorld,
  type Guard,
  guardOf,
} from "../draft/projection.ts";
import { announce } from "../log/append.ts";
import { remember, rememberInSession, type SessionLog } from "../log/log.ts";
import type { TakenTokens } from "../log/memory.ts";
import { recordError, reportDegraded } from "../log/report.ts";
import { takeBasis } from "../measure/calibrations.ts";
import type { Target, Targets } from "../measure/target.ts";
import { compactTurn } from "./compact-turn.ts";
import { lastValidView, mayCompact } from "./fit.ts";
import { type Fitted, type FitWorld, fitted, outputToSend } from "./last-resort.ts";

/** Maximum number of retries per turn. */
const maxRetries = 2;

export interface OverflowWorld extends FitWorld {
  readonly targets: Targets;
}

export interface Overflowed {
  readonly fitted: Fitted;
  readonly overflow: Overflow;
  /** Number of times the turn has been sent. */
  readonly attempt: number;
  readonly isBypassed: boolean;
  /**
   * Plimsoll's count of the tokens of this turn's lookups. Lookups come after the client's messages and are not part of the view.
   */
  readonly lookedUpTokens?: number | undefined;
}

/**
 * The retry after an overflow.
 * What Plimsoll learns (`learnFrom`): if the error states the size of the input, the next projection starts from that size. If
 * the turn contains no lookups, this size also corrects the token scale. If the error states a window, and the known window is
 * larger or unknown, Plimsoll uses the stated window for an hour. If the error states neither figure, Plimsoll guesses a window
 * below the refused size, for this session only. An error about bytes says nothing about tokens.
 * How often Plimsoll tries again: at most twice per turn, and never for a bypassed request. Each time, `refit` must find a
 * request that is at least a tenth smaller, not counting the head, or a shorter answer length that may fit. Without a retry, the
 * branch compacts on its next turn. After more than two overflows within an hour, the conversation starts afresh.
 * What the client sees: the answer to the attempt that succeeded, or else the provider's own error. The proxy sends nothing to
 * the client until the model's first word, or until five seconds have passed, so the client does not notice failed attempts. If
 * an inner round overflows after the stream has begun, and it cannot be retried, the stream ends with an error event. A library
 * caller passes the error to `overflowed` and gets a smaller request, or undefined.
 * Invariant: Plimsoll never sends the refused request again; the view or the answer length is smaller each time.
 */
export async function fitAgain(
  context: OverflowWorld,
  draft: Draft,
  { fitted, overflow, attempt, isBypassed, lookedUpTokens = 0 }: Overflowed,
): Promise<Fitted | undefined> {
  const { branch, log } = draft;
  // If the request itself had room and only asked for too long an answer, the conversation is not too long.
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

/** Reports an overflow to observers, and adds it to the table of errors. */
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

/**
 * Learns the window and the token count from the provider's error, because the provider's figures are better than assumptions.
 */
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
  // If the error states no figure, Plimsoll knows only that this request was too large.
  const isTooMuch = kind === "input" || kind === "input+output";
  if (limitTokens === undefined && input === undefined && isTooMuch) {
    const refused = { tokens: fitted.tokensAfter + lookedUpTokens, answer };
    const mayBeAnswer = kind === "input+output" || attempt === 1;
    guessWindow(log, target, refused, mayBeAnswer);
  }
  return resolvedAgain(context.targets, draft, target);
}

interface CountedInput {
  /** The provider's count of everything that was sent. */
  readonly input: number;
  readonly lookedUpTokens: number;
}

/**
 * Learns from the provider's count. Subtracts the lookups, because projections and Plimsoll's own measurement cover only the
 * view.
 */
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

/** The same target, with everything that Plimsoll has learned about it since. */
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
  /** Maximum answer length that the request asked for, in tokens. */
  readonly answer: number;
}

/**
 * Guesses the window. The guess is half-way between the largest size that the provider accepted and the size that it refused, or
 * a little below the refused size if the provider has accepted no smaller one. Some servers reserve room for the requested
 * answer, others do not, and a refusal without figures does not say which kind of server it is. So Plimsoll first shortens a long
 * answer, which costs nothing. If the provider still refuses, the request itself is too long.
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

/** If the requested answer is below this share of the request, the answer is not the reason why the request is too long. */
const longAnswer = 0.05;

/** The provider's count for the request alone, without the answer. */
function inputOf(
  { kind, inputTokens, needTokens }: Overflow,
  answerTokens: number,
): number | undefined {
  if (kind === "bytes" || inputTokens !== undefined) return inputTokens;
  if (needTokens === undefined) return undefined;
  return kind === "input+output" ? Math.max(1, needTokens - answerTokens) : needTokens;
}

/**
 * Called after the provider said "too long". Returns a request that is smaller by at least a tenth, not counting the head, or a
 * request that asks for a shorter answer. Returns undefined if neither is possible.
 */
async function refit(
  world: FitWorld,
  draft: Draft,
  sent: Fitted,
  { isBytes, lookedUpTokens }: { readonly isBytes: boolean; readonly lookedUpTokens: number },
): Promise<Fitted | undefined> {
  const start = await lastValidView(world, draft);
  const guard = guardOf(world, draft);
  const before = assessView(world, draft, start, guard);
  const shorter = isBytes
    ? undefined
    : shorterAnswer(draft, sent, { guard, before, lookedUpTokens });
  const isShorter = shorter !== undefined;
  if (isShorter && !sent.isFinal && isAnswerEnough(draft, before, shorter)) {
    const [target] = draft.targets;
    return fitted(draft, { ...before, sized: start, target, outcome: sent.outcome });
  }
  if (!mayCompact(world)) return undefined;
  const mostTokens = smallerThan(sent);
  const next = await compactTurn(world, draft, start, {
    guard,
    before,
    isOverMedia: false,
    isRefused: !isShorter,
    why: "too long",
    mostTokens,
    ...(isBytes ? { mostBytes: Math.floor(start.bytes * smallerShare) } : {}),
  });
  if (next.refusal !== undefined) return undefined;
  const isSmaller = next.measured.total <= mostTokens && !next.isFinal;
  if (!isShorter && !isSmaller) return undefined;
  // This attempt removed nothing more, so the outcome of the turn stays the same.
  return next.outcome === "edited" ? { ...next, outcome: sent.outcome } : next;
}

const smallerShare = 0.9;

/** Maximum size of the smaller request: a tenth less than before, not counting the head, which cannot shrink. */
function smallerThan({ measured, projection }: Fitted): number {
  const scale = scaleBetween(measured.total, projection.tokens);
  const head = inOwnTokens(Math.min(projection.head, projection.tokens), scale);
  return Math.floor(head + (measured.total - head) * smallerShare);
}

/**
 * If the provider has counted the request, Plimsoll does not compact again as long as the answer still has at least this share of
 * the reserve.
 */
const answerShare = 0.5;

/** Whether it is enough to shorten the answer to this length, so that the request can stay as large as it is. */
function isAnswerEnough(
  { branch, targets: [target] }: Draft,
  { projection, verdict }: AssessedView,
  answerTokens: number,
): boolean {
  if (verdict.kind === "fits") return true;
  const isCounted = branch.memory.basis?.inputTokens === projection.tokens;
  return isCounted && answerTokens >= target.limit.reserve * answerShare;
}

interface Refitting {
  readonly guard: Guard;
  readonly before: AssessedView;
  readonly lookedUpTokens: number;
}

/**
 * Called if the window has room for the request, but not for an answer as long as the client wants. Returns the answer length
 * that fits, or undefined if that is no shorter than the length sent before.
 */
function shorterAnswer(
  draft: Draft,
  sent: Fitted,
  { guard, before: { projection }, lookedUpTokens }: Refitting,
): number | undefined {
  const withLookups = grown(projection, lookedUpTokens);
  if (assessAfter({ ...guard, projection: withLookups }).kind === "refuse") return undefined;
  const again = { target: draft.targets[0], projection };
  const before = outputToSend(draft, sent, lookedUpTokens)?.maxTokens ?? 0;
  const after = outputToSend(draft, again, lookedUpTokens)?.maxTokens ?? 0;
  return after < before ? after : undefined;
}

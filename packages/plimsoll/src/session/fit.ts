/**
 * The load line: what is done to a request so that it fits, and is valid.
 *
 *   view ─► guard ─► strategies ─► validator ─► commit ─► what is sent
 *
 * Each step may fail, and then the next lower rung is taken: the last valid view; truncation, if the store can
 * keep what is cut; the client's original, if it fits or nothing was ever edited; the provider's own overflow error.
 */

import type { Projection } from "../budget/counters.ts";
import { effectiveLimit, judgeAfter, type Verdict } from "../budget/guard.ts";
import type { Measurement } from "../budget/measure.ts";
import type { Goal, Strategy } from "../compact/strategy.ts";
import type { Outcome } from "../message/event.ts";
import type { Calibrations } from "./calibrations.ts";
import { type CompactionWorld, compact, judge, judgeAgain } from "./compaction.ts";
import type { Config } from "./config.ts";
import { type Debug, debugGuard, targetFields } from "./debug.ts";
import { type Draft, type Sized, sizeView } from "./draft.ts";
import {
  addNote,
  commitCompaction,
  reportDegraded,
  reportEnforced,
  reportWarning,
} from "./edit-log.ts";
import type { BranchState } from "./log.ts";
import { viewOf } from "./path.ts";
import {
  asGuarded,
  type Guard,
  guardOf,
  type JudgedView,
  judged,
  judgedNew,
} from "./projection.ts";
import type { Patch } from "./render.ts";
import type { LogSaver } from "./save-log.ts";
import type { Target } from "./target.ts";
import { type View, wholeView } from "./view.ts";

export interface FitWorld extends CompactionWorld {
  readonly config: Config;
  readonly saver: LogSaver;
  readonly calibrations: Calibrations;
  readonly strategies: readonly Strategy[];
  readonly debug: Debug;
}

/** What to send, and what it comes to. */
export interface Fitted {
  readonly outcome: Outcome;
  readonly target: Target;
  readonly patches: readonly Patch[];
  /** The model may call nothing any more, and is told so. */
  readonly isFinal: boolean;
  /** Before correction, of what is sent. */
  readonly measured: Measurement;
  /** As the provider would count. */
  readonly measurement: Measurement;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** What there was to use. */
  readonly limit: number;
  /** Not to be sent: what it would need, and what there is. */
  readonly refusal?: { readonly needTokens: number; readonly limitTokens: number };
}

/** A compaction goes this deep, so that it is rare, and no deeper than it must. */
const depth = 0.5;
const restLeft = 0.4;
const shallowest = 0.86;
/** Nothing was found to take out: not tried again before the request has grown by this. */
const growthBeforeRetry = 1.03;

/** An answer that was cut off for lack of room gets this much more. */
const afterCutOff = 0.7;

const finalInstruction =
  "[Plimsoll: the context window is full. Do not call any tool. Give your final answer now, from what you know: what was done, what is left to do, and where.]";

export async function fitTurn(world: FitWorld, draft: Draft): Promise<Fitted> {
  const start = await lastValidView(world, draft);
  const guard = guardOf(world, draft);
  const before = judged(world, draft, start, guard);
  debugGuard(world.debug, draft, { ...before, own: guard.own });
  const { verdict } = before;
  if (verdict.kind === "skip") {
    const target = draft.targets.find(({ key }) => key === verdict.target) ?? draft.targets[0];
    const limit = effectiveLimit(asGuarded(target), guard.own);
    return fitted(draft, { ...before, limit, sized: start, target, outcome: "edited" });
  }
  const isOverMedia = hasTooMuchMedia(draft, start);
  const isCut = draft.branch.mustCompact === true;
  const mustCompact = isCut || isOverMedia;
  if (!mustCompact && isFine(draft, verdict, before)) return settle(world, draft, start, before);
  if (!mustCompact && isExhausted(draft, verdict, before))
    return settle(world, draft, start, before);
  const mostTokens = isCut ? Math.floor(start.measured.total * afterCutOff) : undefined;
  return compactTurn(world, draft, start, {
    guard,
    before,
    isOverMedia,
    ...(mostTokens === undefined ? {} : { mostTokens }),
  });
}

/** As the client sent it, whatever it comes to. */
export async function untouched(world: FitWorld, draft: Draft): Promise<Fitted> {
  const sized = await sizeView(world.facts, draft, wholeView);
  const before = judgedNew(world, draft, sized, guardOf(world, draft));
  return fitted(draft, { ...before, sized, target: draft.targets[0], outcome: "passthrough" });
}

/** Rung one: what was sent last time, and what is new. An undo or another branch may have made it another view. */
async function lastValidView(world: FitWorld, draft: Draft): Promise<Sized> {
  const { log, branch, path } = draft;
  const view = viewOf(log, branch, path);
  if (view === wholeView) return sizeView(world.facts, draft, view);
  const sized = await sizeView(world.facts, draft, view);
  const isKnown = branch.judged?.view === view;
  if (!mustJudge(branch, view)) return sized;
  const judgement = isKnown ? judgeAgain(world, draft, sized) : judge(world, draft, sized);
  if (judgement.kind !== "invalid") return sized;
  const whole = await sizeView(world.facts, draft, wholeView);
  const { verdict } = judgedNew(world, draft, whole, guardOf(world, draft));
  if (verdict.kind !== "fits") {
    // It was valid once, and nothing else would go: perhaps another cut mends it.
    reportDegraded(draft, "view", `the view is no longer valid: ${judgement.reason}`);
    branch.mustCompact = true;
    return sized;
  }
  reportDegraded(draft, "original", `the view is not valid: ${judgement.reason}`);
  return whole;
}

/** A view that was valid may become invalid by what the client says next: it is looked at again after 1, 2, 4, 8 … turns. */
function mustJudge(branch: BranchState, view: View): boolean {
  const turns = branch.judged?.view === view ? branch.judged.turns + 1 : 0;
  branch.judged = { view, turns };
  return Number.isInteger(Math.log2(turns)) || turns === 0;
}

function isFine(
  { targets: [target] }: Draft,
  verdict: Verdict,
  { projection }: JudgedView,
): boolean {
  if (verdict.kind === "fits") return true;
  const { window, maxOutput } = target.limit;
  return verdict.kind === "schema" && projection.tokens + maxOutput <= window;
}

function isExhausted({ branch }: Draft, verdict: Verdict, { projection }: JudgedView): boolean {
  return (
    verdict.kind === "compact" &&
    verdict.overTokens === 0 &&
    branch.exhaustedTokens !== undefined &&
    projection.tokens < branch.exhaustedTokens * growthBeforeRetry
  );
}

function hasTooMuchMedia({ targets: [{ media }] }: Draft, sized: Sized): boolean {
  return sized.media > media.maxCount || (sized.media > 0 && sized.bytes > media.maxBytes);
}

/** It fits as it is. From the warning on the model is told, once per crossing. */
async function settle(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  before: JudgedView,
): Promise<Fitted> {
  const { verdict } = before;
  const isWarning = verdict.kind === "fits" && verdict.isWarning;
  const [target] = draft.targets;
  const plain = { ...before, sized: start, target, outcome: outcomeOf(start) };
  const isQuiet = draft.isHeld === true || world.config.agent?.warning_note === false;
  if (!isWarning || isQuiet || isWarned(draft, start) || isBegun(draft))
    return fitted(draft, plain);
  reportWarning(draft, verdict.filled, before.limit);
  const guard = guardOf(world, draft);
  const isRoomy = (sized: Sized): boolean =>
    before.projection.tokens + addedTokens(before, start, sized) <= guard.limit;
  const noted = await addNote(world, draft, start, { filled: verdict.filled, isRoomy });
  if (noted === undefined) return fitted(draft, plain);
  const after = judgedNew(world, draft, noted, guard);
  return fitted(draft, { ...after, sized: noted, target, outcome: "edited" });
}

/** The client has begun the answer itself: nothing may stand behind that. */
function isBegun({ log, path }: Draft): boolean {
  return log.nodes.get(path.seqAt(path.length - 1) ?? -1)?.role === "assistant";
}

/** Since the last time that something was taken out. */
function isWarned({ branch }: Draft, { view }: Sized): boolean {
  const last = view.edits.findLast(
    ({ action }) => action.kind !== "pin" && action.kind !== "checkpoint",
  );
  return last?.action.kind === "insert" || branch.warnedEdits === view.edits.length;
}

function outcomeOf({ patches }: Sized): Outcome {
  return patches.length === 0 ? "passthrough" : "edited";
}

interface Compacting {
  readonly guard: Guard;
  readonly before: JudgedView;
  readonly isOverMedia: boolean;
  /** After an overflow: at most so much, before correction. */
  readonly mostTokens?: number;
  readonly mostBytes?: number;
}

async function compactTurn(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  compacting: Compacting,
): Promise<Fitted> {
  const { guard, before } = compacting;
  draft.branch.mustCompact = false;
  await draft.path.load();
  const task = {
    draft,
    start,
    strategies: world.strategies,
    goal: goalOf(draft, start, compacting),
  };
  const compaction = await compact(world, task);
  for (const failure of compaction.failures) reportDegraded(draft, "truncation", failure);
  if (compaction.edits.length === 0) {
    draft.branch.exhaustedTokens = before.projection.tokens;
    const isOurs = compaction.failures.length > 0;
    return lastResort(world, draft, start, { before, guard, isOurs });
  }
  const after = judgedNew(world, draft, compaction.sized, guard);
  const verdict = judgeAfter({ ...guard, projection: after.projection });
  // What will not be sent changes nothing.
  if (verdict.kind === "refuse")
    return lastResort(world, draft, compaction.sized, { before: after, guard, isOurs: false });
  const saved = await commitCompaction(world, draft, compaction, {
    reason: compacting.isOverMedia ? "media" : reasonOf(before.verdict),
  });
  if (saved === "unsaved") {
    reportDegraded(draft, "view", "the store could not keep what would be cut");
    return lastResort(world, draft, start, { before, guard, isOurs: true });
  }
  const { branch } = draft;
  branch.judged = { view: viewOf(draft.log, branch, draft.path), turns: 0 };
  delete branch.exhaustedTokens;
  if (verdict.kind === "final")
    return lastResort(world, draft, compaction.sized, { before: after, guard, isOurs: false });
  return fitted(draft, {
    ...after,
    sized: compaction.sized,
    target: draft.targets[0],
    outcome: "compacted",
  });
}

function reasonOf(verdict: Verdict): string {
  return verdict.kind === "compact" && verdict.isForced ? "forced" : verdict.kind;
}

/** In our own tokens: the guard counts as the provider does. */
function goalOf({ targets: [target] }: Draft, start: Sized, compacting: Compacting): Goal {
  const { guard, before, isOverMedia, mostTokens, mostBytes } = compacting;
  const media = mostBytes === undefined ? target.media : { ...target.media, maxBytes: mostBytes };
  const scale = start.measured.total / Math.max(1, before.projection.tokens);
  const most = mostTokens ?? Number.POSITIVE_INFINITY;
  const limit = Math.floor(guard.limit * scale);
  const { system, tools } = start.measured;
  // What stands before the conversation cannot be taken out: of the rest, enough is left to be worth something.
  const least = system + tools + (limit - system - tools) * restLeft;
  const tokens = Math.floor(Math.min(most, Math.max(limit * depth, least)));
  return {
    limitTokens: Math.min(limit, most),
    tokens,
    floorTokens: Math.floor(tokens * shallowest),
    ...(isOverMedia || mostBytes !== undefined ? { media } : {}),
  };
}

/**
 * Nothing more can be taken out, or not now. What still fits goes; what only the window without its buffer holds
 * goes as the last turn; what was never edited goes when the fault is ours, and the provider says what it thinks.
 */
async function lastResort(
  world: FitWorld,
  draft: Draft,
  sized: Sized,
  { before, guard, isOurs }: { before: JudgedView; guard: Guard; isOurs: boolean },
): Promise<Fitted> {
  const [target] = draft.targets;
  const { projection } = before;
  const verdict = judgeAfter({ ...guard, projection });
  const plain = { ...before, sized, target, outcome: outcomeOf(sized) };
  if (verdict.kind === "fits" || verdict.kind === "schema") return fitted(draft, plain);
  if (verdict.kind === "refuse" && !mayRefuse(target, before)) return fitted(draft, plain);
  if (isOurs && sized.patches.length === 0) {
    reportDegraded(draft, "original", "the request goes as it came, and may be too long");
    return fitted(draft, plain);
  }
  world.debug("context-guard/enforce", () => ({
    forcedFinalTurnReason: "context",
    action: verdict.kind,
    blocked: [{ ...targetFields(target), limit: guard.limit, projected: projection.tokens }],
  }));
  if (verdict.kind === "final") {
    reportEnforced(draft, "final", projection.tokens, guard.limit);
    const closing = await closingView(world, draft, sized, projection);
    const { measurement } = judged(world, draft, closing, guard);
    return {
      ...fitted(draft, { ...before, sized: closing, target, outcome: "final" }),
      measurement,
      isFinal: true,
    };
  }
  if (isOurs) reportDegraded(draft, "overflow", "the edits already made do not suffice");
  reportEnforced(draft, "refused", projection.tokens, guard.limit);
  return {
    ...fitted(draft, { ...plain, outcome: "refused" }),
    refusal: {
      needTokens: projection.tokens + target.limit.maxOutput,
      limitTokens: target.limit.window,
    },
  };
}

/** An estimate may be wrong by this; what it says is too much within that, the provider says itself. */
const estimateMargin = 1.15;

/** Only what is known not to fit is refused here: a window that is a guess, or an answer that the client itself made too long, are the provider's to judge. */
function mayRefuse({ limit }: Target, { projection, measurement }: JudgedView): boolean {
  const isOurGuess = limit.windowSource === "catalogue" && measurement.certainty === "estimate";
  const margin = isOurGuess ? estimateMargin : 1;
  const isClientsOwn = limit.maxOutput >= limit.window / 2 && projection.tokens <= limit.window;
  const isOver = projection.tokens + limit.maxOutput > limit.window * margin;
  return limit.windowSource !== "fallback" && !isClientsOwn && isOver;
}

/** What a text of ours adds to a request, as the provider would count it. */
function addedTokens(
  { projection }: Pick<JudgedView, "projection">,
  { measured: before }: Sized,
  { measured: after }: Sized,
): number {
  const scale = Math.max(1, projection.tokens / Math.max(1, before.total));
  return Math.ceil((after.total - before.total) * scale);
}

/** With the last instruction behind it, where there is room for that. */
async function closingView(
  world: FitWorld,
  draft: Draft,
  sized: Sized,
  projection: Projection,
): Promise<Sized> {
  if (isBegun(draft)) return sized;
  const closing = await sizeView(world.facts, draft, sized.view, finalInstruction);
  const { window, maxOutput } = draft.targets[0].limit;
  const added = addedTokens({ projection }, sized, closing);
  const hasRoom = projection.tokens + added + maxOutput <= window;
  return hasRoom && judge(world, draft, closing).kind !== "invalid" ? closing : sized;
}

/** After a provider's own "too long": smaller by at least a tenth, or not at all. */
export async function refit(
  world: FitWorld,
  draft: Draft,
  sent: Pick<Fitted, "measured">,
  { isBytes }: { readonly isBytes: boolean },
): Promise<Fitted | undefined> {
  const start = await lastValidView(world, draft);
  const guard = guardOf(world, draft);
  const before = judged(world, draft, start, guard);
  const mostTokens = Math.floor(sent.measured.total * smallerShare);
  const next = await compactTurn(world, draft, start, {
    guard,
    before,
    isOverMedia: false,
    mostTokens,
    ...(isBytes ? { mostBytes: Math.floor(start.bytes * smallerShare) } : {}),
  });
  const isSmaller = next.measured.total <= mostTokens && next.refusal === undefined;
  return isSmaller && !next.isFinal ? next : undefined;
}

const smallerShare = 0.9;

interface Settled extends Omit<JudgedView, "verdict"> {
  readonly sized: Sized;
  readonly target: Target;
  readonly outcome: Outcome;
}

function fitted({ measured }: Draft, settled: Settled): Fitted {
  const { sized, target, outcome, measurement, projection, limit } = settled;
  const scale = sized.measured.total === 0 ? 1 : projection.tokens / sized.measured.total;
  return {
    outcome,
    target,
    patches: sized.patches,
    isFinal: false,
    measured: sized.measured,
    measurement,
    tokensBefore: Math.max(projection.tokens, Math.round(measured.total * scale)),
    tokensAfter: projection.tokens,
    limit,
  };
}

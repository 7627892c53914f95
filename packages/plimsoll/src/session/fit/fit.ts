/**
 * The load line: what is done to a request so that it fits, and is valid.
 *
 *   tools held back ─► view ─► results on arrival ─► guard ─► strategies ─► validator ─► commit ─► what is sent
 *
 * Each step may fail, and then the next lower rung is taken: the last valid view; truncation, if the store can
 * keep what is cut; the client's original, if it fits or nothing was ever edited; the provider's own overflow error.
 */

import { assessAfter, effectiveLimit } from "../../budget/guard.ts";
import { inOwnTokens, scaleBetween } from "../../budget/token-scale.ts";
import { type Draft, offerIn, type Sized, sizeView } from "../draft/draft.ts";
import {
  type AssessedView,
  asGuarded,
  assessView,
  type CalibrationWorld,
  type Guard,
  guardOf,
} from "../draft/projection.ts";
import type { ProposalWorld } from "../draft/propose-edits.ts";
import { validateAgain, validateView } from "../draft/validate-view.ts";
import { remember } from "../log/log.ts";
import { type BranchMemory, isSameMark } from "../log/memory.ts";
import { viewOf } from "../log/path.ts";
import { reportDegraded, reportWarning } from "../log/report.ts";
import { countOfEdits, markOf, type View, wholeView } from "../log/view.ts";
import { compactTurn } from "./compact-turn.ts";
import { debugGuard } from "./debug.ts";
import { deferTools } from "./defer-tools.ts";
import {
  addedTokens,
  type Fitted,
  type FitWorld,
  fitted,
  isBegun,
  outcomeOf,
  outputToSend,
} from "./last-resort.ts";
import type { Compacting } from "./make-smaller.ts";
import { offloadFresh } from "./offload-fresh-results.ts";
import { prepareSummary } from "./prepare-summary.ts";
import { addNote } from "./warn-model.ts";
import { type Timing, timingOf, waits } from "./when-to-compact.ts";
import { mustRecover } from "./when-to-recover.ts";

/** Where Plimsoll found nothing to take out, it does not try again before the request has grown by this. */
const growthBeforeRetry = 1.03;

/** An answer that was cut off for lack of room gets this much more. */
const afterCutOff = 0.7;

export async function fitTurn(world: FitWorld, draft: Draft): Promise<Fitted> {
  await deferTools(world, draft);
  const start = await offloadFresh(world, draft, await lastValidView(world, draft));
  const guard = guardOf(world, draft);
  const before = assessView(world, draft, start, guard);
  debugGuard(world.debug, draft, { ...before, own: guard.own });
  const { verdict } = before;
  if (verdict.kind === "skip")
    return toOtherTarget(draft, start, verdict.target, { guard, before });
  remember(draft.branch, { kind: "fitting" });
  const compaction = compactionDueAnyway(world, draft, start);
  if (compaction !== undefined)
    return compactTurn(world, draft, start, { guard, before, ...compaction });
  const timing = isStuck(draft, guard, before)
    ? waits
    : timingOf(world, draft, start, { guard, before });
  if (timing.kind === "wait") return settle(world, draft, start, before);
  const most = mostOf(timing);
  return compactTurn(world, draft, start, { guard, before, isOverMedia: false, timing, ...most });
}

/** The first model is full, and another one is not: the request goes there, and nothing is taken out. */
function toOtherTarget(
  draft: Draft,
  start: Sized,
  name: string,
  { guard, before }: Pick<Compacting, "guard" | "before">,
): Fitted {
  const target = draft.targets.find(({ key }) => key === name) ?? draft.targets[0];
  const limit = effectiveLimit(asGuarded(target), guard.own, before.projection.head);
  const there = { ...before, limit, isBesideHead: false };
  return fitted(draft, { ...there, sized: start, target, outcome: "edited" });
}

/**
 * A compaction that is due however full the window is: the provider cut the last answer off for lack of room, there are too many
 * images and documents, or the conversation must start afresh. Undefined: none of these.
 */
function compactionDueAnyway(
  { now }: Pick<FitWorld, "now">,
  draft: Draft,
  start: Sized,
): Pick<Compacting, "isOverMedia" | "mostTokens"> | undefined {
  const { branch, log } = draft;
  const isOverMedia = hasTooMuchMedia(draft, start);
  const isCutOff = branch.memory.mustCompact === true;
  const isAfresh = mustRecover(log, branch, now()) !== undefined;
  if (isCutOff) return { isOverMedia, mostTokens: Math.floor(start.measured.total * afterCutOff) };
  return isOverMedia || isAfresh ? { isOverMedia } : undefined;
}

/** A compaction would change nothing, or not enough to come with every turn. */
function isStuck(draft: Draft, guard: Guard, before: AssessedView): boolean {
  return isLetGo(guard, before) || isExhausted(draft, before) || isWaiting(draft, guard, before);
}

function mostOf({ mostTokens }: Extract<Timing, { readonly kind: "compact" }>) {
  return mostTokens === undefined ? {} : { mostTokens };
}

/** What it takes to look at a view: to size it, to judge it, and to say whether it fits. */
type ViewWorld = ProposalWorld & CalibrationWorld & Pick<FitWorld, "config">;

/** As the client sent it, whatever it comes to. */
export async function untouched(world: ViewWorld, draft: Draft): Promise<Fitted> {
  const sized = await sizeView(world.facts, draft, wholeView);
  const before = assessView(world, draft, sized, guardOf(world, draft));
  return fitted(draft, { ...before, sized, target: draft.targets[0], outcome: "passthrough" });
}

/** Rung one: what was sent last time, and what is new. An undo or another branch may have made it another view. */
async function lastValidView(world: ViewWorld, draft: Draft): Promise<Sized> {
  const { log, branch, path } = draft;
  const view = viewOf(log, branch, path);
  if (view === wholeView) return sizeView(world.facts, draft, view);
  const sized = await sizeView(world.facts, draft, view);
  const isKnown = isKnownView(branch.memory, view);
  remember(branch, { kind: "view", view: markOf(view) });
  if (!isCheckDue(branch.memory)) return sized;
  const validity = await (isKnown ? validateAgain : validateView)(world, draft, sized);
  if (validity.kind !== "invalid") return sized;
  // Plimsoll looks at it again with the next turn, whatever becomes of this one.
  remember(branch, { kind: "view-invalid" });
  const whole = await sizeView(world.facts, draft, lookupsOnly(view));
  const { verdict } = assessView(world, draft, whole, guardOf(world, draft));
  if (verdict.kind !== "fits") {
    // The view was valid once, and nothing else would fit: perhaps another cut mends it.
    reportDegraded(draft, "view", `the view is no longer valid: ${validity.reason}`);
    remember(branch, { kind: "must-compact" });
    return sized;
  }
  reportDegraded(draft, "original", `the view is not valid: ${validity.reason}`);
  return whole;
}

/** Nothing taken out; what the model said and was told is no edit. */
function lookupsOnly({ edits, expansions, contractions }: View): View {
  const lookups = edits.filter(({ action }) => action.kind === "expand");
  return { ...wholeView, edits: lookups, expansions, contractions };
}

/** A view that was valid may become invalid by what the client says next: it is looked at again after 1, 2, 4, 8 … turns. */
function isCheckDue({ checked }: BranchMemory): boolean {
  const turns = checked?.turns ?? 0;
  return turns === 0 || Number.isInteger(Math.log2(turns));
}

function isKnownView({ checked }: BranchMemory, view: View): boolean {
  return checked !== undefined && isSameMark(checked.view, markOf(view));
}

/** The head alone is too much by Plimsoll's count, and the window may hold it all the same. */
function isLetGo(guard: Guard, { verdict, projection }: AssessedView): boolean {
  return verdict.kind === "head" && assessAfter({ ...guard, projection }).kind === "fits";
}

/** A budget that the head leaves no room in cannot be kept: for its sake alone one compaction in so many turns is enough. */
const turnsForBudget = 5;

function isWaiting(
  { branch }: Draft,
  { own, targets, limit: budget }: Guard,
  { verdict, projection, limit }: AssessedView,
): boolean {
  const { turns = turnsForBudget } = branch.memory.compacted ?? {};
  if (verdict.kind !== "compact" || turns >= turnsForBudget) return false;
  const hasBudget = own.contextBudget !== undefined || own.agentLimit !== undefined;
  const ofWindow = effectiveLimit(targets[0], {}, projection.head);
  return hasBudget && limit > budget && projection.tokens < ofWindow;
}

/** The last compaction found nothing to take out, and the request has hardly grown since. */
function isExhausted({ branch }: Draft, { verdict, projection }: AssessedView): boolean {
  const { exhaustedTokens } = branch.memory;
  return (
    (verdict.kind === "fits" || (verdict.kind === "compact" && verdict.overTokens === 0)) &&
    exhaustedTokens !== undefined &&
    projection.tokens < exhaustedTokens * growthBeforeRetry
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
  before: AssessedView,
): Promise<Fitted> {
  const { verdict } = before;
  const isWarning = verdict.kind === "fits" && verdict.isWarning;
  const [target] = draft.targets;
  const plain = { ...before, sized: start, target, outcome: outcomeOf(start) };
  if (isWarning) prepareSummary(world, draft, start);
  // All tools are told this once: that says nothing of the turns to come.
  const isOnce = start.view.tools !== undefined && offerIn(draft) === undefined;
  const isQuiet =
    draft.request.hasServerSideHistory === true ||
    isOnce ||
    world.config.agent?.warning_note === false;
  if (!isWarning || isQuiet || isWarned(draft, start) || isBegun(draft))
    return fitted(draft, plain);
  reportWarning(draft, verdict.filled, before.limit);
  const guard = guardOf(world, draft);
  const isRoomy = (sized: Sized): boolean =>
    before.projection.tokens + addedTokens(before, start, sized) <= before.limit;
  const noted = await addNote(world, draft, start, { filled: verdict.filled, isRoomy });
  if (noted === undefined) return fitted(draft, plain);
  const after = assessView(world, draft, noted, guard);
  return fitted(draft, { ...after, sized: noted, target, outcome: "edited" });
}

/** Since the last time that something was taken out. */
function isWarned({ branch }: Draft, { view }: Sized): boolean {
  const last = view.edits.findLast(({ action }) => takesOut.has(action.kind));
  return last?.action.kind === "insert" || branch.memory.warnedEdits === countOfEdits(view);
}

const takesOut: ReadonlySet<string> = new Set(["replace", "remove", "fold", "insert"]);

/** After a provider's own "too long": smaller by at least a tenth of what is beside the head, or with a shorter answer, or not at all. */
export async function refit(
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
  const mostTokens = smallerThan(sent);
  const next = await compactTurn(world, draft, start, {
    guard,
    before,
    isOverMedia: false,
    isRefused: !isShorter,
    mostTokens,
    ...(isBytes ? { mostBytes: Math.floor(start.bytes * smallerShare) } : {}),
  });
  if (next.refusal !== undefined) return undefined;
  const isSmaller = next.measured.total <= mostTokens && !next.isFinal;
  if (!isShorter && !isSmaller) return undefined;
  // Nothing more was taken out than this turn took out before.
  return next.outcome === "edited" ? { ...next, outcome: sent.outcome } : next;
}

const smallerShare = 0.9;

/** Of what can be taken out. */
function smallerThan({ measured, projection }: Fitted): number {
  const scale = scaleBetween(measured.total, projection.tokens);
  const head = inOwnTokens(Math.min(projection.head, projection.tokens), scale);
  return Math.floor(head + (measured.total - head) * smallerShare);
}

/** Where the provider has counted the request, an answer of so much of the reserve is worth more than what a compaction takes out. */
const answerShare = 0.5;

/** With so short an answer the request need not be smaller. */
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

/** The window holds the request, and not as long an answer as it asked for: how long the answer may be. Undefined: no shorter than before. */
function shorterAnswer(
  draft: Draft,
  sent: Fitted,
  { guard, before: { projection }, lookedUpTokens }: Refitting,
): number | undefined {
  const withLookups = {
    ...projection,
    tokens: projection.tokens + lookedUpTokens,
    least: projection.least + lookedUpTokens,
  };
  if (assessAfter({ ...guard, projection: withLookups }).kind === "refuse") return undefined;
  const again = { target: draft.targets[0], projection };
  const before = outputToSend(draft, sent, lookedUpTokens)?.maxTokens ?? 0;
  const after = outputToSend(draft, again, lookedUpTokens)?.maxTokens ?? 0;
  return after < before ? after : undefined;
}

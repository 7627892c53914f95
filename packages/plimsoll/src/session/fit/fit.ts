/**
 * Makes a request fit and keeps it valid.
 *
 *   defer tools ─► view ─► offload huge results ─► guard ─► strategies ─► validator ─► commit ─► request to send
 *
 * If a step fails, Plimsoll takes the next fallback: the last valid view; then truncation, if the store can keep the removed
 * messages; then the client's original, if it fits or if nothing was ever edited; and finally the provider's own overflow error.
 */

import {
  assessAfter,
  budgetOf,
  budgetTooSmall,
  effectiveLimit,
  windowLimitOf,
} from "../../budget/guard.ts";
import { projectionWith } from "../../budget/projection.ts";
import { deferral } from "../../message/edit.ts";
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
import { reportDegraded, reportRaisedBudget, reportWarning } from "../log/report.ts";
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
  lastResort,
  outcomeOf,
} from "./last-resort.ts";
import type { Compacting } from "./make-smaller.ts";
import { offloadFresh } from "./offload-fresh-results.ts";
import { addNote, tellOfPartial } from "./warn-model.ts";
import { type Timing, timingOf, waits } from "./when-to-compact.ts";
import { afreshDue } from "./when-to-recover.ts";

/** After a compaction that found nothing to remove, Plimsoll tries again only once the request has grown by this factor. */
const growthBeforeRetry = 1.03;

/** If the provider cut the last answer off for lack of room, the request is reduced to this share of its size. */
const afterCutOff = 0.7;

/**
 * The fit ladder. Plimsoll takes these steps in order and stops at the first one that is enough:
 * 1. Prepare: defer tools that take too much of the window, take the last valid view, and turn huge new results into references.
 * 2. If the first target is too full and another one has room, send the view there and remove nothing more.
 * 3. If no compaction is due, send the request as it is. Above the warning threshold, a note warns the model once. A compaction
 *    is due if the guard asks for one, if it saves money, if the last answer was cut off, if there is too much media, or if
 *    a fresh start is due.
 * 4. Make the request smaller (make-smaller.ts): a fresh start if one is due, else the chain of strategies (up to three levels).
 * 5. If the request still does not fit, turn the largest unseen results into references and run the chain again.
 * 6. If even the lowest likely count does not fit, recover as `recovery_mode` says. The default is a fresh start.
 * 7. Last resort (last-resort.ts): if the window may have room for the request and a short answer, send the request. If the
 *    window may have room for the request alone, send it as the final turn. Otherwise refuse it.
 * Each step has a fixed number of attempts, so the ladder always ends: with a request to send, or with a refusal.
 * Invariant: a request never contains a new edit that is not stored. If the store fails, Plimsoll sends the old view.
 */
export async function fitTurn(world: FitWorld, draft: Draft): Promise<Fitted> {
  await deferTools(world, draft);
  const fresh = await offloadFresh(world, draft, await lastValidView(world, draft));
  const start = await tellOfPartial(world, draft, fresh);
  const guard = guardOf(world, draft);
  const before = assessView(world, draft, start, guard);
  debugGuard(world.debug, draft, { ...before, guard });
  tellRaisedBudget(draft, guard, before);
  const { verdict } = before;
  if (verdict.kind === "skip")
    return toOtherTarget(draft, start, verdict.target, { guard, before });
  remember(draft.branch, { kind: "fitting" });
  const compaction = compactionDueAnyway(world, draft, start);
  if (compaction !== undefined && mayCompact(world, compaction.why))
    return compactTurn(world, draft, start, { guard, before, ...compaction });
  if (!mayCompact(world)) return leaveWhole(world, draft, start, { guard, before });
  const timing = isStuck(draft, guard, before)
    ? waits
    : timingOf(world, draft, start, { guard, before });
  if (timing.kind === "wait") return settle(world, draft, start, { guard, before });
  const most = mostOf(timing);
  return compactTurn(world, draft, start, { guard, before, isOverMedia: false, timing, ...most });
}

/** Whether Plimsoll may compact now. With `compaction: by_hand`, it does so only after a milestone that the caller reported. */
export function mayCompact(
  { config }: Pick<FitWorld, "config">,
  why?: Compacting["why"] | undefined,
): boolean {
  return config.agent?.compaction !== "by_hand" || why === "milestone";
}

/** With `compaction: by_hand`, people and the model are warned also from the share of the limit at which others are compacted. */
async function leaveWhole(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  { guard, before }: Pick<Compacting, "guard" | "before">,
): Promise<Fitted> {
  const { verdict, projection } = before;
  const left = verdict.kind === "compact" ? assessAfter({ ...guard, projection }) : verdict;
  return left.kind === "fits"
    ? settle(world, draft, start, { guard, before: { ...before, verdict: left } })
    : lastResort(world, draft, start, { guard, before, isOurs: false });
}

/**
 * Tells people if a budget is too small for system prompt and tools. Not in the first turn, because until the provider has
 * reported usage, the size of the tools is a rough guess.
 */
function tellRaisedBudget(draft: Draft, { own, targets }: Guard, before: AssessedView): void {
  const { projection, limit } = before;
  const budget = budgetTooSmall(targets[0], own, projection);
  if (budget === undefined || draft.branch.memory.turns === 0) return;
  reportRaisedBudget(draft, draft.branch, { budget, limit, preambleTokens: projection.preamble });
}

/** The request for another target that has room. Used if the first target is too full. Nothing is removed. */
function toOtherTarget(
  draft: Draft,
  start: Sized,
  name: string,
  { guard, before }: Pick<Compacting, "guard" | "before">,
): Fitted {
  const target = draft.targets.find(({ key }) => key === name) ?? draft.targets[0];
  const limit = effectiveLimit(asGuarded(target), guard.own, before.projection);
  const windowLimit = windowLimitOf(asGuarded(target), limit, before.projection);
  const there = { ...before, limit, windowLimit, isBesideHead: false };
  return fitted(draft, { ...there, sized: start, target, outcome: "edited" });
}

/**
 * Finds a compaction that is due regardless of how full the window is: the provider cut the last answer off for lack of room,
 * there are too many images and documents, or a fresh start is due. Returns undefined if none of these applies.
 */
function compactionDueAnyway(
  { now }: Pick<FitWorld, "now">,
  draft: Draft,
  start: Sized,
): Pick<Compacting, "isOverMedia" | "why" | "mostTokens"> | undefined {
  const { branch, log } = draft;
  const isOverMedia = hasTooMuchMedia(draft, start);
  const isCutOff = branch.memory.mustCompact === true;
  const afresh = afreshDue(log, branch, now());
  if (isCutOff) {
    const mostTokens = Math.floor(start.measured.total * afterCutOff);
    return { isOverMedia, why: "no room", mostTokens };
  }
  if (afresh !== undefined) return { isOverMedia, why: afresh.why };
  return isOverMedia ? { isOverMedia } : undefined;
}

/** Whether a compaction would change nothing, or too little to be worth repeating every turn. */
function isStuck(draft: Draft, guard: Guard, before: AssessedView): boolean {
  return isLetGo(guard, before) || isExhausted(draft, before) || isWaiting(draft, guard, before);
}

function mostOf({ mostTokens }: Extract<Timing, { readonly kind: "compact" }>) {
  return mostTokens === undefined ? {} : { mostTokens };
}

/** Everything needed to measure and validate a view and to tell whether it fits. */
type ViewWorld = ProposalWorld & CalibrationWorld & Pick<FitWorld, "config">;

/** The request exactly as the client sent it, regardless of its size. */
export async function untouched(world: ViewWorld, draft: Draft): Promise<Fitted> {
  const sized = await sizeView(world.facts, draft, wholeView);
  const before = assessView(world, draft, sized, guardOf(world, draft));
  return fitted(draft, { ...before, sized, target: draft.targets[0], outcome: "passthrough" });
}

/**
 * First step of the ladder: the view that was sent last time, plus the new messages. After an undo, or on another branch, the
 * view may differ from the one sent last time.
 */
export async function lastValidView(world: ViewWorld, draft: Draft): Promise<Sized> {
  const { log, branch, path } = draft;
  const view = viewOf(log, branch, path);
  if (view === wholeView) return sizeView(world.facts, draft, view);
  const sized = await sizeView(world.facts, draft, view);
  const isKnown = isKnownView(branch.memory, view);
  remember(branch, { kind: "view", view: markOf(view) });
  if (!isCheckDue(branch.memory)) return sized;
  const validity = await (isKnown ? validateAgain : validateView)(world, draft, sized);
  if (validity.kind !== "invalid") return sized;
  // This note makes Plimsoll validate the view again on the next turn, even if this turn fails.
  remember(branch, { kind: "view-invalid" });
  const whole = await sizeView(world.facts, draft, lookupsOnly(view));
  const { verdict } = assessView(world, draft, whole, guardOf(world, draft));
  if (verdict.kind !== "fits") {
    // This view is kept because it was valid before and nothing else would fit. Another compaction may repair it.
    reportDegraded(draft, "view", `the view is no longer valid: ${validity.reason}`);
    remember(branch, { kind: "must-compact" });
    return sized;
  }
  reportDegraded(draft, "original", `the view is not valid: ${validity.reason}`);
  return whole;
}

/**
 * The original messages plus the model's lookups. Lookups stay because they are part of the conversation, not a decision of
 * Plimsoll.
 */
function lookupsOnly({ edits, expansions, contractions }: View): View {
  const lookups = edits.filter(({ action }) => action.kind === "expand");
  return { ...wholeView, edits: lookups, expansions, contractions };
}

/** New messages from the client may make a valid view invalid, so Plimsoll validates the view again after 1, 2, 4, 8 … turns. */
function isCheckDue({ checked }: BranchMemory): boolean {
  const turns = checked?.turns ?? 0;
  return turns === 0 || Number.isInteger(Math.log2(turns));
}

function isKnownView({ checked }: BranchMemory, view: View): boolean {
  return checked !== undefined && isSameMark(checked.view, markOf(view));
}

/** Whether the head alone exceeds the limit by Plimsoll's count, but the window may still have room for the request. */
function isLetGo(guard: Guard, { verdict, projection }: AssessedView): boolean {
  return verdict.kind === "head" && assessAfter({ ...guard, projection }).kind === "fits";
}

/**
 * If the head alone exceeds a budget, no compaction can meet that budget. Plimsoll then compacts for the budget only once in this
 * many turns.
 */
const turnsForBudget = 5;

function isWaiting(
  { branch }: Draft,
  { own, targets, limit: budget }: Guard,
  { verdict, projection, limit }: AssessedView,
): boolean {
  const { turns = turnsForBudget } = branch.memory.compacted ?? {};
  if (verdict.kind !== "compact" || turns >= turnsForBudget) return false;
  const hasBudget = budgetOf(targets[0].limit, own) !== undefined;
  const ofWindow = effectiveLimit(targets[0], {}, projection);
  return hasBudget && limit > budget && projection.tokens < ofWindow;
}

/** Whether the last compaction found nothing to remove and the request has hardly grown since then. */
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

/** Share of the warning threshold from which a model writes its summary, if compaction begins at that threshold. */
const nearLimit = 0.75;

/** With a limit of its own, an agent's compaction begins where others are warned. So the model is asked earlier. */
function isNearLimit({ own, thresholds }: Guard, verdict: AssessedView["verdict"]): boolean {
  return (
    own.agentLimit !== undefined &&
    verdict.kind === "fits" &&
    verdict.filled >= thresholds.warn * nearLimit
  );
}

/**
 * Called if the request is sent as it is. If it is above the warning threshold, Plimsoll warns people and the model, once each
 * time that the threshold is crossed.
 */
async function settle(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  { guard, before }: { readonly guard: Guard; readonly before: AssessedView },
): Promise<Fitted> {
  const { verdict } = before;
  const isWarning = verdict.kind === "fits" && verdict.isWarning;
  const [target] = draft.targets;
  const plain = { ...before, sized: start, target, outcome: outcomeOf(start) };
  const due = isWarning || isNearLimit(guard, verdict) ? { summaryDue: start } : {};
  if (!isWarning || isWarned(draft, start) || isException(draft, start, before))
    return { ...fitted(draft, plain), ...due };
  remember(draft.branch, { kind: "warned", edits: countOfEdits(start.view) });
  reportWarning(draft, verdict.filled, before.limit);
  const isRoomy = (sized: Sized): boolean =>
    projectionWith(before.projection, addedTokens(before, start, sized)).tokens <= before.limit;
  const noted = wantsNote(world, draft)
    ? await addNote(world, draft, start, { filled: verdict.filled, isRoomy })
    : undefined;
  if (noted === undefined) return { ...fitted(draft, plain), ...due };
  const after = assessView(world, draft, noted, guard);
  return { ...fitted(draft, { ...after, sized: noted, target, outcome: "edited" }), ...due };
}

/**
 * Whether the warning waits for the next request: this one must contain all tools, so that its size says nothing about later
 * ones; or no note may follow its last message; or it is the final turn, which has an instruction of its own.
 */
function isException(draft: Draft, start: Sized, { projection }: AssessedView): boolean {
  const [target] = draft.targets;
  return (
    (start.view.tools !== undefined && offerIn(draft) === undefined) ||
    isBegun(draft) ||
    draft.request.isLast?.({ target, projection }) === true
  );
}

/** Whether the model is warned too. The provider would keep a note in a history of its own, where nobody can take it out. */
function wantsNote({ config }: Pick<FitWorld, "config">, { request }: Draft): boolean {
  return request.hasServerSideHistory !== true && config.agent?.warning_note !== false;
}

/** Whether people and the model were warned since content was last removed. */
function isWarned({ branch }: Draft, { view }: Sized): boolean {
  const last = view.edits.findLast(
    ({ action, strategy }) => takesOut.has(action.kind) && strategy !== deferral,
  );
  return last?.action.kind === "insert" || branch.memory.warnedEdits === countOfEdits(view);
}

const takesOut: ReadonlySet<string> = new Set(["replace", "remove", "fold", "insert"]);

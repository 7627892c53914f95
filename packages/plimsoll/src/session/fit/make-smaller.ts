/**
 * How a turn becomes smaller: by a fresh start, if one is due; else by the chain, one level deeper where it would only come
 * again; then without results that the model has not seen yet; then by recovery. Where only an estimate says that a request is
 * too large, Plimsoll goes no further than the chain.
 */

import { assessAfter } from "../../budget/guard.ts";
import { answerTokensMin } from "../../budget/output-room.ts";
import {
  inOwnTokens,
  inProviderTokens,
  scaleBetween,
  type TokenScale,
} from "../../budget/token-scale.ts";
import { freshStart } from "../../compact/strategies/fresh-start.ts";
import { truncateKeeping } from "../../compact/strategies/truncate.ts";
import type { Outcome } from "../../message/event.ts";
import type { Goal, Strategy } from "../../message/strategy.ts";
import type { Draft, Sized } from "../draft/draft.ts";
import {
  type AssessedView,
  assessView,
  type CalibrationWorld,
  type Guard,
} from "../draft/projection.ts";
import { rememberInSession } from "../log/log.ts";
import { byComponent } from "../measure/calibrations.ts";
import type { Target } from "../measure/target.ts";
import type { Compaction, CompactionWorld, ProgressScale } from "./compaction.ts";
import type { FitWorld } from "./last-resort.ts";
import { offloadLast } from "./offload-fresh-results.ts";
import { compact } from "./run-strategies.ts";
import { type Timing, usualGoal } from "./when-to-compact.ts";
import { mustRecover } from "./when-to-recover.ts";

/** A compaction may stop a little above its goal. */
const shallowest = 0.86;
/** One that frees less than this, or comes this soon after another, goes a level deeper instead of coming again. */
const thrash = { freedShare: 0.1, turns: 3 };
const deeper = 0.7;
/** No more results are hidden than makes room for an answer of some length. */
const answerRoom = 2 * answerTokensMin;
/** Deeper than this there is only a fresh start. */
const deepestLevel = 2;

export interface Compacting {
  readonly guard: Guard;
  readonly before: AssessedView;
  readonly isOverMedia: boolean;
  /** Why now. */
  readonly timing?: Extract<Timing, { readonly kind: "compact" }>;
  /** At most so much, before correction. */
  readonly mostTokens?: number;
  /** The provider has refused what is larger. */
  readonly isRefused?: boolean;
  readonly mostBytes?: number;
}

export interface Tried {
  readonly compaction: Compaction;
  readonly outcome: Extract<Outcome, "compacted" | "recovered">;
  readonly level: number;
  /** Why the conversation started afresh, if it did. */
  readonly reason?: string;
  /** What it began with, where results left before it did. */
  readonly start?: Sized;
}

/** The smallest loss that suffices. Without edits: nothing can be taken out. */
export async function makeSmaller(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  compacting: Compacting,
): Promise<Tried> {
  const reason = whyAfresh(world, draft);
  if (reason !== undefined) {
    const afresh = await startAfresh(world, draft, start, { compacting, reason });
    const hasEdits = afresh.compaction.edits.length > 0;
    if (hasEdits && isThere(world, draft, afresh, compacting)) return afresh;
  }
  const byChain = await tryChain(world, draft, start, compacting);
  const tried = await orWithoutFresh(world, draft, start, { tried: byChain, compacting });
  return orRecovery(world, draft, tried.start ?? start, { tried, compacting });
}

/** Why this turn starts afresh; undefined when it does not. Overflows from here on are new ones. */
function whyAfresh(
  { now }: Pick<FitWorld, "now">,
  { log, branch }: Pick<Draft, "log" | "branch">,
): string | undefined {
  const reason = mustRecover(log, branch, now());
  if (reason !== undefined) rememberInSession(log, { kind: "fresh-start" });
  return reason;
}

/** One level deeper than the last time, if that was not long ago; and again, if it frees next to nothing. */
async function tryChain(
  world: CompactionWorld & CalibrationWorld & Pick<FitWorld, "strategies">,
  draft: Draft,
  start: Sized,
  compacting: Compacting,
): Promise<Tried> {
  const { compacted } = draft.branch.memory;
  const isSoon = compacted !== undefined && compacted.turns <= thrash.turns;
  // Nothing is truncated for money's sake.
  const strategies = world.strategies.filter(
    ({ isLastResort }) => !(isLastResort && compacting.timing?.isVoluntary === true),
  );
  let level = isSoon ? Math.min(deepestLevel, compacted.level + 1) : 0;
  for (;;) {
    const goal = goalOf(draft, start, compacting, level);
    const progressScale = progressScaleOf(start, compacting);
    const compaction = await compact(world, { draft, start, strategies, goal, progressScale });
    const rest = start.measured.total - headOf(start, compacting.before);
    const freed = (start.measured.total - compaction.sized.measured.total) / Math.max(1, rest);
    const tried: Tried = { compaction, outcome: "compacted", level };
    const isEnough =
      compacting.isOverMedia ||
      (freed >= thrash.freedShare && isThere(world, draft, tried, compacting));
    if (isEnough || compaction.edits.length === 0 || level >= deepestLevel) return tried;
    level++;
  }
}

/** Where the chain did not make the request fit: without the largest results that the model has not seen, and by the chain again. */
async function orWithoutFresh(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  { tried, compacting }: { readonly tried: Tried; readonly compacting: Compacting },
): Promise<Tried> {
  if (!isOver(world, draft, tried, compacting) && !isLikelyOver(world, draft, tried, compacting))
    return tried;
  const { guard, mostTokens = Number.POSITIVE_INFINITY } = compacting;
  const { sized } = tried.compaction;
  const { projection } = assessView(world, draft, sized, guard);
  const scale = scaleBetween(sized.measured.total, projection.tokens);
  const { named, reserve } = draft.targets[0].limit;
  const most = Math.min(named - Math.min(reserve, answerRoom), inProviderTokens(mostTokens, scale));
  const smaller = await offloadLast(world, draft, start, projection.tokens - most);
  if (smaller === start) return tried;
  const before = assessView(world, draft, smaller, guard);
  return { ...(await tryChain(world, draft, smaller, { ...compacting, before })), start: smaller };
}

/** Where the chain is exhausted, and what it left does not fit: afresh, if that makes the request smaller. */
async function orRecovery(
  world: AfreshWorld & CalibrationWorld & Pick<FitWorld, "now">,
  draft: Draft,
  start: Sized,
  { tried, compacting }: { readonly tried: Tried; readonly compacting: Compacting },
): Promise<Tried> {
  if (!isOver(world, draft, tried, compacting)) return tried;
  rememberInSession(draft.log, { kind: "overflowed", at: world.now() });
  const reason = "The strategies could not make it fit.";
  const afresh = await startAfresh(world, draft, start, { compacting, reason });
  const { compaction } = afresh;
  const isBetter =
    compaction.edits.length > 0 &&
    compaction.sized.measured.total < tried.compaction.sized.measured.total;
  if (!isBetter) return tried;
  const failures = [...tried.compaction.failures, ...compaction.failures];
  return { ...afresh, compaction: { ...compaction, failures } };
}

/** As far as anybody can tell, the request fits. */
function isThere(
  world: CalibrationWorld,
  draft: Draft,
  { compaction }: Tried,
  { guard }: Compacting,
): boolean {
  const { projection, limit } = assessView(world, draft, compaction.sized, guard);
  return projection.tokens <= limit;
}

/** The request is known not to fit. */
function isOver(
  world: CalibrationWorld,
  draft: Draft,
  { compaction: { sized } }: Tried,
  { guard, mostTokens, isRefused }: Compacting,
): boolean {
  if (isRefused === true && sized.measured.total > (mostTokens ?? 0)) return true;
  const { projection } = assessView(world, draft, sized, guard);
  return assessAfter({ ...guard, projection }).kind !== "fits";
}

/** By Plimsoll's best estimate it does not, and that is a good one: the provider has reported how it counts. */
function isLikelyOver(
  world: CalibrationWorld,
  draft: Draft,
  { compaction: { sized } }: Tried,
  { guard }: Compacting,
): boolean {
  if (!world.calibrations.isReported(draft.log, draft.targets[0])) return false;
  const { projection } = assessView(world, draft, sized, guard);
  const { tokens, head } = projection;
  const doubt = isReportedOf(draft, sized) ? 1 : unreported;
  const least = Math.min(tokens, Math.floor(head + (tokens - head) / doubt));
  return assessAfter({ ...guard, projection: { ...projection, least } }).kind !== "fits";
}

/** A report of little more than a head says nothing of a result. */
function isReportedOf({ branch, targets }: Draft, { measured }: Sized): boolean {
  const { basis } = branch.memory;
  if (basis === undefined || basis.target !== targets[0].key) return false;
  return basis.estimated.conversation >= byComponent(measured).conversation * reportedShare;
}

const reportedShare = 0.25;
/** A conversation of which the provider has reported nothing may be so far below Plimsoll's estimate. */
const unreported = 1.5;

type AfreshWorld = CompactionWorld & Pick<FitWorld, "config" | "count">;

/** One handover in place of everything before it, or what `recovery_mode` says instead. */
async function startAfresh(
  world: AfreshWorld,
  draft: Draft,
  start: Sized,
  { compacting, reason }: { readonly compacting: Compacting; readonly reason: string },
): Promise<Tried> {
  const goal = { ...goalOf(draft, start, compacting, 0), tokens: 0, floorTokens: 0 };
  const progressScale = progressScaleOf(start, compacting);
  const { tokens } = compacting.before.projection;
  await world.watch?.(draft, { phase: "recovery", tokens, limit: progressScale.limit });
  const strategies = recoveryStrategies(world, reason, draft.branch.memory.task);
  const compaction = await compact(world, { draft, start, strategies, goal, progressScale });
  return { compaction, outcome: "recovered", level: 0, reason };
}

/** As `recovery_mode` says. With "error" there are none: then the guard says what becomes of the request. */
export function recoveryStrategies(
  { config, count }: Pick<FitWorld, "config" | "count">,
  reason: string,
  task: string | undefined,
): readonly Strategy[] {
  switch (config.context_config?.recovery_mode ?? "fresh_start") {
    case "fresh_start":
      return [freshStart({ reason, ...(task === undefined ? {} : { task }) }, count)];
    case "truncate":
      return [truncateKeeping("none")];
    case "error":
      return [];
  }
}

function scaleOf({ measured }: Sized, { projection }: AssessedView): TokenScale {
  return scaleBetween(measured.total, projection.tokens);
}

/** What no compaction takes out, in Plimsoll's own tokens. */
function headOf(start: Sized, before: AssessedView): number {
  return inOwnTokens(before.projection.head, scaleOf(start, before));
}

/** For whoever watches: figures in the provider's tokens. */
export function progressScaleOf(start: Sized, { before }: Compacting): ProgressScale {
  return { limit: before.limit, scale: scaleOf(start, before) };
}

/** In Plimsoll's own tokens: the guard counts as the provider does. */
function goalOf(
  { targets: [target] }: Pick<Draft, "targets">,
  start: Sized,
  compacting: Compacting,
  level: number,
): Goal {
  const { before, mostTokens = Number.POSITIVE_INFINITY } = compacting;
  const limit = Math.floor(inOwnTokens(before.limit, scaleOf(start, before)));
  const head = headOf(start, before);
  const usual = Math.min(mostTokens, usualGoal(limit, head));
  const rest = Math.max(0, usual - head) * deeper ** level;
  const tokens = Math.floor(usual < head ? usual : head + rest);
  return {
    limitTokens: Math.min(limit, mostTokens),
    tokens,
    floorTokens: Math.floor(tokens * shallowest),
    ...mediaGoal(target, compacting),
  };
}

/** Only where images and documents, or the bytes of the request, are too much. */
function mediaGoal({ media }: Target, { isOverMedia, mostBytes }: Compacting): Pick<Goal, "media"> {
  if (mostBytes !== undefined) return { media: { ...media, maxBytes: mostBytes } };
  return isOverMedia ? { media } : {};
}

/**
 * Makes a turn smaller. If a fresh start is due, Plimsoll tries that first. Otherwise it runs the chain of strategies. If the
 * chain frees too little, Plimsoll runs it again, one level deeper. If the request still does not fit, Plimsoll hides results
 * that the model has not seen, and then recovers. If only a rough estimate says that the request is too large, Plimsoll stops
 * after the chain.
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
import { rememberInSession, taskOf } from "../log/log.ts";
import { recordError } from "../log/report.ts";
import { byComponent } from "../measure/calibrations.ts";
import type { Target } from "../measure/target.ts";
import type { Compaction, CompactionWorld, ProgressScale } from "./compaction.ts";
import type { FitWorld } from "./last-resort.ts";
import { offloadLast } from "./offload-fresh-results.ts";
import { compact, priorityIn } from "./run-strategies.ts";
import { type Timing, usualGoal } from "./when-to-compact.ts";
import { type Afresh, type AfreshWhy, afreshDue } from "./when-to-recover.ts";

/** A compaction should not reduce the request below this share of the goal. It may stop a little above the goal instead. */
const shallowest = 0.86;
/**
 * If a compaction frees less than this share of everything except the head, or follows another within this many turns, Plimsoll
 * goes one level deeper.
 */
const thrash = { freedShare: 0.1, turns: 3 };
const deeper = 0.7;
/** When Plimsoll hides results, it hides only enough to make room for an answer of this many tokens. */
const answerRoom = 2 * answerTokensMin;
/** The coherence that a view should have if its agent has a limit of its own: such limits are for small models. */
const usualCoherence = 0.85;
/** The deepest level of the chain. After this level, only a fresh start is left to try. */
const deepestLevel = 2;

export interface Compacting {
  readonly guard: Guard;
  readonly before: AssessedView;
  readonly isOverMedia: boolean;
  /**
   * Why the request must be smaller, whatever the guard says. too long: the provider refused it. no room: the provider had no room
   * left in the last turn. asked: the model called `compact_context`. Otherwise, a fresh start is due.
   */
  readonly why?: "too long" | "no room" | "asked" | AfreshWhy;
  /** The reason for compacting now. */
  readonly timing?: Extract<Timing, { readonly kind: "compact" }>;
  /** Maximum size after the compaction, in tokens before calibration. */
  readonly mostTokens?: number;
  /** Whether the provider has refused a request that was larger than `mostTokens`. */
  readonly isRefused?: boolean;
  readonly mostBytes?: number;
}

export interface Tried {
  readonly compaction: Compaction;
  readonly outcome: Extract<Outcome, "compacted" | "recovered">;
  readonly level: number;
  /** Reason for the fresh start, if there was one. */
  readonly afresh?: Afresh;
  /** The view that the compaction started from, if results were hidden first. */
  readonly start?: Sized;
}

/** Makes a turn smaller, and removes as little as possible. If the result has no edits, nothing could be removed. */
export async function makeSmaller(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  compacting: Compacting,
): Promise<Tried> {
  const afresh = whyAfresh(world, draft);
  if (afresh !== undefined) {
    const started = await startAfresh(world, draft, start, { compacting, afresh });
    const hasEdits = started.compaction.edits.length > 0;
    if (hasEdits && isThere(world, draft, started, compacting)) return started;
  }
  const byChain = await tryChain(world, draft, start, compacting);
  const tried = await orWithoutFresh(world, draft, start, { tried: byChain, compacting });
  return orRecovery(world, draft, tried.start ?? start, { tried, compacting });
}

/**
 * The reason why this turn starts afresh, or undefined if it does not. If it does, the count of overflows starts from zero again.
 */
function whyAfresh(
  { now }: Pick<FitWorld, "now">,
  { log, branch }: Pick<Draft, "log" | "branch">,
): Afresh | undefined {
  const due = afreshDue(log, branch, now());
  if (due !== undefined) rememberInSession(log, { kind: "fresh-start" });
  return due;
}

/**
 * Runs the chain of strategies. Starts one level deeper than the last compaction if that was recent, and goes deeper while the
 * chain frees too little or the request does not fit.
 */
async function tryChain(
  world: CompactionWorld & CalibrationWorld & Pick<FitWorld, "strategies">,
  draft: Draft,
  start: Sized,
  compacting: Compacting,
): Promise<Tried> {
  const { compacted } = draft.branch.memory;
  const isSoon = compacted !== undefined && compacted.turns <= thrash.turns;
  // Plimsoll never truncates just to save money.
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

/** If the request does not fit after the chain, hides the largest results that are new to the model, and runs the chain again. */
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

/** If the request still does not fit after the chain, starts afresh, provided that this makes the request smaller. */
async function orRecovery(
  world: AfreshWorld & CalibrationWorld & Pick<FitWorld, "now">,
  draft: Draft,
  start: Sized,
  { tried, compacting }: { readonly tried: Tried; readonly compacting: Compacting },
): Promise<Tried> {
  if (hasWorked(world, draft, tried, compacting)) return tried;
  rememberInSession(draft.log, { kind: "overflowed", at: world.now() });
  reportBreaker(world, draft, tried, compacting);
  const afresh: Afresh = { why: "exhausted", reason: "The strategies could not make it fit." };
  const started = await startAfresh(world, draft, start, { compacting, afresh });
  const { compaction } = started;
  const isBetter =
    compaction.edits.length > 0 &&
    compaction.sized.measured.total < tried.compaction.sized.measured.total;
  if (!isBetter) return tried;
  const failures = [...tried.compaction.failures, ...compaction.failures];
  return { ...started, compaction: { ...compaction, failures } };
}

/**
 * Whether no recovery is needed. Usually it is not as long as the window may hold the request. If the configuration wants no
 * truncation after its chain, the chain has failed as soon as the request is over its limit.
 */
function hasWorked(
  world: AfreshWorld & CalibrationWorld,
  draft: Draft,
  tried: Tried,
  compacting: Compacting,
): boolean {
  const { truncate } = world.config.context_config?.breaking_strategy ?? {};
  return truncate?.last_resort === false
    ? isThere(world, draft, tried, compacting)
    : !isOver(world, draft, tried, compacting);
}

/** Called once for each chain that failed, whatever `recovery_mode` does afterwards. */
function reportBreaker(
  world: CalibrationWorld,
  draft: Draft,
  { compaction: { sized, strategies } }: Tried,
  { guard }: Compacting,
): void {
  const { projection, limit } = assessView(world, draft, sized, guard);
  const { tokens } = projection;
  const names = strategies.length === 0 ? "none" : [...new Set(strategies)].join(", ");
  const message = "No strategy could make the request fit.";
  recordError(draft, "BREAKER_FAILED", message, { tokens, limit, strategies: names });
}

/** Whether the request fits by Plimsoll's best estimate. */
function isThere(
  world: CalibrationWorld,
  draft: Draft,
  { compaction }: Tried,
  { guard }: Compacting,
): boolean {
  const { projection, limit } = assessView(world, draft, compaction.sized, guard);
  return projection.tokens <= limit;
}

/** Whether the request certainly does not fit. */
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

/**
 * Whether the request probably does not fit. Always false before the provider's first report, because estimates are rough until
 * then.
 */
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

/**
 * Whether the provider has counted at least a quarter of this conversation. If it has counted little more than the head, that
 * count says nothing about a large result.
 */
function isReportedOf({ branch, targets }: Draft, { measured }: Sized): boolean {
  const { basis } = branch.memory;
  if (basis === undefined || basis.target !== targets[0].key) return false;
  return basis.estimated.conversation >= byComponent(measured).conversation * reportedShare;
}

const reportedShare = 0.25;
/**
 * If the provider has reported nothing about a conversation, the true count may be lower than Plimsoll's estimate by this factor.
 */
const unreported = 1.5;

type AfreshWorld = CompactionWorld & Pick<FitWorld, "config" | "count">;

/** Replaces the conversation so far with one handover, or does what `recovery_mode` says instead. */
async function startAfresh(
  world: AfreshWorld,
  draft: Draft,
  start: Sized,
  { compacting, afresh }: { readonly compacting: Compacting; readonly afresh: Afresh },
): Promise<Tried> {
  const goal = { ...goalOf(draft, start, compacting, 0), tokens: 0, floorTokens: 0 };
  const progressScale = progressScaleOf(start, compacting);
  const { tokens } = compacting.before.projection;
  const { limit } = progressScale;
  const priority = await priorityIn(world, draft, start);
  await world.watch?.(draft, { phase: "recovery", tokens, limit, ...priority });
  const strategies = recoveryStrategies(world, afresh.reason, taskOf(draft));
  const compaction = await compact(world, { draft, start, strategies, goal, progressScale });
  return { compaction, outcome: "recovered", level: 0, afresh };
}

/** The strategies for `recovery_mode`. For "error" there are none, so the guard decides what happens to the request. */
export function recoveryStrategies(
  { config, count }: Pick<FitWorld, "config" | "count">,
  reason: string,
  task: string | undefined,
): readonly Strategy[] {
  const { texts } = config;
  switch (config.context_config?.recovery_mode ?? "fresh_start") {
    case "fresh_start":
      return [freshStart({ reason, texts, ...(task === undefined ? {} : { task }) }, count)];
    case "truncate":
      return [truncateKeeping("none", texts)];
    case "error":
      return [];
  }
}

function scaleOf({ measured }: Sized, { projection }: AssessedView): TokenScale {
  return scaleBetween(measured.total, projection.tokens);
}

/** Size of the fixed part, which no compaction removes, in Plimsoll's tokens. */
function headOf(start: Sized, before: AssessedView): number {
  return inOwnTokens(before.projection.head, scaleOf(start, before));
}

/** The limit and the token scale for progress events, whose figures are in the provider's tokens. */
export function progressScaleOf(start: Sized, { before }: Compacting): ProgressScale {
  return { limit: before.limit, scale: scaleOf(start, before) };
}

/** The goal of a compaction, in Plimsoll's tokens. The guard works in the provider's tokens. */
function goalOf(
  { targets: [target] }: Pick<Draft, "targets">,
  start: Sized,
  compacting: Compacting,
  level: number,
): Goal {
  const { guard, before, mostTokens = Number.POSITIVE_INFINITY } = compacting;
  const limit = Math.floor(inOwnTokens(before.limit, scaleOf(start, before)));
  const head = headOf(start, before);
  const usual = Math.min(mostTokens, usualGoal(limit, head));
  const rest = Math.max(0, usual - head) * deeper ** level;
  const tokens = Math.floor(usual < head ? usual : head + rest);
  return {
    limitTokens: Math.min(limit, mostTokens),
    tokens,
    floorTokens: Math.floor(tokens * shallowest),
    ...(guard.own.agentLimit === undefined ? {} : { coherence: usualCoherence }),
    ...mediaGoal(target, compacting),
  };
}

/** The goal for media. Absent unless there are too many images and documents or the request has too many bytes. */
function mediaGoal({ media }: Target, { isOverMedia, mostBytes }: Compacting): Pick<Goal, "media"> {
  if (mostBytes !== undefined) return { media: { ...media, maxBytes: mostBytes } };
  return isOverMedia ? { media } : {};
}

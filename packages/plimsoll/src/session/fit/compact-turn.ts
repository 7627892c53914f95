/**
 * A turn that must become smaller: the chain, one level deeper where it would only come again; then results that the model has
 * not seen yet; then recovery. What only an estimate says is too much goes no further than the chain.
 */

import { judgeAfter, type Verdict } from "../../budget/guard.ts";
import { answerTokensMin } from "../../budget/output-room.ts";
import { freshStart } from "../../compact/strategies/fresh-start.ts";
import { truncateKeeping } from "../../compact/strategies/truncate.ts";
import type { Outcome } from "../../message/event.ts";
import type { Goal, Strategy } from "../../message/strategy.ts";
import type { Draft, Sized } from "../draft/draft.ts";
import { type Guard, type JudgedView, judged } from "../draft/projection.ts";
import { announce } from "../log/append.ts";
import { remember, rememberInSession } from "../log/log.ts";
import { viewOf } from "../log/path.ts";
import { recordError, reportDegraded } from "../log/report.ts";
import { markOf } from "../log/view.ts";
import { byComponent } from "../measure/calibrations.ts";
import type { Compaction, Told } from "./compaction.ts";
import { toldAnew } from "./defer-tools.ts";
import { type Fitted, type FitWorld, fitted, lastResort } from "./last-resort.ts";
import { offloadLast } from "./offload-fresh-results.ts";
import { reportCompaction } from "./report-compaction.ts";
import { commitCompaction, compact } from "./run-strategies.ts";
import { owe, type Timing, usualGoal } from "./when-to-compact.ts";
import { mustRecover } from "./when-to-recover.ts";

/** It may stop a little earlier. */
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
  readonly before: JudgedView;
  readonly isOverMedia: boolean;
  /** Why now. */
  readonly timing?: Extract<Timing, { readonly kind: "compact" }>;
  /** At most so much, before correction. */
  readonly mostTokens?: number;
  /** The provider has refused what is larger. */
  readonly isRefused?: boolean;
  readonly mostBytes?: number;
}

/**
 * Contract: never rejects for what a strategy does; a conversation goes on whatever fails here. Rejects with CLOSED when the
 * product closes: nobody waits for it then.
 */
export async function compactTurn(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  compacting: Compacting,
): Promise<Fitted> {
  const { guard, before } = compacting;
  const { branch, log } = draft;
  const { limit, scale } = toldOf(start, compacting);
  await world.watch?.(draft, { phase: "detection", tokens: before.projection.tokens, limit });
  await draft.path.load();
  const startedAt = world.now();
  const wanted = mustRecover(log, branch, world.now());
  // A wish that cannot be met must not come again with every turn.
  remember(branch, { kind: "compacting" });
  if (wanted !== undefined) rememberInSession(log, { kind: "fresh-start" });
  const afresh =
    wanted === undefined
      ? undefined
      : await tryRecovery(world, draft, start, { compacting, reason: wanted });
  const isAfresh =
    afresh !== undefined &&
    afresh.compaction.edits.length > 0 &&
    isThere(world, draft, afresh, compacting);
  const tried = isAfresh
    ? afresh
    : await orWithoutFresh(world, draft, start, {
        tried: await tryChain(world, draft, start, compacting),
        compacting,
      });
  const from = tried.start ?? start;
  const done = await orRecovery(world, draft, from, { tried, compacting });
  const { outcome } = done;
  const compaction = await toldAnew(world, draft, done.compaction);
  for (const failure of [...new Set([...tried.compaction.failures, ...compaction.failures])])
    reportDegraded(draft, "truncation", failure);
  if (compaction.edits.length === 0) {
    remember(branch, { kind: "exhausted", tokens: before.projection.tokens });
    const isOurs = compaction.failures.length > 0;
    const left = from === start ? before : judged(world, draft, from, guard);
    return lastResort(world, draft, from, { before: left, guard, isOurs });
  }
  const after = judged(world, draft, compaction.sized, guard);
  const verdict = judgeAfter({ ...guard, projection: after.projection });
  // What will not be sent changes nothing; what is sent all the same must hold.
  if (verdict.kind === "refuse")
    return lastResort(world, draft, compaction.sized, { before: after, guard, isOurs: false });
  world.closing.throwIfAborted();
  const saved = await commitCompaction(world, draft, compaction);
  if (saved === "unsaved") {
    reportDegraded(draft, "view", "the store could not keep what would be cut");
    return lastResort(world, draft, start, { before, guard, isOurs: true });
  }
  const tokens = Math.round(compaction.sized.measured.total * scale);
  const phase = outcome === "recovered" ? "handover" : "success";
  await world.watch?.(draft, { phase, tokens, limit });
  const milliseconds = world.now() - startedAt;
  reportMade(world, draft, compaction, { compacting, start, milliseconds });
  if (outcome === "recovered")
    reportRecovery(draft, done.reason ?? "", {
      tokensBefore: Math.round(start.measured.total * scale),
      tokensAfter: tokens,
    });
  const view = markOf(viewOf(log, branch, draft.path));
  remember(branch, { kind: "compacted", level: done.level, view });
  branch.isSummarising = false;
  if (verdict.kind === "final")
    return lastResort(world, draft, compaction.sized, { before: after, guard, isOurs: false });
  return fitted(draft, { ...after, sized: compaction.sized, target: draft.targets[0], outcome });
}

interface Made {
  readonly compacting: Compacting;
  readonly start: Sized;
  readonly milliseconds: number;
}

function reportMade(
  world: FitWorld,
  draft: Draft,
  compaction: Compaction,
  { compacting, start, milliseconds }: Made,
): void {
  const { timing, isOverMedia, before } = compacting;
  const reason = isOverMedia ? "media" : (timing?.reason ?? reasonOf(before.verdict));
  const priced = timing?.worth === undefined ? {} : { worth: timing.worth };
  const { scale } = toldOf(start, compacting);
  reportCompaction(world, draft, compaction, { reason, start, milliseconds, scale, ...priced });
  if (timing?.isVoluntary !== true) return;
  const { projection } = judged(world, draft, compaction.sized, compacting.guard);
  owe(draft.branch, timing.priceOf?.(projection.tokens) ?? 0);
}

interface Tried {
  readonly compaction: Compaction;
  readonly outcome: Extract<Outcome, "compacted" | "recovered">;
  readonly level: number;
  readonly reason?: string;
  /** What it began with, where results left before it did. */
  readonly start?: Sized;
}

/** One level deeper than the last time, if that was not long ago; and again, if it frees next to nothing. */
async function tryChain(
  world: FitWorld,
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
    const told = toldOf(start, compacting);
    const compaction = await compact(world, { draft, start, strategies, goal, told });
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

/** Where a request does not fit after all that: without the largest results that the model has not seen. */
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
  const { projection } = judged(world, draft, sized, guard);
  const scale = projection.tokens / Math.max(1, sized.measured.total);
  const { named, reserve } = draft.targets[0].limit;
  const most = Math.min(named - Math.min(reserve, answerRoom), mostTokens * scale);
  const smaller = await offloadLast(world, draft, start, projection.tokens - most);
  if (smaller === start) return tried;
  const before = judged(world, draft, smaller, guard);
  return { ...(await tryChain(world, draft, smaller, { ...compacting, before })), start: smaller };
}

/** When the chain is exhausted, and what is left does not fit. */
async function orRecovery(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  { tried, compacting }: { readonly tried: Tried; readonly compacting: Compacting },
): Promise<Tried> {
  if (tried.outcome === "recovered" || !isOver(world, draft, tried, compacting)) return tried;
  rememberInSession(draft.log, { kind: "overflowed", at: world.now() });
  const reason = "The strategies could not make it fit.";
  const recovered = await tryRecovery(world, draft, start, { compacting, reason });
  const isBetter =
    recovered.compaction.edits.length > 0 &&
    recovered.compaction.sized.measured.total < tried.compaction.sized.measured.total;
  return isBetter ? recovered : tried;
}

/** As far as anybody can tell, it fits. */
function isThere(
  world: FitWorld,
  draft: Draft,
  { compaction }: Tried,
  { guard }: Compacting,
): boolean {
  const { projection, limit } = judged(world, draft, compaction.sized, guard);
  return projection.tokens <= limit;
}

/** It is known not to fit. */
function isOver(
  world: FitWorld,
  draft: Draft,
  { compaction: { sized } }: Tried,
  { guard, mostTokens, isRefused }: Compacting,
): boolean {
  if (isRefused === true && sized.measured.total > (mostTokens ?? 0)) return true;
  const { projection } = judged(world, draft, sized, guard);
  return judgeAfter({ ...guard, projection }).kind !== "fits";
}

/** By our best estimate it does not, and that is a good one: the provider has reported how it counts. */
function isLikelyOver(
  world: FitWorld,
  draft: Draft,
  { compaction: { sized } }: Tried,
  { guard }: Compacting,
): boolean {
  if (!world.calibrations.isReported(draft.log, draft.targets[0])) return false;
  const { projection } = judged(world, draft, sized, guard);
  const { tokens, head } = projection;
  const doubt = isReportedOf(draft, sized) ? 1 : unreported;
  const least = Math.min(tokens, Math.floor(head + (tokens - head) / doubt));
  return judgeAfter({ ...guard, projection: { ...projection, least } }).kind !== "fits";
}

/** A report of little more than a head says nothing of a result. */
function isReportedOf({ branch, targets }: Draft, { measured }: Sized): boolean {
  const { basis } = branch.memory;
  if (basis === undefined || basis.target !== targets[0].key) return false;
  return basis.estimated.conversation >= byComponent(measured).conversation * reportedShare;
}

const reportedShare = 0.25;
/** So far below our estimate a conversation may be of which nothing was reported. */
const unreported = 1.5;

async function tryRecovery(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  { compacting, reason }: { readonly compacting: Compacting; readonly reason: string },
): Promise<Tried> {
  const goal = { ...goalOf(draft, start, compacting, 0), tokens: 0, floorTokens: 0 };
  const told = toldOf(start, compacting);
  const { tokens } = compacting.before.projection;
  await world.watch?.(draft, { phase: "recovery", tokens, limit: told.limit });
  const strategies = recoveryStrategies(world, reason, draft.branch.memory.task);
  const compaction = await compact(world, { draft, start, strategies, goal, told });
  return { compaction, outcome: "recovered", level: 0, reason };
}

/** As `recovery_mode` says; an error is what the guard answers when nothing is done. */
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

function reportRecovery(
  draft: Draft,
  reason: string,
  sizes: { readonly tokensBefore: number; readonly tokensAfter: number },
): void {
  const { log, turn } = draft;
  announce(log, {
    type: "recovery",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    reason,
    ...sizes,
  });
  recordError(draft, "RECOVERY_TRIGGERED", reason);
}

function reasonOf(verdict: Verdict): string {
  return verdict.kind === "compact" && verdict.isForced ? "forced" : verdict.kind;
}

/** Of our own tokens to those of the provider. */
function scaleOf({ measured }: Sized, { projection }: JudgedView): number {
  return measured.total / Math.max(1, projection.tokens);
}

/** What no compaction takes out, in our own tokens. */
function headOf(start: Sized, before: JudgedView): number {
  return before.projection.head * scaleOf(start, before);
}

function toldOf(start: Sized, { before }: Compacting): Told {
  return { limit: before.limit, scale: 1 / scaleOf(start, before) };
}

/** In our own tokens: the guard counts as the provider does. */
function goalOf(
  { targets: [target] }: Draft,
  start: Sized,
  compacting: Compacting,
  level: number,
): Goal {
  const { before, isOverMedia, mostTokens, mostBytes } = compacting;
  const media = mostBytes === undefined ? target.media : { ...target.media, maxBytes: mostBytes };
  const scale = scaleOf(start, before);
  const most = mostTokens ?? Number.POSITIVE_INFINITY;
  const limit = Math.floor(before.limit * scale);
  const head = headOf(start, before);
  const usual = Math.min(most, usualGoal(limit, head));
  const rest = Math.max(0, usual - head) * deeper ** level;
  const tokens = Math.floor(usual < head ? usual : head + rest);
  return {
    limitTokens: Math.min(limit, most),
    tokens,
    floorTokens: Math.floor(tokens * shallowest),
    ...(isOverMedia || mostBytes !== undefined ? { media } : {}),
  };
}

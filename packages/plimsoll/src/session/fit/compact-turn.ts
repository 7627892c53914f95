/** Compacts a turn: makes it smaller, stores the edits before the request is sent, and reports to observers. */

import { assessAfter } from "../../budget/guard.ts";
import { shownTokens, type TokenScale } from "../../budget/token-scale.ts";
import type { Draft, Sized } from "../draft/draft.ts";
import { assessView, type CalibrationWorld } from "../draft/projection.ts";
import { announce } from "../log/append.ts";
import { remember } from "../log/log.ts";
import { viewOf } from "../log/path.ts";
import { recordError, reportDegraded } from "../log/report.ts";
import { markOf } from "../log/view.ts";
import type { Compaction } from "./compaction.ts";
import { debugEvaluation } from "./debug.ts";
import { reselectTools } from "./defer-tools.ts";
import { type Fitted, type FitWorld, fitted, lastResort, sendsAnyway } from "./last-resort.ts";
import { type Compacting, makeSmaller, progressScaleOf, type Tried } from "./make-smaller.ts";
import { endReport } from "./phases.ts";
import { type CompactionReport, type ReportWorld, reportCompaction } from "./report-compaction.ts";
import { commitCompaction } from "./run-strategies.ts";
import { owe } from "./when-to-compact.ts";
import type { Afresh } from "./when-to-recover.ts";

/**
 * Contract: never rejects because a strategy fails; the conversation continues regardless.
 * Rejects with CLOSED when Plimsoll shuts down, because then nobody waits for the result.
 */
export async function compactTurn(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  compacting: Compacting,
): Promise<Fitted> {
  const { guard, before } = compacting;
  await world.watch?.(draft, {
    phase: "detection",
    tokens: before.projection.tokens,
    limit: before.limit,
  });
  await draft.path.load();
  const startedAt = world.now();
  const tried = await makeSmaller(world, draft, start, compacting);
  const compaction = await reselectTools(world, draft, tried.compaction);
  for (const failure of new Set(compaction.failures)) reportDegraded(draft, "truncation", failure);
  if (compaction.edits.length === 0)
    return withNothingFound(world, draft, start, { tried, compacting });
  const after = assessView(world, draft, compaction.sized, guard);
  const verdict = assessAfter({ ...guard, projection: after.projection });
  debugEvaluation(world.debug, after.projection);
  const compacted = { before: after, guard, isOurs: false };
  // If the request is refused, its compaction must not be stored. Otherwise the compaction must be stored before the request is
  // sent.
  if (verdict.kind === "refuse" && !sendsAnyway(world)) {
    remember(draft.branch, { kind: "wishes-taken" });
    await reportFailed(world, draft, { start, sized: compaction.sized, compacting });
    return lastResort(world, draft, compaction.sized, compacted);
  }
  world.closing.throwIfAborted();
  // This note is saved together with the edits, in one transaction.
  remember(draft.branch, { kind: "wishes-taken" });
  if ((await commitCompaction(world, draft, compaction)) === "unsaved") {
    reportDegraded(draft, "view", "the store could not keep the content that would be removed");
    await reportFailed(world, draft, { start, sized: start, compacting });
    return lastResort(world, draft, start, { before, guard, isOurs: true });
  }
  await recordMade(world, draft, { ...tried, compaction }, { compacting, start, startedAt });
  if (verdict.kind === "final" || verdict.kind === "refuse")
    return lastResort(world, draft, compaction.sized, compacted);
  return fitted(draft, {
    ...after,
    sized: compaction.sized,
    target: draft.targets[0],
    outcome: tried.outcome,
  });
}

/** The compaction ends here, and its view is not used. */
async function reportFailed(
  world: FitWorld,
  draft: Draft,
  {
    start,
    sized,
    compacting,
  }: { readonly start: Sized; readonly sized: Sized; readonly compacting: Compacting },
): Promise<void> {
  const { limit, scale } = progressScaleOf(start, compacting);
  const tokens = shownTokens(sized.measured.total, scale);
  await world.watch?.(draft, { phase: "failed", tokens, limit, isSame: sized === start });
}

/** Called if nothing can be removed. Remembers the size of the request, so that Plimsoll does not try again at once. */
async function withNothingFound(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  { tried, compacting }: { readonly tried: Tried; readonly compacting: Compacting },
): Promise<Fitted> {
  const { guard, before } = compacting;
  remember(draft.branch, { kind: "wishes-taken" });
  remember(draft.branch, { kind: "exhausted", tokens: before.projection.tokens });
  const isOurs = tried.compaction.failures.length > 0;
  await reportFailed(world, draft, { start, sized: start, compacting });
  if (tried.start === undefined) return lastResort(world, draft, start, { before, guard, isOurs });
  const left = assessView(world, draft, tried.start, guard);
  debugEvaluation(world.debug, left.projection);
  return lastResort(world, draft, tried.start, { before: left, guard, isOurs });
}

interface Making {
  readonly compacting: Compacting;
  readonly start: Sized;
  readonly startedAt: number;
}

/** Called after a compaction is stored. Reports it to observers and records it in the branch's memory. */
async function recordMade(
  world: ReportWorld & CalibrationWorld & Pick<FitWorld, "now">,
  draft: Draft,
  tried: Tried,
  { compacting, start, startedAt }: Making,
): Promise<void> {
  const { branch } = draft;
  const { compaction, level } = tried;
  const { limit, scale } = progressScaleOf(start, compacting);
  const isAfresh = tried.outcome === "recovered";
  const tokens = shownTokens(compaction.sized.measured.total, scale);
  await world.watch?.(draft, endReport(isAfresh, { tokens, limit }));
  reportCompaction(world, draft, compaction, {
    ...whyMade(compacting, tried),
    start,
    milliseconds: world.now() - startedAt,
    shown: (tokens) => shownTokens(tokens, scale),
  });
  if (compacting.timing?.isVoluntary === true) oweFor(world, draft, compaction, compacting);
  if (isAfresh) reportRecovery(draft, tried, start, scale);
  const view = markOf(viewOf(draft.log, branch, draft.path));
  remember(branch, { kind: "compacted", level, view });
  branch.isSummaryWanted = true;
}

/** The reason for a compaction, and its cost and savings if they are known. */
function whyMade(
  { isOverMedia, why, timing, before: { verdict } }: Compacting,
  { afresh }: Pick<Tried, "afresh">,
): Pick<CompactionReport, "reason" | "worth"> {
  const isForced = verdict.kind === "compact" && verdict.isForced;
  const ofGuard = isForced ? "forced" : verdict.kind;
  return {
    reason: afresh?.why ?? (isOverMedia ? "media" : (why ?? timing?.reason ?? ofGuard)),
    ...(timing?.worth === undefined ? {} : { worth: timing.worth }),
  };
}

/** Records the cost of a compaction that was made to save money, now that the resulting size is known. */
function oweFor(
  world: CalibrationWorld,
  draft: Draft,
  { sized }: Compaction,
  { guard, timing }: Compacting,
): void {
  const { projection } = assessView(world, draft, sized, guard);
  owe(draft.branch, timing?.priceOf?.(projection.tokens) ?? 0);
}

function reportRecovery(
  draft: Draft,
  {
    compaction,
    afresh: { reason } = { reason: "" },
  }: Pick<Tried, "compaction"> & {
    readonly afresh?: Pick<Afresh, "reason">;
  },
  start: Sized,
  scale: TokenScale,
): void {
  const { log, turn } = draft;
  announce(log, {
    type: "recovery",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    reason,
    tokensBefore: shownTokens(start.measured.total, scale),
    tokensAfter: shownTokens(compaction.sized.measured.total, scale),
  });
  recordError(draft, "RECOVERY_TRIGGERED", reason);
}

/** Projects the number of tokens that the provider would count for a request, and gets the guard's verdict on that request. */

import type { ByComponent } from "../../budget/calibrate.ts";
import { seededCounters } from "../../budget/counters.ts";
import {
  assessBefore,
  effectiveLimit,
  type GuardInput,
  type GuardTarget,
  type OwnLimits,
  type Verdict,
  windowLimitOf,
} from "../../budget/guard.ts";
import type { Measurement } from "../../budget/measure.ts";
import { type Projection, projectionOf } from "../../budget/projection.ts";
import type { GuardThresholds } from "../../budget/thresholds.ts";
import { ownLimitsOf, thresholdsOf } from "../../config/limits.ts";
import type { Config } from "../../config/schema.ts";
import type { Basis } from "../log/memory.ts";
import { byComponent, type Calibrations } from "../measure/calibrations.ts";
import type { Target } from "../measure/target.ts";
import type { Draft, Sized } from "./draft.ts";

/** Services that know how each provider counts tokens. */
export interface CalibrationWorld {
  readonly calibrations: Calibrations;
}

export interface Guard {
  readonly own: OwnLimits;
  readonly thresholds: GuardThresholds;
  readonly targets: GuardInput["targets"];
  /** The limit, regardless of the size of the head. */
  readonly limit: number;
}

export function guardOf(
  { config }: { readonly config: Config },
  { targets, who }: Pick<Draft, "targets" | "who">,
): Guard {
  const own = ownLimitsOf(config, who);
  const [first, ...others] = targets;
  return {
    own,
    thresholds: thresholdsOf(config),
    targets: [asGuarded(first), ...others.map(asGuarded)],
    limit: effectiveLimit(asGuarded(first), own),
  };
}

export function asGuarded({ key, limit }: Target): GuardTarget {
  return { name: key, limit };
}

export interface AssessedView {
  readonly verdict: Verdict;
  /** The limit for a request with this head. */
  readonly limit: number;
  /**
   * Whether the limit was raised because the head is too large for it. If so, fullness is the used share of the room beside the
   * head.
   */
  readonly isBesideHead: boolean;
  /** The limit that the window alone would give. Undefined if no lower limit of the user applies. */
  readonly windowLimit: number | undefined;
  readonly projection: Projection;
  readonly measurement: Measurement;
}

/** Estimates how the provider would count a view, whether or not it was sent before. */
export function assessView(
  world: CalibrationWorld,
  draft: Draft,
  sized: Sized,
  guard: Guard,
): AssessedView {
  const [target] = draft.targets;
  const measurement = world.calibrations.correct(draft.log, target, sized.measured);
  const projection = projected(world, draft, { measured: sized.measured, measurement });
  const limit = effectiveLimit(asGuarded(target), guard.own, projection);
  const isBesideHead = limit > guard.limit && projection.head < limit;
  const windowLimit = windowLimitOf(asGuarded(target), limit, projection);
  const verdict = assessBefore({ ...guard, projection });
  return {
    measurement,
    projection,
    limit,
    isBesideHead,
    windowLimit,
    verdict,
  };
}

/** Factor by which an estimate may exceed the provider's count, before and after the provider's first report of usage. */
const doubt = { unreported: 2.5, reported: 1.5 };

interface Counted {
  /** Plimsoll's own count, before calibration. */
  readonly measured: Measurement;
  readonly measurement: Measurement;
}

/**
 * If the provider has already counted this conversation, Plimsoll starts from that count and estimates only the change since
 * then. Before the target's first report, the whole projection is an estimate.
 */
function projected(world: CalibrationWorld, draft: Draft, counted: Counted): Projection {
  const [target] = draft.targets;
  const { basis } = draft.branch.memory;
  const estimate = estimateOf(world, draft, counted);
  const isReported = basis !== undefined && basis.target === target.key;
  return withCare(
    target,
    isReported ? projectionFrom(world, draft, { basis, counted, estimate }) : estimate,
  );
}

/** Plimsoll's own count, calibrated by the provider's reports on other requests. */
function estimateOf(
  { calibrations }: CalibrationWorld,
  draft: Draft,
  counted: Counted,
): Projection {
  const { log, targets } = draft;
  const { total, conversation } = counted.measurement;
  const isGuess = !calibrations.isReported(log, targets[0]);
  const factors = calibrations.factors(log, targets[0]);
  return sumOf(draft, total, counted, {
    least: leastOf(counted, isGuess),
    most: total,
    head: Math.ceil(total - conversation + firstWordsTokens(draft) * factors.conversation),
    preamble: Math.ceil(total - conversation),
    isGuess,
  });
}

/** The projection of a request with this many tokens. The last turn committed some of them, and the others are pending. */
function sumOf(
  { branch: { record }, request: { output } }: Draft,
  tokens: number,
  { measurement }: Pick<Counted, "measurement">,
  others: Omit<Projection, "counters" | "tokens">,
): Projection {
  const { current: committed = 0 } = record.counters ?? {};
  const reasoning = output?.thinkingTokens ?? 0;
  const seed = { committed, reasoning, schema: measurement.tools };
  return projectionOf(seededCounters(tokens, seed), others);
}

interface Reported {
  /** The last request that the provider has counted. */
  readonly basis: Basis;
  readonly counted: Counted;
  readonly estimate: Projection;
}

/**
 * The provider's last count plus the change since then. If any component shrank, the projection is the higher of this figure and
 * the estimate, because a count of the whole request does not tell how many of those tokens were in the removed part.
 */
function projectionFrom(
  { calibrations }: CalibrationWorld,
  draft: Draft,
  { basis, counted, estimate }: Reported,
): Projection {
  const {
    log,
    targets: [target],
  } = draft;
  const factors = calibrations.factors(log, target);
  const change = changeSince(basis, byComponent(counted.measured), factors);
  const changes = [change.system, change.tools, change.conversation];
  const hasShrunk = Math.min(...changes) < 0;
  const tokens = basis.inputTokens + Math.ceil(change.system + change.tools + change.conversation);
  const likely = hasShrunk || target.cutsSilently ? Math.max(tokens, estimate.tokens) : tokens;
  const steeper = calibrations.steepest(log, target) / factors.conversation;
  const leastAdded = changes.reduce((sum, part) => sum + lowest(part), 0);
  return sumOf(draft, likely, counted, {
    most: likely + Math.ceil(Math.max(0, change.conversation) * (steeper - 1)),
    least: Math.max(estimate.least, Math.floor(basis.inputTokens + leastAdded)),
    head: estimate.head,
    preamble: estimate.preamble,
    // The provider has counted the request that this one continues.
    isGuess: false,
  });
}

/** The change since the last counted request, by component, in the provider's tokens. Negative if something was removed. */
function changeSince({ estimated }: Basis, now: ByComponent, factors: ByComponent): ByComponent {
  return {
    system: (now.system - estimated.system) * factors.system,
    tools: (now.tools - estimated.tools) * factors.tools,
    conversation: (now.conversation - estimated.conversation) * factors.conversation,
  };
}

/** The lowest likely change. Estimates are rough: an addition may be smaller than estimated, and a removal may be larger. */
function lowest(tokens: number): number {
  return tokens < 0 ? tokens * doubt.unreported : tokens / doubt.unreported;
}

/**
 * The lowest count to expect from the provider. Estimates may be too high, so they are divided by a margin. Exact counts are not
 * divided, but if calibration makes such a count lower, the lower count is used.
 */
function leastOf({ measured, measurement }: Counted, isGuess: boolean): number {
  const margin = isGuess ? doubt.unreported : doubt.reported;
  const sum = componentNames.reduce((tokens, name) => {
    const [before, after] = [measured.components[name], measurement.components[name]];
    const isExact = before.certainty === "exact";
    return tokens + (isExact ? Math.min(before.tokens, after.tokens) : after.tokens / margin);
  }, 0);
  return Math.floor(sum);
}

const componentNames = ["system", "skills", "tools", "conversation"] as const;

/** Size of the user's first message, in Plimsoll's tokens. No strategy removes this message. */
export function firstWordsTokens({ path, log }: Pick<Draft, "path" | "log">): number {
  for (let index = 0; index < Math.min(path.length, firstWordsWithin); index++) {
    if (log.nodes.get(path.seqAt(index) ?? -1)?.role === "user")
      return path.sumOf({ first: index, last: index }).tokens;
  }
  return 0;
}

/** How many messages are searched for the user's first message. Usually only a few instructions come before that message. */
const firstWordsWithin = 16;

/**
 * A server that cuts silently never reports that a request is too long. For such a server, the full estimate is also the lowest
 * count.
 */
function withCare({ cutsSilently }: Target, projection: Projection): Projection {
  return cutsSilently ? { ...projection, least: projection.tokens } : projection;
}

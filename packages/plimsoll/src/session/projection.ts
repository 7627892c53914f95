/** What a request would come to as its provider counts, and what the guard says to that. */

import type { Projection } from "../budget/counters.ts";
import {
  effectiveLimit,
  type GuardInput,
  type GuardTarget,
  type GuardThresholds,
  judgeBefore,
  type OwnLimits,
  type Verdict,
} from "../budget/guard.ts";
import type { Measurement } from "../budget/measure.ts";
import type { Calibrations } from "./calibrations.ts";
import type { Config } from "./config-schema.ts";
import type { Draft, Sized } from "./draft.ts";
import { ownLimitsOf, thresholdsOf } from "./limits.ts";
import type { Target } from "./target.ts";

interface World {
  readonly config: Config;
  readonly calibrations: Calibrations;
}

export interface Guard {
  readonly own: OwnLimits;
  readonly thresholds: GuardThresholds;
  readonly targets: GuardInput["targets"];
  readonly limit: number;
}

export function guardOf({ config }: World, { targets, who }: Draft): Guard {
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

export interface JudgedView {
  readonly verdict: Verdict;
  readonly limit: number;
  readonly projection: Projection;
  readonly measurement: Measurement;
}

export function judged(world: World, draft: Draft, sized: Sized, guard: Guard): JudgedView {
  const measurement = world.calibrations.correct(draft.log, draft.targets[0].key, sized.measured);
  return judgedBy(projectionOf(draft, sized, measurement), measurement, guard);
}

/** A view that was never sent: nothing was reported of it. */
export function judgedNew(world: World, draft: Draft, sized: Sized, guard: Guard): JudgedView {
  const measurement = world.calibrations.correct(draft.log, draft.targets[0].key, sized.measured);
  const projection = { tokens: measurement.total, schema: measurement.tools };
  return judgedBy(projection, measurement, guard);
}

function judgedBy(projection: Projection, measurement: Measurement, guard: Guard): JudgedView {
  const { limit } = guard;
  return { measurement, projection, limit, verdict: judgeBefore({ ...guard, projection }) };
}

/** What was reported counts, and only what came since is estimated; without a report, all of it is. */
function projectionOf(
  { branch, path, log, targets: [target], head }: Draft,
  sized: Sized,
  measurement: Measurement,
): Projection {
  const { basis } = branch;
  const isBasis =
    basis !== undefined &&
    basis.edits === log.edits.length &&
    basis.target === target.key &&
    basis.head === head.hash &&
    basis.toolTokens === sized.measured.tools &&
    path.chainAt(basis.length - 1) === basis.chain;
  if (!isBasis) return { tokens: measurement.total, schema: measurement.tools };
  const fresh = path.sumOf({ first: basis.length, last: path.length - 1 }).tokens;
  const scale = sized.measured.total === 0 ? 1 : measurement.total / sized.measured.total;
  return { tokens: basis.inputTokens + Math.ceil(fresh * scale), schema: 0 };
}

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
import { byComponent, type Calibrations } from "./calibrations.ts";
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

/** A view as the provider would count it, whether it was sent before or not. */
export function judged(world: World, draft: Draft, sized: Sized, guard: Guard): JudgedView {
  const [target] = draft.targets;
  const measurement = world.calibrations.correct(draft.log, target, sized.measured);
  const projection = projectionOf(world, draft, { measured: sized.measured, measurement });
  const { limit } = guard;
  return { measurement, projection, limit, verdict: judgeBefore({ ...guard, projection }) };
}

/** How far below an estimate the truth may be: before a provider has reported any usage, and after. */
const doubt = { unreported: 2.5, reported: 1.5 };

interface Counted {
  /** Before correction. */
  readonly measured: Measurement;
  readonly measurement: Measurement;
}

/**
 * What was reported counts, and only the difference since then is estimated. Where more was taken out than was added, the
 * corrected estimate counts if it is higher: a report says little of what is left of a request.
 */
function projectionOf(world: World, { branch, log, targets }: Draft, counted: Counted): Projection {
  const [target] = targets;
  const { measurement } = counted;
  const least = leastOf(counted, world.calibrations.isReported(log, target));
  const plain = { tokens: measurement.total, least, schema: measurement.tools };
  const { basis } = branch;
  if (basis === undefined || basis.target !== target.key) return withCare(target, plain);
  const now = byComponent(counted.measured);
  const factors = world.calibrations.factors(log, target);
  const [system, tools, conversation] = [
    (now.system - basis.estimated.system) * factors.system,
    (now.tools - basis.estimated.tools) * factors.tools,
    (now.conversation - basis.estimated.conversation) * factors.conversation,
  ];
  const added = Math.ceil(system + tools + conversation);
  const tokens = basis.inputTokens + added;
  const hasShrunk = Math.min(system, tools, conversation) < 0;
  if (hasShrunk) return withCare(target, { ...plain, tokens: Math.max(tokens, plain.tokens) });
  return withCare(target, {
    tokens: target.cutsSilently ? Math.max(tokens, plain.tokens) : tokens,
    least: Math.max(least, basis.inputTokens + Math.floor(added / doubt.unreported)),
    schema: 0,
  });
}

/** Exact counts are what they are; an estimate may be too high. */
function leastOf({ measured, measurement }: Counted, isReported: boolean): number {
  const { components } = measured;
  const exact = Object.values(components).every(({ certainty }) => certainty === "exact");
  const margin = isReported ? doubt.reported : doubt.unreported;
  return exact ? measured.total : Math.floor(measurement.total / margin);
}

/** A server that cuts silently never says that a request is too long: there, what may be too much is. */
function withCare({ cutsSilently }: Target, projection: Projection): Projection {
  return cutsSilently ? { ...projection, least: projection.tokens } : projection;
}

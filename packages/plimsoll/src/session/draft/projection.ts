/** What a request would come to as its provider counts, and what the guard says to that. */

import type { Projection } from "../../budget/counters.ts";
import {
  effectiveLimit,
  type GuardInput,
  type GuardTarget,
  type GuardThresholds,
  judgeBefore,
  type OwnLimits,
  type Verdict,
} from "../../budget/guard.ts";
import type { Measurement } from "../../budget/measure.ts";
import { ownLimitsOf, thresholdsOf } from "../../config/limits.ts";
import type { Config } from "../../config/schema.ts";
import { byComponent, type Calibrations } from "../measure/calibrations.ts";
import type { Target } from "../measure/target.ts";
import type { Draft, Sized } from "./draft.ts";

interface World {
  readonly config: Config;
  readonly calibrations: Calibrations;
}

export interface Guard {
  readonly own: OwnLimits;
  readonly thresholds: GuardThresholds;
  readonly targets: GuardInput["targets"];
  /** Whatever the head takes. */
  readonly limit: number;
}

export function guardOf(
  { config }: Pick<World, "config">,
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

export interface JudgedView {
  readonly verdict: Verdict;
  /** What there is to use beside this head. */
  readonly limit: number;
  /** The limit gave way to the head: how full it is, is the share of the room beside it. */
  readonly isBesideHead: boolean;
  readonly projection: Projection;
  readonly measurement: Measurement;
}

/** A view as the provider would count it, whether it was sent before or not. */
export function judged(world: World, draft: Draft, sized: Sized, guard: Guard): JudgedView {
  const [target] = draft.targets;
  const measurement = world.calibrations.correct(draft.log, target, sized.measured);
  const projection = projectionOf(world, draft, { measured: sized.measured, measurement });
  const limit = effectiveLimit(asGuarded(target), guard.own, projection.head);
  const isBesideHead = limit > guard.limit && projection.head < limit;
  const verdict = judgeBefore({ ...guard, projection });
  return { measurement, projection, limit, isBesideHead, verdict };
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
function projectionOf(world: World, draft: Draft, counted: Counted): Projection {
  const { branch, log } = draft;
  const [target] = draft.targets;
  const { measurement } = counted;
  const isGuess = !world.calibrations.isReported(log, target);
  const least = leastOf(counted, isGuess);
  const factors = world.calibrations.factors(log, target);
  const head = Math.ceil(
    measurement.total - measurement.conversation + firstWordsTokens(draft) * factors.conversation,
  );
  const { total } = measurement;
  const plain = { tokens: total, least, most: total, head, isGuess };
  const { basis } = branch.memory;
  if (basis === undefined || basis.target !== target.key) return withCare(target, plain);
  const now = byComponent(counted.measured);
  const [system, tools, conversation] = [
    (now.system - basis.estimated.system) * factors.system,
    (now.tools - basis.estimated.tools) * factors.tools,
    (now.conversation - basis.estimated.conversation) * factors.conversation,
  ];
  const added = Math.ceil(system + tools + conversation);
  const tokens = basis.inputTokens + added;
  const parts = [system, tools, conversation];
  const hasShrunk = Math.min(...parts) < 0;
  const leastAdded = parts.reduce((sum, part) => sum + lowest(part), 0);
  const likely = hasShrunk || target.cutsSilently ? Math.max(tokens, total) : tokens;
  const steeper = world.calibrations.steepest(log, target) / factors.conversation;
  return withCare(target, {
    tokens: likely,
    most: likely + Math.ceil(Math.max(0, conversation) * (steeper - 1)),
    least: Math.max(least, Math.floor(basis.inputTokens + leastAdded)),
    head,
    // The provider has counted what this request continues.
    isGuess: false,
  });
}

/** What was added may be less than we think, and what was taken out more. */
function lowest(tokens: number): number {
  return tokens < 0 ? tokens * doubt.unreported : tokens / doubt.unreported;
}

/** An estimate may be too high, an exact count only where the provider's reports say so. */
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

/** What the user said first, in our tokens: no strategy takes it out. */
export function firstWordsTokens({ path, log }: Draft): number {
  for (let index = 0; index < Math.min(path.length, firstWordsWithin); index++) {
    if (log.nodes.get(path.seqAt(index) ?? -1)?.role === "user")
      return path.sumOf({ first: index, last: index }).tokens;
  }
  return 0;
}

/** Before the user's first message there may be instructions, and not much else. */
const firstWordsWithin = 16;

/** A server that cuts silently never says that a request is too long: there, what may be too much is. */
function withCare({ cutsSilently }: Target, projection: Projection): Projection {
  return cutsSilently ? { ...projection, least: projection.tokens } : projection;
}

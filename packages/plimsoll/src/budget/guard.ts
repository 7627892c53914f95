/**
 * What may a request do: go as it is, be compacted first, go to a target with a larger window, be the
 * last turn, or not go at all. Pure: two verdicts, one before anything was taken out and one after.
 */

import type { Projection } from "./counters.ts";
import { type Limit, reserveOf } from "./limit.ts";

export interface GuardThresholds {
  /** From here on the model is told, and a compaction is prepared. */
  readonly warn: number;
  readonly compact: number;
  /** From here on a compaction is forced, whatever it costs. */
  readonly block: number;
}

const usualThresholds: GuardThresholds = { warn: 0.8, compact: 0.95, block: 0.98 };

export interface GuardTarget {
  readonly name: string;
  readonly limit: Limit;
}

/** Limits beside the window. The lowest holds. */
export interface OwnLimits {
  /** Over everything that an agent says. */
  readonly contextBudget?: number;
  /** Of the agent or the kind of model; where one is set, breaking starts at the warning. */
  readonly agentLimit?: number;
  /** 1 is the highest: it gets a fifth more of the agent's limit, never more than the window. */
  readonly priority?: 1 | 2 | 3;
}

export type Verdict =
  | {
      readonly kind: "fits";
      readonly target: string;
      readonly filled: number;
      readonly isWarning: boolean;
    }
  | {
      readonly kind: "compact";
      readonly target: string;
      readonly filled: number;
      readonly isForced: boolean;
      readonly overTokens: number;
    }
  /** The first target is full, this one is not. */
  | { readonly kind: "skip"; readonly target: string; readonly filled: number }
  /** Only the tool schemas are too much: defer tools, else let it go. */
  | { readonly kind: "schema"; readonly target: string; readonly overTokens: number }
  | { readonly kind: "final"; readonly target: string; readonly overTokens: number }
  | { readonly kind: "refuse"; readonly target: string; readonly overTokens: number };

export interface GuardInput {
  readonly projection: Projection;
  /** In the order in which they may be tried; at least one. */
  readonly targets: readonly [GuardTarget, ...GuardTarget[]];
  readonly own?: OwnLimits;
  readonly thresholds?: GuardThresholds;
}

const priorityBonus = 1.2;
const smallerPart = 0.5;

/** What a request may use on this target: never more than the window less buffer and reserve. */
export function effectiveLimit({ limit }: GuardTarget, own: OwnLimits = {}): number {
  const budget = budgetOf(own);
  if (budget === undefined) return limit.limit;
  const { window, buffer, maxOutput } = limit;
  const reserve = Math.min(limit.reserve, reserveOf(maxOutput, Math.min(window, budget)));
  return Math.max(0, Math.min(window - buffer - reserve, budget));
}

/** The lowest limit beside the window. */
function budgetOf({ contextBudget, agentLimit, priority }: OwnLimits): number | undefined {
  const bonus = priority === 1 ? priorityBonus : 1;
  const raised = agentLimit === undefined ? undefined : Math.floor(agentLimit * bonus);
  if (contextBudget === undefined || raised === undefined) return contextBudget ?? raised;
  return Math.min(contextBudget, raised);
}

/** Nobody knows how large the window is, and no other limit is set: nothing is too much before the provider says so. */
function isBoundless({ limit }: GuardTarget, own: OwnLimits = {}): boolean {
  return limit.windowSource === "fallback" && budgetOf(own) === undefined;
}

/** Before anything is taken out. */
export function judgeBefore(input: GuardInput): Verdict {
  const [first, ...others] = input.targets;
  const verdict = judgeTarget(input, first);
  if (verdict.kind === "fits") return verdict;
  for (const target of others) {
    const other = judgeTarget(input, target);
    if (other.kind === "fits") return { kind: "skip", target: target.name, filled: other.filled };
  }
  return verdict;
}

function judgeTarget(input: GuardInput, target: GuardTarget): Verdict {
  const { projection, own, thresholds = usualThresholds } = input;
  const limit = effectiveLimit(target, own);
  const { tokens, schema } = projection;
  const filled = limit === 0 ? Number.POSITIVE_INFINITY : tokens / limit;
  if (isBoundless(target, own))
    return { kind: "fits", target: target.name, filled, isWarning: false };
  const overTokens = Math.max(0, tokens - limit);
  const compactFrom = own?.agentLimit === undefined ? thresholds.compact : thresholds.warn;
  // Taking something out of a conversation that is the smaller part would not help.
  if (overTokens > 0 && tokens - schema < limit * smallerPart)
    return { kind: "schema", target: target.name, overTokens };
  if (filled >= compactFrom) {
    return {
      kind: "compact",
      target: target.name,
      filled,
      isForced: filled >= thresholds.block,
      overTokens,
    };
  }
  return { kind: "fits", target: target.name, filled, isWarning: filled >= thresholds.warn };
}

/**
 * After everything was tried. What may still be under the limit goes: where that is a guess, the provider knows better. What is
 * known to be over it goes as the last turn, if the whole window holds it.
 */
export function judgeAfter(input: GuardInput): Verdict {
  const [target] = input.targets;
  const limit = effectiveLimit(target, input.own);
  const { tokens, least, schema } = input.projection;
  const overTokens = Math.max(0, tokens - limit);
  if (least <= limit || isBoundless(target, input.own)) {
    const { warn } = input.thresholds ?? usualThresholds;
    return {
      kind: "fits",
      target: target.name,
      filled: limit === 0 ? 0 : tokens / limit,
      isWarning: tokens >= limit * warn,
    };
  }
  const isHeld = least <= target.limit.window || target.limit.windowSource === "fallback";
  if (isHeld && tokens - schema <= limit)
    return { kind: "schema", target: target.name, overTokens };
  return { kind: isHeld ? "final" : "refuse", target: target.name, overTokens };
}

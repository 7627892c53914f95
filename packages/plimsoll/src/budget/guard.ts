/**
 * What may a request do: go as it is, be compacted first, go to a target with a larger window, be the
 * last turn, or not go at all. Pure: two verdicts, one before anything was taken out and one after.
 */

import type { Projection } from "./counters.ts";
import type { Limit } from "./limit.ts";

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

/** What a request may use on this target: never more than the window less buffer and answer. */
export function effectiveLimit({ limit }: GuardTarget, own: OwnLimits = {}): number {
  const bonus = own.priority === 1 ? priorityBonus : 1;
  const agentLimit =
    own.agentLimit === undefined ? limit.limit : Math.floor(own.agentLimit * bonus);
  return Math.max(0, Math.min(limit.limit, own.contextBudget ?? limit.limit, agentLimit));
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

/** After everything was tried: over the limit only what the window without its buffer still holds may go, as the last turn. */
export function judgeAfter(input: GuardInput): Verdict {
  const [target] = input.targets;
  const limit = effectiveLimit(target, input.own);
  const { tokens } = input.projection;
  const overTokens = Math.max(0, tokens - limit);
  if (overTokens === 0) {
    const { warn } = input.thresholds ?? usualThresholds;
    return {
      kind: "fits",
      target: target.name,
      filled: limit === 0 ? 0 : tokens / limit,
      isWarning: tokens >= limit * warn,
    };
  }
  const { window, maxOutput } = target.limit;
  const isHeld = tokens + maxOutput <= window;
  const { schema } = input.projection;
  if (isHeld && tokens - schema <= limit)
    return { kind: "schema", target: target.name, overTokens };
  return { kind: isHeld ? "final" : "refuse", target: target.name, overTokens };
}

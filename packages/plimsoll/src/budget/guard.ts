/**
 * What may a request do: go as it is, be compacted first, go to a target with a larger window, be the
 * last turn, or not go at all. Pure: two verdicts, one before anything was taken out and one after.
 */

import type { Projection } from "./counters.ts";
import { type Limit, reserveOf } from "./limit.ts";
import { answerTokensMin, outputTokensMin } from "./output-room.ts";
import { type GuardThresholds, usualThresholds } from "./thresholds.ts";

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
  /** The head alone is too much, and taking something out of the conversation would not help: let it go if the window may hold it. */
  | { readonly kind: "head"; readonly target: string; readonly overTokens: number }
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
/** What the conversation gets at least: so much of what the head leaves of the window, and so much of a budget. */
const room = { ofWindow: 0.5, ofBudget: 0.25 };

/**
 * What a request may use on this target: the window less buffer and reserve, or the budget. A large head does not leave the
 * conversation without room: reserve, buffer and budget give way to it, and the answer gets what is left.
 */
export function effectiveLimit(target: GuardTarget, own: OwnLimits = {}, headTokens = 0): number {
  const { window, reserve } = target.limit;
  const budget = budgetOf(own);
  const beside = Math.min(
    (window - headTokens) * room.ofWindow,
    budget === undefined ? Number.POSITIVE_INFINITY : budget * room.ofBudget,
  );
  const most = window - Math.min(answerTokensMin, reserve);
  return Math.max(limitBeside(target.limit, own), Math.min(most, Math.floor(headTokens + beside)));
}

/** Whatever the head takes. */
function limitBeside(limit: Limit, own: OwnLimits): number {
  const budget = budgetOf(own);
  if (budget === undefined) return limit.limit;
  const { window, buffer, maxOutput } = limit;
  const reserve = Math.min(limit.reserve, reserveOf(maxOutput, Math.min(window, budget)));
  return Math.max(0, Math.min(window - buffer - reserve, budget));
}

/** Of the limit; where that gave way to the head, of the room beside the head. */
function filledOf({ tokens, head }: Projection, limit: number, usualLimit: number): number {
  if (limit === 0) return Number.POSITIVE_INFINITY;
  const isBeside = limit > usualLimit && head < limit;
  return isBeside ? (tokens - head) / (limit - head) : tokens / limit;
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
export function assessBefore(input: GuardInput): Verdict {
  const [first, ...others] = input.targets;
  const verdict = assessTarget(input, first);
  if (verdict.kind === "fits") return verdict;
  for (const target of others) {
    const other = assessTarget(input, target);
    if (other.kind === "fits") return { kind: "skip", target: target.name, filled: other.filled };
  }
  return verdict;
}

function assessTarget(input: GuardInput, target: GuardTarget): Verdict {
  const { projection, own, thresholds = usualThresholds } = input;
  const { tokens, head } = projection;
  const limit = effectiveLimit(target, own, head);
  const filled = filledOf(projection, limit, effectiveLimit(target, own));
  if (isBoundless(target, own))
    return { kind: "fits", target: target.name, filled, isWarning: false };
  const overTokens = Math.max(0, tokens - limit);
  const compactFrom = own?.agentLimit === undefined ? thresholds.compact : thresholds.warn;
  if (overTokens > 0 && head > limit) return { kind: "head", target: target.name, overTokens };
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
 * After everything was tried. What the window may hold beside a short answer goes, also over the limit: where its size is a
 * guess, the provider knows better. What is known to leave no room for an answer goes as the last turn, if the window holds it.
 */
export function assessAfter(input: GuardInput): Verdict {
  const [target] = input.targets;
  const { tokens, least, head } = input.projection;
  const limit = effectiveLimit(target, input.own, head);
  if (hasRoom(target, least)) {
    const filled = filledOf(input.projection, limit, effectiveLimit(target, input.own));
    const { warn } = input.thresholds ?? usualThresholds;
    return { kind: "fits", target: target.name, filled, isWarning: filled >= warn };
  }
  const overTokens = Math.max(0, tokens - limit);
  const fitsRawWindow = least + outputTokensMin <= target.limit.named;
  return { kind: fitsRawWindow ? "final" : "refuse", target: target.name, overTokens };
}

/** As far as anybody has named it, the window holds so much and an answer. */
function hasRoom({ limit: { named, reserve } }: GuardTarget, tokens: number): boolean {
  return tokens + Math.min(answerTokensMin, reserve) <= named;
}

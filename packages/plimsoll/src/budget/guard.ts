/**
 * The guard decides about a request: send it as it is, compact it first, send it to a target with a larger window, make it the
 * last turn, or refuse it. Pure. It gives one verdict before any compaction, and one after all compactions.
 */

import { type Limit, reserveOf, usualBudget } from "./limit.ts";
import { answerTokensMin, outputTokensMin } from "./output-room.ts";
import type { Projection } from "./projection.ts";
import { type GuardThresholds, usualThresholds } from "./thresholds.ts";

export interface GuardTarget {
  readonly name: string;
  readonly limit: Limit;
}

/** Limits that apply in addition to the window. The lowest limit applies. */
export interface OwnLimits {
  /**
   * Maximum size of every request in tokens. "auto": the usual budget of the target's window, unless `agentLimit` is set.
   * Undefined: only the window limits a request.
   */
  readonly contextBudget?: number | "auto";
  /**
   * Set if `contextBudget` is for the answer too: the room for the answer, in tokens, or "as asked" for the length that the request
   * asks for, of which at most a quarter of the budget is kept free.
   */
  readonly outputInBudget?: number | "as asked";
  /** Limit for the agent or for the type of model. If it is set, compaction starts at the warning threshold. */
  readonly agentLimit?: number;
  /**
   * True if the limit is exactly the window minus the buffer minus the answer's length. A request that is still over this limit
   * after all compactions is then the final turn.
   */
  readonly isStrict?: true;
  /** Priority 1 is the highest. It raises the agent's limit by a fifth, but never above the window. */
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
  /** The first target is full, but this target has room. */
  | { readonly kind: "skip"; readonly target: string; readonly filled: number }
  /**
   * The fixed part alone is over the limit, so taking out messages would not help. The request is sent anyway if the window may
   * be large enough.
   */
  | { readonly kind: "head"; readonly target: string; readonly overTokens: number }
  | { readonly kind: "final"; readonly target: string; readonly overTokens: number }
  | { readonly kind: "refuse"; readonly target: string; readonly overTokens: number };

export interface GuardInput {
  readonly projection: Projection;
  /** The targets in the order in which they may be tried, at least one. */
  readonly targets: readonly [GuardTarget, ...GuardTarget[]];
  readonly own?: OwnLimits;
  readonly thresholds?: GuardThresholds;
}

const priorityBonus = 1.2;
/**
 * Minimum room for the conversation: a share of the window without the fixed part, and a share of the budget. If there is a
 * budget, the smaller of the two amounts applies.
 */
const room = { ofWindow: 0.5, ofBudget: 0.25 };
/** However large the system prompt is, tools get at least this share of their usual room. */
const leastToolRoom = 0.25;
/** A budget is raised to this many times the size of the preamble, so that at least half of it is left for the conversation. */
const preamblesInBudget = 2;

/** The part of a request that no compaction can take out. */
export type FixedPart = Pick<Projection, "head" | "preamble">;

const nothingFixed: FixedPart = { head: 0, preamble: 0 };

/**
 * The tokens that a request may use on this target: the window minus buffer and reserve, or the budget if it is lower. A budget
 * is at least twice the preamble. If the fixed part is so large that the conversation would get less than its minimum room, the
 * limit is raised at the expense of reserve, buffer and budget. The answer then gets the remaining part of the window.
 */
export function effectiveLimit(
  { limit }: GuardTarget,
  own: OwnLimits = {},
  { head, preamble }: FixedPart = nothingFixed,
): number {
  const { window, reserve } = limit;
  const asked = budgetOf(limit, own);
  if (own.isStrict === true) return strictLimit(limit, asked);
  const budget = asked === undefined ? undefined : Math.max(asked, preamble * preamblesInBudget);
  const beside = Math.min(
    (window - head) * room.ofWindow,
    budget === undefined ? Number.POSITIVE_INFINITY : budget * room.ofBudget,
  );
  const most = window - Math.min(answerTokensMin, reserve);
  return Math.max(limitBeside(limit, budget), Math.min(most, Math.floor(head + beside)));
}

/** The budget, if the preamble takes more than half of it, so that a higher limit applies. Otherwise undefined. */
export function budgetTooSmall(
  { limit }: GuardTarget,
  own: OwnLimits,
  { preamble }: FixedPart,
): number | undefined {
  const budget = budgetOf(limit, own);
  return budget !== undefined && preamble * preamblesInBudget > budget ? budget : undefined;
}

/**
 * The tokens that tools may take, so that system prompt and tools take at most half of a budget. Never more than `usualTokens`,
 * which tools may take otherwise. A small part of these is always left, for the tools that the model uses.
 */
export function toolTokensInBudget(
  { limit }: GuardTarget,
  own: OwnLimits,
  { systemTokens, usualTokens }: { readonly systemTokens: number; readonly usualTokens: number },
): number {
  const budget = budgetOf(limit, own);
  if (budget === undefined) return usualTokens;
  const beside = Math.floor(budget / preamblesInBudget) - systemTokens;
  return Math.min(usualTokens, Math.max(beside, Math.floor(usualTokens * leastToolRoom)));
}

/** The limit that the window alone would give. Undefined if `limit` is not lower than that. */
export function windowLimitOf(
  target: GuardTarget,
  limit: number,
  fixed: FixedPart,
): number | undefined {
  const alone = effectiveLimit(target, {}, fixed);
  return limit < alone ? alone : undefined;
}

/** The limit of the guard's document: `contextWindow - bufferTokens - maxOutputTokens`. */
function strictLimit({ window, buffer, maxOutput }: Limit, budget: number | undefined): number {
  return Math.max(0, Math.min(window - buffer - maxOutput, budget ?? Number.POSITIVE_INFINITY));
}

/** The limit before it is raised for a large fixed part. */
function limitBeside(limit: Limit, budget: number | undefined): number {
  if (budget === undefined) return limit.limit;
  const { window, buffer, maxOutput } = limit;
  const reserve = Math.min(limit.reserve, reserveOf(maxOutput, Math.min(window, budget)));
  return Math.max(0, Math.min(window - buffer - reserve, budget));
}

/**
 * The share of the limit that is used. If the limit was raised for a large fixed part, this part is subtracted from both the
 * tokens and the limit.
 */
function filledOf({ tokens, head }: Projection, limit: number, usualLimit: number): number {
  if (limit === 0) return Number.POSITIVE_INFINITY;
  const isBeside = limit > usualLimit && head < limit;
  return isBeside ? (tokens - head) / (limit - head) : tokens / limit;
}

/** The lowest of the limits that apply in addition to the window. Undefined if only the window limits a request. */
export function budgetOf(
  limit: Parameters<typeof usualBudget>[0] & Pick<Limit, "maxOutput">,
  own: OwnLimits,
): number | undefined {
  const { contextBudget, agentLimit, priority } = own;
  const bonus = priority === 1 ? priorityBonus : 1;
  const raised = agentLimit === undefined ? undefined : Math.floor(agentLimit * bonus);
  if (contextBudget === "auto") return raised ?? besideAnswer(usualBudget(limit), limit, own);
  const budget = besideAnswer(contextBudget, limit, own);
  if (budget === undefined || raised === undefined) return budget ?? raised;
  return Math.min(budget, raised);
}

/** The part of a budget that a request may use, if the budget is also for the answer. */
function besideAnswer(
  budget: number | undefined,
  { maxOutput }: Pick<Limit, "maxOutput">,
  { outputInBudget }: OwnLimits,
): number | undefined {
  if (budget === undefined || outputInBudget === undefined) return budget;
  if (outputInBudget === "as asked") return budget - reserveOf(maxOutput, budget);
  return Math.max(0, budget - outputInBudget);
}

/** True if the size of the window is unknown and no other limit is set. Nothing is then too long until the provider says so. */
function isBoundless({ limit }: GuardTarget, own: OwnLimits = {}): boolean {
  const isGuess = limit.windowSource === "fallback" && own.isStrict !== true;
  return isGuess && budgetOf(limit, own) === undefined;
}

/** The effective limit, as far as the guard keeps it. Infinite if nothing is too long until the provider says so. */
export function limitInForce(target: GuardTarget, own: OwnLimits, fixed: FixedPart): number {
  return isBoundless(target, own) ? Number.POSITIVE_INFINITY : effectiveLimit(target, own, fixed);
}

/** The verdict before anything is taken out. */
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
  const limit = effectiveLimit(target, own, projection);
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
 * The verdict after every compaction was tried. If the window may have room for the request and a short answer, the request is
 * sent, even if it is over the limit. If the size of the window is a guess, only the provider knows whether the request fits. A
 * request that certainly leaves no room for an answer becomes the final turn if it fits into the window, and is refused
 * otherwise.
 */
export function assessAfter(input: GuardInput): Verdict {
  const [target] = input.targets;
  const { tokens, least } = input.projection;
  const limit = effectiveLimit(target, input.own, input.projection);
  if (hasRoom(target, least) && isLetGo(input, limit)) {
    const filled = filledOf(input.projection, limit, effectiveLimit(target, input.own));
    const { warn } = input.thresholds ?? usualThresholds;
    return { kind: "fits", target: target.name, filled, isWarning: filled >= warn };
  }
  const overTokens = Math.max(0, tokens - limit);
  const fitsRawWindow = least + outputTokensMin <= target.limit.named;
  return { kind: fitsRawWindow ? "final" : "refuse", target: target.name, overTokens };
}

/** With a strict limit, only tool schemas may exceed it. */
function isLetGo({ own, projection: { tokens, counters } }: GuardInput, limit: number): boolean {
  return own?.isStrict !== true || tokens - counters.schema <= limit;
}

/** Whether the window has room for this many tokens and a short answer. A window of unknown size always has room. */
function hasRoom({ limit: { named, reserve } }: GuardTarget, tokens: number): boolean {
  return tokens + Math.min(answerTokensMin, reserve) <= named;
}

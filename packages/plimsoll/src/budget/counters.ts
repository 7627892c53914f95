/** How the token counters change: a turn is seeded, adds tokens, and is committed. */

import type { Counters } from "../message/counters.ts";
import type { Usage } from "../message/message.ts";

export const noCounters: Counters = { current: 0, pending: 0, new: 0, schema: 0, reasoning: 0 };

/** A turn begins with these messages, which are not committed yet. */
export function seedTurn(
  counters: Counters,
  pendingTokens: number,
  schemaTokens: number,
): Counters {
  return { ...counters, pending: counters.pending + pendingTokens, schema: schemaTokens };
}

export function addNew(counters: Counters, tokens: number): Counters {
  return { ...counters, new: counters.new + tokens };
}

/**
 * Without reported usage, the estimates become the committed figure. Otherwise the provider's figure does, and it includes tool
 * schemas.
 */
export function commitTurn(counters: Counters, usage?: Usage): Counters {
  const estimated = counters.current + counters.pending + counters.new;
  return {
    ...counters,
    current: usage === undefined ? estimated : usage.inputTokens + usage.outputTokens,
    pending: 0,
    new: 0,
    reasoning: usage?.reasoningTokens ?? counters.reasoning,
  };
}

export interface Projection {
  /** The best estimate of the size of the request. */
  readonly tokens: number;
  /** The lowest plausible count. If even this exceeds a limit, the request certainly does. */
  readonly least: number;
  /** The count if the newest text is counted with the highest factor that this conversation has had so far. */
  readonly most: number;
  /** The part of the tokens that no compaction can remove: system prompt, tools, and the user's first message. */
  readonly head: number;
  /** True if this provider has reported no usage yet, so nobody knows how it counts. */
  readonly isGuess: boolean;
}

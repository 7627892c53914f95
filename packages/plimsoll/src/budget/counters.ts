/** How the counters move: seeded, accumulated, committed. */

import type { Counters } from "../message/counters.ts";
import type { Usage } from "../message/message.ts";

export const noCounters: Counters = { current: 0, pending: 0, new: 0, schema: 0, reasoning: 0 };

/** A turn begins with these messages, which nobody has counted yet. */
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

/** Without usage the estimates become the truth; with it, what the provider reported does, schemas included. */
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
  /** The best estimate. */
  readonly tokens: number;
  /** The lowest count that is plausible: what is over a limit even so is known to be. */
  readonly least: number;
  /** The count if the newest words take as many tokens as any that this conversation has had. */
  readonly most: number;
  /** Of the tokens, those that no compaction takes out: system prompt, tools, and the user's first message. */
  readonly head: number;
  /** Nobody knows yet how this provider counts: it has reported nothing. */
  readonly isGuess: boolean;
}

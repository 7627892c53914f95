/**
 * The guard's counters: the tokens of a request by the time at which they joined the conversation. The projection is their sum,
 * so the guard counts with them. Pure.
 *
 * Invariants: no counter is ever negative. Within a turn, no counter becomes smaller, unless a compaction takes something out of
 * the request. Reasoning is part of the answer and has no effect on the sum.
 */

export interface ContextCounters {
  /** What the last turn's request and answer left in the conversation. Contains the tool schemas after the first turn. */
  readonly current: number;
  /** What has come since then, when the turn began. In the first turn, this is everything. */
  readonly pending: number;
  /** What this turn has added so far: results of tools, and the model's messages between them. */
  readonly fresh: number;
  /** What is about to be added, and is not in the request yet. */
  readonly extra: number;
  /** The tool schemas. They are part of `current` or `pending`. */
  readonly schema: number;
  /** The thinking budget of the request, for display. 0 if it names none in tokens. */
  readonly reasoning: number;
}

export interface Seed {
  /** Tokens of the conversation after the last turn. 0 before the first turn. */
  readonly committed: number;
  readonly schema: number;
  readonly reasoning: number;
}

/**
 * The counters at the beginning of a turn whose request has `tokens` tokens. If the conversation has become smaller than it was
 * after the last turn, fewer tokens are committed.
 */
export function seededCounters(
  tokens: number,
  { committed, schema, reasoning }: Seed,
): ContextCounters {
  const current = Math.min(notNegative(committed), notNegative(tokens));
  return {
    current,
    pending: notNegative(tokens) - current,
    fresh: 0,
    extra: 0,
    schema: notNegative(schema),
    reasoning: notNegative(reasoning),
  };
}

/** The tokens that the guard compares with the limit. */
export function projectedTokens({ current, pending, fresh, extra }: ContextCounters): number {
  return current + pending + fresh + extra;
}

/** After more messages of the same turn. */
export function grownCounters(counters: ContextCounters, tokens: number): ContextCounters {
  return { ...counters, fresh: counters.fresh + notNegative(tokens) };
}

/** With something that may be added. */
export function countersWith(counters: ContextCounters, extraTokens: number): ContextCounters {
  return { ...counters, extra: counters.extra + notNegative(extraTokens) };
}

function notNegative(tokens: number): number {
  return Math.max(0, Math.ceil(tokens));
}

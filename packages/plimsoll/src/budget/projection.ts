/** The size of a request in the provider's tokens, and how wrong that estimate may be. Pure. */

import { type ContextCounters, countersWith, grownCounters, projectedTokens } from "./counters.ts";

export interface Projection {
  /** The tokens by the time at which they joined the conversation. */
  readonly counters: ContextCounters;
  /** The best estimate: the sum of the counters. */
  readonly tokens: number;
  /** The lowest plausible count. If even this is over a limit, the request certainly is. */
  readonly least: number;
  /** The count if the newest words need as many tokens per word as the densest text of this conversation so far. */
  readonly most: number;
  /** The part of `tokens` that no compaction can take out: system prompt, tools, and the user's first message. */
  readonly head: number;
  /** The part of `head` that is the system prompt and the tools. */
  readonly preamble: number;
  /** True until the provider has reported usage. Until then Plimsoll does not know how the provider counts. */
  readonly isGuess: boolean;
}

/** The projection that has these counters. */
export function projectionOf(
  counters: ContextCounters,
  others: Omit<Projection, "counters" | "tokens">,
): Projection {
  return { ...others, counters, tokens: projectedTokens(counters) };
}

/** The projection after this turn has added messages of this size. */
export function grown(projection: Projection, tokens: number): Projection {
  return enlarged(projection, grownCounters(projection.counters, tokens));
}

/** The projection if something of this size were added. */
export function projectionWith(projection: Projection, extraTokens: number): Projection {
  return enlarged(projection, countersWith(projection.counters, extraTokens));
}

function enlarged({ tokens, ...projection }: Projection, counters: ContextCounters): Projection {
  const added = projectedTokens(counters) - tokens;
  const { least, most } = projection;
  return projectionOf(counters, { ...projection, least: least + added, most: most + added });
}

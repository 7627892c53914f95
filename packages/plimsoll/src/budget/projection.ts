/** The size of a request in the provider's tokens, and how wrong that estimate may be. Pure. */

export interface Projection {
  /** The best estimate. */
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

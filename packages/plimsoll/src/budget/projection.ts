/** How large a request would be as its provider counts, and how far that can be wrong. Pure. */

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

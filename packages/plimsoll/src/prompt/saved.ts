/** How many tokens of a request Plimsoll saved. Pure. */

export interface SavedFrom {
  /** Tokens of the request as the client sent it. */
  readonly tokensBefore: number;
  /** Tokens of the request that Plimsoll sent. */
  readonly tokensAfter: number;
  /** Size of the window. Absent in the oldest records. */
  readonly window?: number | undefined;
}

/**
 * The tokens that would have been sent without Plimsoll, less those that were. No provider takes more than the window, so what a
 * client's history has beyond it counts as nothing.
 */
export function savedTokensOf({ tokensBefore, tokensAfter, window }: SavedFrom): number {
  return Math.max(0, sendableTokensOf({ tokensBefore, window }) - tokensAfter);
}

/** The tokens of the client's request, or of the window if that is smaller. */
export function sendableTokensOf({ tokensBefore, window }: Omit<SavedFrom, "tokensAfter">): number {
  return Math.min(tokensBefore, window ?? tokensBefore);
}

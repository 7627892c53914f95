/** How much of the window what our own tools answer may take. */

/** Of the limit; and of what is left under it, because counts are not exact. */
const share = { ofLimit: 0.25, ofRest: 0.8 };

export function answerRoom(limitTokens: number, leftTokens: number): number {
  return Math.floor(Math.min(limitTokens * share.ofLimit, leftTokens * share.ofRest));
}

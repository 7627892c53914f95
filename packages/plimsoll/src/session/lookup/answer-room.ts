/** How much of the window all answers of Plimsoll's own tools may take together. */

/**
 * An answer may take at most these shares of the limit and of the free room. The second share is below 1 because counts are not
 * exact.
 */
const share = { ofLimit: 0.25, ofRest: 0.8 };

export function answerRoom(limitTokens: number, leftTokens: number): number {
  return Math.floor(Math.min(limitTokens * share.ofLimit, leftTokens * share.ofRest));
}

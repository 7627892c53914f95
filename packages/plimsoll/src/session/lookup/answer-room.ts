/** How much of the window the answers of Plimsoll's own tools may take. */

/** Shares of the limit, and of the room that is left below it. Not all of that room, because counts are not exact. */
const share = { ofLimit: 0.25, ofRest: 0.8 };

export function answerRoom(limitTokens: number, leftTokens: number): number {
  return Math.floor(Math.min(limitTokens * share.ofLimit, leftTokens * share.ofRest));
}

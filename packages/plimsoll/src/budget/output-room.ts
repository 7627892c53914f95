/**
 * Decides on the maximum answer length in a request: the length that the client wants if there is room, otherwise a shorter one.
 */

import type { OutputSize } from "../message/message.ts";
import type { Limit } from "./limit.ts";
import type { Projection } from "./projection.ts";

/** Smallest thinking budget that providers accept (Anthropic, "Extended thinking", 2026-11). */
const thinkingTokensMin = 1024;
/** If a request leaves fewer tokens than this for its answer, it becomes the final turn. */
export const answerTokensMin = 1024;
const answerShare = 0.75;
/** Smallest useful answer, and the smallest value that providers accept (OpenAI Responses, `max_output_tokens`, 2026-11). */
export const outputTokensMin = 16;
/** Share of the input that is kept free because counts are not exact. */
const marginShare = 0.005;

export type InputSize = Pick<Projection, "tokens" | "least" | "most" | "isGuess">;

/**
 * Shortens the answer if there is not enough room for the requested length. It then leaves some room free in case the input was
 * counted too low: the buffer, or a quarter of the remaining room. An answer that fits by the best estimate is shortened only if
 * `input.most` leaves too little room for it. If the input size is a guess, the answer is not made shorter than the reserve: the
 * request may still fit, and if it does not, the provider's "too long" error says how much room there is. A thinking budget is
 * halved until it fits, because a budget that follows the room exactly would change with every turn.
 */
export function fitOutput(
  requested: OutputSize,
  { window, buffer, reserve, windowSource }: Limit,
  input: InputSize,
): OutputSize {
  const beside = (tokens: number): number => window - Math.ceil(tokens * (1 + marginShare));
  const [left, surelyLeft] = [beside(input.tokens), beside(input.most)];
  // If the input alone fills the window, a shorter answer does not help.
  const isTooLong = input.least >= window;
  if (windowSource === "fallback" || isTooLong || requested.maxTokens <= surelyLeft)
    return requested;
  const shorter = Math.max(left - buffer, Math.floor(left * answerShare));
  const known = requested.maxTokens <= left ? surelyLeft : Math.min(shorter, surelyLeft);
  // The count may be too high if it is a guess, or if it leaves almost no room for an answer.
  const isDoubtful = input.isGuess || left < answerTokensMin / 2;
  const possible = isDoubtful ? Math.min(reserve, window - input.least) : answerTokensMin;
  const maxTokens = Math.min(requested.maxTokens, Math.max(known, possible, outputTokensMin));
  return shortened(requested, maxTokens);
}

/** Limits the answer to this length, and halves the thinking budget until it fits. */
function shortened(requested: OutputSize, maxTokens: number): OutputSize {
  const { thinkingTokens } = requested;
  // A thinking budget above the answer length is for thinking between calls, and is not part of the answer.
  if (thinkingTokens === undefined || thinkingTokens >= requested.maxTokens)
    return { ...requested, maxTokens };
  let thinking = thinkingTokens;
  while (thinking >= maxTokens && thinking > thinkingTokensMin)
    thinking = Math.max(thinkingTokensMin, Math.floor(thinking / 2));
  return { maxTokens: Math.max(maxTokens, thinking + 1), thinkingTokens: thinking };
}

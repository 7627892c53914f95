/** How long an answer a request may ask for: as long as its client wishes while there is room, else what is left. */

import type { OutputSize } from "../message/message.ts";
import type { Projection } from "./counters.ts";
import type { Limit } from "./limit.ts";

/** Providers take no thinking budget below this (Anthropic, "Extended thinking", 2026-11). */
const thinkingTokensMin = 1024;
/** A request that leaves less than this for its answer is the last one. */
export const answerTokensMin = 1024;
const answerShare = 0.75;
/** Less is no answer, and no valid wish either (OpenAI Responses, `max_output_tokens`, 2026-11). */
export const outputTokensMin = 16;
/** Counts are not exact: so much of the input is kept free. */
const marginShare = 0.005;

export type InputSize = Pick<Projection, "tokens" | "least" | "most" | "isGuess">;

/**
 * Where an answer must be shorter, room stays free for what was counted too low: the buffer, or a quarter of what is left. An
 * answer that fits by the best estimate is shortened only for words that may take as many tokens as this conversation's worst. On
 * a guess it is not shorter than the reserve: the provider knows better, and its "too long" says how much is left. A thinking
 * budget is halved until it fits, so that it does not change with every turn.
 */
export function fitOutput(
  requested: OutputSize,
  { window, buffer, reserve, windowSource }: Limit,
  input: InputSize,
): OutputSize {
  const beside = (tokens: number): number => window - Math.ceil(tokens * (1 + marginShare));
  const [left, surelyLeft] = [beside(input.tokens), beside(input.most)];
  // What does not fit at all does not fit with a shorter answer either.
  const isTooLong = input.least >= window;
  if (windowSource === "fallback" || isTooLong || requested.maxTokens <= surelyLeft)
    return requested;
  const shorter = Math.max(left - buffer, Math.floor(left * answerShare));
  const known = requested.maxTokens <= left ? surelyLeft : Math.min(shorter, surelyLeft);
  // A guess, or a count that leaves next to no room for an answer, may be too high.
  const isDoubtful = input.isGuess || left < answerTokensMin / 2;
  const possible = isDoubtful ? Math.min(reserve, window - input.least) : answerTokensMin;
  const maxTokens = Math.min(requested.maxTokens, Math.max(known, possible, outputTokensMin));
  return shortened(requested, maxTokens);
}

/** The answer at this length; what it may think is halved until it fits into that. */
function shortened(requested: OutputSize, maxTokens: number): OutputSize {
  const { thinkingTokens } = requested;
  // A budget over the answer's length is for thinking between calls, and has no part in it.
  if (thinkingTokens === undefined || thinkingTokens >= requested.maxTokens)
    return { ...requested, maxTokens };
  let thinking = thinkingTokens;
  while (thinking >= maxTokens && thinking > thinkingTokensMin)
    thinking = Math.max(thinkingTokensMin, Math.floor(thinking / 2));
  return { maxTokens: Math.max(maxTokens, thinking + 1), thinkingTokens: thinking };
}

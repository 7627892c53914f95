/** How long an answer a request may ask for: as long as its client wishes while there is room, else what is left. */

import type { OutputSize } from "../message/message.ts";
import type { Limit } from "./limit.ts";

/** Providers take no thinking budget below this (Anthropic, "Extended thinking", 2026-11). */
const thinkingTokensMin = 1024;
/** Counts are not exact: so much of the input is kept free. */
const marginShare = 0.005;

/** The best estimate of a request, and the lowest plausible one. */
export interface InputSize {
  readonly tokens: number;
  readonly least: number;
}

/**
 * Less than the reserve, for which a request leaves room, only where it is known that there is less: an input may be
 * overestimated. A thinking budget is halved until it fits, so that it does not change with every turn.
 */
export function fitOutput(
  wish: OutputSize,
  { window, buffer, reserve, windowSource }: Limit,
  input: InputSize,
): OutputSize {
  const left = window - Math.ceil(input.tokens * (1 + marginShare));
  // What does not fit at all does not fit with a shorter answer either.
  const isTooLong = input.least >= window;
  if (windowSource === "fallback" || isTooLong || wish.maxTokens <= left) return wish;
  const kept = Math.min(reserve, window - input.least);
  // Where an answer is made shorter anyway, the buffer stays free for what was counted too low.
  const room = Math.max(left - buffer, kept, 1);
  const maxTokens = Math.min(wish.maxTokens, room);
  const { thinkingTokens } = wish;
  // A budget over the answer's length is for thinking between calls, and has no part in it.
  if (thinkingTokens === undefined || thinkingTokens >= wish.maxTokens)
    return { ...wish, maxTokens };
  let thinking = thinkingTokens;
  while (thinking >= maxTokens && thinking > thinkingTokensMin)
    thinking = Math.max(thinkingTokensMin, Math.floor(thinking / 2));
  return { maxTokens: Math.max(maxTokens, thinking + 1), thinkingTokens: thinking };
}

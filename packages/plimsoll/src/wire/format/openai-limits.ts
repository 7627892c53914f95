/** Limits for media in a request to OpenAI, on both of its wires. */

import type { MediaLimits } from "./wire.ts";

/**
 * Limits from OpenAI's "Images and vision" guide, 2026-11. The limits of compatible servers are unknown, so Plimsoll
 * assumes the same limits for them.
 */
export function openaiMediaLimits(): MediaLimits {
  return { maxBytes: 50_000_000, maxCount: 500 };
}

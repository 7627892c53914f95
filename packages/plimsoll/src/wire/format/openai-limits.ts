/** What a request to OpenAI may carry, on both of its wires. */

import type { MediaLimits } from "./wire.ts";

/** "Images and vision" guide, 2026-11. Of servers that speak like OpenAI it is not known: any of them takes as little as this. */
export function openaiMediaLimits(): MediaLimits {
  return { maxBytes: 50_000_000, maxCount: 500 };
}

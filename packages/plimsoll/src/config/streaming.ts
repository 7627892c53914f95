/** What Plimsoll does with an answer that stops before it is complete. */

import type { Config } from "./schema.ts";

export interface StreamingSettings {
  /** After this many milliseconds without a token, the library gives an answer up. */
  readonly inactivityMs: number;
  /** From this share of an answer on, from 0 to 1, the part that arrived is continued instead of repeated. */
  readonly minShare: number;
  readonly action: "create_followup_task" | "retry" | "escalate";
  readonly savesPartial: boolean;
}

export function streamingOf({ llm }: Config): StreamingSettings {
  const { timeout_inactivity_seconds: seconds = 30, on_timeout: onTimeout = {} } =
    llm?.streaming ?? {};
  return {
    inactivityMs: seconds * 1000,
    minShare: onTimeout.min_completion_percent ?? 0.5,
    action: onTimeout.fallback_action ?? "create_followup_task",
    savesPartial: onTimeout.save_partial_to_temp ?? true,
  };
}

/** The progress bar of a phase in a row of the overview. */

import type { ContextBreakingUpdateEvent } from "plimsoll/events";
import { isRecoveryPhase } from "plimsoll/watch/phase-words";

export interface ShownProgress {
  /** Progress in percent, from 0 to 100. Undefined if the progress is unknown. The bar then pulses. */
  readonly value: number | undefined;
  readonly state: "running" | "success" | "recovery" | "failed";
}

export function progressOf(
  event: Pick<ContextBreakingUpdateEvent, "phase" | "progress">,
): ShownProgress {
  const { phase, progress } = event;
  const running = isRecoveryPhase(event) ? "recovery" : "running";
  return {
    value: progress < 0 ? undefined : Math.min(100, progress),
    state: phase === "success" || phase === "failed" ? phase : running,
  };
}

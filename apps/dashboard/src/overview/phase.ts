/** How a phase is shown in a row. */

import type { ContextBreakingUpdateEvent } from "plimsoll/events";

export interface ShownProgress {
  /** 0 to 100; undefined: nobody knows, it pulses. */
  readonly value: number | undefined;
  readonly state: "running" | "success" | "recovery";
}

export function progressOf({
  phase,
  progress,
}: Pick<ContextBreakingUpdateEvent, "phase" | "progress">): ShownProgress {
  return {
    value: progress < 0 ? undefined : Math.min(100, progress),
    state:
      phase === "success"
        ? "success"
        : phase === "recovery" || phase === "handover"
          ? "recovery"
          : "running",
  };
}

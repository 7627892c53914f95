/** The phases of a compaction: their names and colours, which of them are the last, and how long they stay on screen. Pure. */

import type { ProgressSettings } from "../message/api.ts";
import type { CompactionPhase, ContextBreakingUpdateEvent } from "../message/event.ts";

/** The state of a window or of a compaction. The four states are shown in blue, green, orange and red. */
export type FillState = "normal" | "p1" | "warning" | "recovery";

type Phase = Pick<ContextBreakingUpdateEvent, "phase">;

/** The phases in the order in which a compaction may enter them. A page shows the last one only for a compaction that failed. */
export const phases: readonly { readonly phase: CompactionPhase; readonly name: string }[] = [
  { phase: "detection", name: "Detection" },
  { phase: "summarize-old", name: "Summarize old" },
  { phase: "prioritize-recent", name: "Prioritize recent" },
  { phase: "content-chunking", name: "Content chunking" },
  { phase: "discard-low-rel", name: "Discard low relevance" },
  { phase: "hybrid", name: "Hybrid" },
  { phase: "success", name: "Success" },
  { phase: "recovery", name: "Recovery" },
  { phase: "handover", name: "Handover" },
  { phase: "failed", name: "Failed" },
];

/** Whether this phase is the last. A compaction ends with success, with the handover of a recovery, or it has failed. */
export function isLastPhase({ phase }: Phase): boolean {
  return phase === "success" || phase === "handover" || phase === "failed";
}

export function isRecoveryPhase({ phase }: Phase): boolean {
  return phase === "recovery" || phase === "handover";
}

/** The badge of a compaction, such as "P1: To Do List". Without an area: "P1". */
export function badgeText({
  level,
  area,
}: NonNullable<ContextBreakingUpdateEvent["priority"]>): string {
  return area === undefined ? `P${level}` : `P${level}: ${area}`;
}

/** The state to show for a running compaction. `warnsFrom` is the warning threshold in percent. */
export function phaseState(
  event: ContextBreakingUpdateEvent,
  { highlight_p1 }: Pick<ProgressSettings, "highlight_p1">,
  warnsFrom: number,
): FillState {
  const { phase, progress, priority } = event;
  if (isRecoveryPhase(event)) return "recovery";
  if (phase === "failed") return "warning";
  if (highlight_p1 && priority?.level === 1) return "p1";
  return progress >= warnsFrom && phase !== "success" ? "warning" : "normal";
}

/**
 * If no event about a running compaction arrives for this many milliseconds, it is hidden, because the service may have stopped.
 */
const silenceMs = 60_000;

/** How long to show a compaction, in milliseconds. */
export function hideAfterMs(
  { state }: { readonly state: "running" | "done" },
  { auto_hide_seconds }: Pick<ProgressSettings, "auto_hide_seconds">,
): number {
  return state === "running" ? silenceMs : Math.min(10, Math.max(1, auto_hide_seconds)) * 1000;
}

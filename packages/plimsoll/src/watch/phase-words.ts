/** The phases of a compaction: what they are called, which of them end it, how they look, how long they stay. Pure. */

import type { ProgressSettings } from "../message/api.ts";
import type { CompactionPhase, ContextBreakingUpdateEvent } from "../message/event.ts";

/** Of a window, and of a compaction: blue, green, orange, red. */
export type FillState = "normal" | "p1" | "warning" | "recovery";

type Phase = Pick<ContextBreakingUpdateEvent, "phase">;

/** In the order in which a chain may enter them. */
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
];

/** Success, or the handover of a recovery, ends a compaction. */
export function isLastPhase({ phase }: Phase): boolean {
  return phase === "success" || phase === "handover";
}

export function isRecoveryPhase({ phase }: Phase): boolean {
  return phase === "recovery" || phase === "handover";
}

/** `warnsFrom`: of 100. */
export function phaseState(
  event: ContextBreakingUpdateEvent,
  { highlight_p1 }: Pick<ProgressSettings, "highlight_p1">,
  warnsFrom: number,
): FillState {
  const { phase, progress, priority } = event;
  if (isRecoveryPhase(event)) return "recovery";
  if (highlight_p1 && priority?.level === 1) return "p1";
  return progress >= warnsFrom && phase !== "success" ? "warning" : "normal";
}

/** A compaction of which nothing more is heard is not shown for ever: its service may be gone. */
const silenceMs = 60_000;

/** After how long what is shown of a compaction is hidden again. */
export function hideAfterMs(
  { state }: { readonly state: "running" | "done" },
  { auto_hide_seconds }: Pick<ProgressSettings, "auto_hide_seconds">,
): number {
  return state === "running" ? silenceMs : Math.min(10, Math.max(1, auto_hide_seconds)) * 1000;
}

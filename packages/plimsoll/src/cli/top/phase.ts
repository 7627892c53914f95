/** The nine phases of a compaction in a line: icon, message, how full the window is by now, and the area it must spare. Pure. */

import type { CompactionPhase, ContextBreakingUpdateEvent } from "../../message/event.ts";
import { progressBar } from "./bars.ts";
import { clipped } from "./cells.ts";
import { apart, type Line, span, type Tone } from "./lines.ts";
import type { RowSettings } from "./row.ts";

const icons: Readonly<Record<CompactionPhase, string>> = {
  detection: "○",
  "summarize-old": "≡",
  "prioritize-recent": "▲",
  "content-chunking": "▒",
  "discard-low-rel": "×",
  hybrid: "±",
  success: "√",
  recovery: "!",
  handover: "»",
};

export function phaseIcon({ phase }: Pick<ContextBreakingUpdateEvent, "phase">): string {
  return icons[phase] ?? "•";
}

function phaseTone(
  { phase, progress, priority }: ContextBreakingUpdateEvent,
  { warningThreshold, mustHighlightP1 }: RowSettings,
): Tone {
  if (phase === "recovery" || phase === "handover") return "recovery";
  if (priority?.level === 1 && mustHighlightP1) return "P1";
  return progress >= warningThreshold * 100 ? "warning" : "normal";
}

export function phaseLine(
  event: ContextBreakingUpdateEvent,
  settings: RowSettings,
  columns: number,
): Line {
  const { message, progress, priority } = event;
  const tone = phaseTone(event, settings);
  const share = progress < 0 ? "…" : `${Math.min(100, progress)} %`;
  const bar = progressBar(progress, tone, columns < 100 ? 12 : 30);
  const badge = priority && `P${priority.level} ${clipped(priority.area, 16)} `;
  const said: Line = [
    span(` ${phaseIcon(event)} `, tone),
    span(badge ?? "", priority?.level === 1 ? "P1" : "warning"),
    span(clipped(message, columns)),
  ];
  return apart(said, [...bar, span(`${share.padStart(6)} `)], columns);
}

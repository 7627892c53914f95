/** The phases of a compaction as a line: icon, message, how full the window is, and the badge of the priority. Pure. */

import type { CompactionPhase, ContextBreakingUpdateEvent } from "../../message/event.ts";
import { badgeText, phaseState } from "../../watch/phase-words.ts";
import type { RowSettings } from "../../watch/row-state.ts";
import { progressBar } from "./bars.ts";
import { clipped } from "./cells.ts";
import { apart, type Line, span } from "./lines.ts";

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
  failed: "!",
};

export function phaseIcon({ phase }: Pick<ContextBreakingUpdateEvent, "phase">): string {
  return icons[phase] ?? "•";
}

export function phaseLine(
  event: ContextBreakingUpdateEvent,
  { progress: settings, warningThreshold }: RowSettings,
  columns: number,
): Line {
  const { message, progress, priority } = event;
  const tone = phaseState(event, settings, warningThreshold * 100);
  const share = progress < 0 ? "…" : `${Math.min(100, progress)} %`;
  const bar = progressBar(progress, tone, columns < 100 ? 12 : 30);
  const badge = priority && `${clipped(badgeText(priority), 20)} `;
  const stateLine: Line = [
    span(` ${phaseIcon(event)} `, tone),
    span(badge ?? "", priority?.level === 1 ? "p1" : "warning"),
    span(clipped(message, columns)),
  ];
  return apart(stateLine, [...bar, span(`${share.padStart(6)} `)], columns);
}

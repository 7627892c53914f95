/** A compaction as it runs: its phases gathered from events, and how its bar looks. Pure. */

import type { ProgressSettings } from "plimsoll/api";
import type {
  CompactionEndEvent,
  CompactionPhase,
  ContextBreakingUpdateEvent,
  PlimsollEvent,
} from "plimsoll/events";

export interface Run {
  readonly turn: string;
  /** As they were entered; the last one is where it is. */
  readonly updates: readonly ContextBreakingUpdateEvent[];
  /** Running: more is to come. */
  readonly state: "running" | "done";
  readonly end?: CompactionEndEvent;
}

/** A chain that enters more phases than this is shown by its newest. */
const updatesMost = 100;

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

/** What an event makes of what is shown; the same run where it says nothing about it. */
export function advance(run: Run | undefined, event: PlimsollEvent): Run | undefined {
  switch (event.type) {
    case "context-breaking-update":
      return enter(run, event);
    case "compaction-end":
      return run?.turn === event.turn ? { ...run, state: "done", end: event } : run;
    case "turn-end":
      return run?.turn === event.turn && run.state === "running" ? { ...run, state: "done" } : run;
    default:
      return run;
  }
}

function enter(run: Run | undefined, event: ContextBreakingUpdateEvent): Run {
  const isSame = run?.turn === event.turn && run.end === undefined;
  const before = isSame ? run.updates : [];
  const isLast = event.phase === "success" || event.phase === "handover";
  return {
    turn: event.turn,
    updates: [...before, event].slice(-updatesMost),
    state: isLast ? "done" : "running",
  };
}

export type Tone = "normal" | "p1" | "warning" | "recovery";

export interface Bar {
  readonly tone: Tone;
  /** 0 to 100; absent: it pulses. */
  readonly percent?: number;
}

/** Phases in which nothing is known of how far it is: a model may be writing. */
const pulsing: ReadonlySet<CompactionPhase> = new Set(["summarize-old", "recovery"]);

export function barOf(
  { phase, progress, priority }: ContextBreakingUpdateEvent,
  { highlight_p1 }: Pick<ProgressSettings, "highlight_p1">,
): Bar {
  const tone = toneOf(phase, progress, highlight_p1 && priority?.level === 1);
  if (pulsing.has(phase) || progress < 0) return { tone };
  return { tone, percent: Math.min(100, progress) };
}

function toneOf(phase: CompactionPhase, progress: number, isP1: boolean): Tone {
  if (phase === "recovery" || phase === "handover") return "recovery";
  if (isP1) return "p1";
  return progress >= 95 && phase !== "success" ? "warning" : "normal";
}

export const usualProgress: ProgressSettings = {
  show: true,
  detail: "normal",
  auto_hide_seconds: 3,
  highlight_p1: true,
};

/** A run of which nothing more is heard is not shown for ever: its service may be gone. */
const silenceMs = 60_000;

/** After how long what is shown is hidden again. */
export function hideAfterMs({ state }: Run, { auto_hide_seconds }: ProgressSettings): number {
  return state === "running" ? silenceMs : Math.min(10, Math.max(1, auto_hide_seconds)) * 1000;
}

/** A running compaction: its phases, collected from events, and the state of its bar. Pure. */

import type {
  CompactionEndEvent,
  CompactionPhase,
  ContextBreakingUpdateEvent,
  PlimsollEvent,
} from "plimsoll/events";
import { type FillState, isLastPhase, phaseState } from "plimsoll/watch/phase-words";
import type { RowSettings } from "plimsoll/watch/row-state";

export interface Run {
  readonly turn: string;
  /** The updates so far, one for each phase, in order. The last one is the current phase. */
  readonly updates: readonly ContextBreakingUpdateEvent[];
  /** `running` means that more phases will follow. */
  readonly state: "running" | "done";
  readonly end?: CompactionEndEvent;
}

/** Maximum number of updates to keep. The newest are shown. */
const updatesMost = 100;

/** The run after an event. Returns the same run if the event does not belong to it. */
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
  return {
    turn: event.turn,
    updates: [...before, event].slice(-updatesMost),
    state: isLastPhase(event) ? "done" : "running",
  };
}

export interface Bar {
  readonly tone: FillState;
  /** Progress in percent, from 0 to 100. Absent if the progress is unknown. The bar then pulses. */
  readonly percent?: number;
}

/** Phases whose progress is unknown, for example because a model is writing. */
const pulsing: ReadonlySet<CompactionPhase> = new Set(["summarize-old", "recovery"]);

export function barOf(
  event: ContextBreakingUpdateEvent,
  { progress: settings, warningThreshold }: RowSettings,
): Bar {
  const { phase, progress } = event;
  const tone = phaseState(event, settings, warningThreshold * 100);
  if (pulsing.has(phase) || progress < 0) return { tone };
  return { tone, percent: Math.min(100, progress) };
}

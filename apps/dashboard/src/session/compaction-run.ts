/** A compaction as it runs: its phases gathered from events, and how its bar looks. Pure. */

import type { ProgressSettings } from "plimsoll/api";
import type {
  CompactionEndEvent,
  CompactionPhase,
  ContextBreakingUpdateEvent,
  PlimsollEvent,
} from "plimsoll/events";
import { type FillState, isLastPhase, phaseState } from "plimsoll/watch/phase-words";

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
  return {
    turn: event.turn,
    updates: [...before, event].slice(-updatesMost),
    state: isLastPhase(event) ? "done" : "running",
  };
}

export interface Bar {
  readonly tone: FillState;
  /** 0 to 100; absent: it pulses. */
  readonly percent?: number;
}

/** Phases in which nothing is known of how far it is: a model may be writing. */
const pulsing: ReadonlySet<CompactionPhase> = new Set(["summarize-old", "recovery"]);

/** Of 100: from here on the guard has a compaction made. */
const warnsFrom = 95;

export function barOf(
  event: ContextBreakingUpdateEvent,
  settings: Pick<ProgressSettings, "highlight_p1">,
): Bar {
  const { phase, progress } = event;
  const tone = phaseState(event, settings, warnsFrom);
  if (pulsing.has(phase) || progress < 0) return { tone };
  return { tone, percent: Math.min(100, progress) };
}

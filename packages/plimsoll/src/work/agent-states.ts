/** What each agent does now, derived from the events of its turns. */

import type { PlimsollEvent } from "../message/event.ts";

export type AgentState = "idle" | "busy" | "error";

export interface AgentActivity {
  /** The turns that run now. */
  readonly turns: readonly string[];
  readonly state: AgentState;
}

/** No agent runs so many turns at once. Older ones never ended, for example because the process was killed. */
const turnsMax = 100;

export const noActivity: AgentActivity = { turns: [], state: "idle" };

/** The activity of the agent whose session emitted the event. Returns the same value if the event changes nothing. */
export function afterEvent(activity: AgentActivity, event: PlimsollEvent): AgentActivity {
  if (event.type === "turn-start") {
    if (activity.turns.includes(event.turn)) return activity;
    return { turns: [...activity.turns, event.turn].slice(-turnsMax), state: "busy" };
  }
  if (event.type !== "turn-end") return activity;
  const turns = activity.turns.filter((turn) => turn !== event.turn);
  if (turns.length > 0) return { turns, state: "busy" };
  const state = event.status === "failed" ? "error" : "idle";
  return activity.turns.length === 0 && activity.state === state ? activity : { turns, state };
}

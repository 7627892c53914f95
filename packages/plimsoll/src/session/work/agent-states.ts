/** Follows the turns of all agents, and says when an agent becomes busy, idle, or fails. */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import {
  type AgentActivity,
  type AgentState,
  afterEvent,
  noActivity,
} from "../../work/agent-states.ts";
import type { EventBus } from "../log/event-bus.ts";
import type { Tenant } from "./listing.ts";

export interface AgentStates {
  /** By the names of the agents. */
  of(tenant: Tenant): ReadonlyMap<string, AgentState>;
}

/** Maximum number of agents to follow. If there are more, those that ran longest ago are forgotten, and count as idle. */
const agentsMost = 10_000;

export function createAgentStates({ bus }: { readonly bus: EventBus }): AgentStates {
  const known = new BoundedMap<string, AgentActivity>({ entries: agentsMost });
  bus.subscribe(({ tenant, event }) => {
    if (event.type !== "turn-start" && event.type !== "turn-end") return;
    const { agent } = event;
    if (agent === undefined) return;
    const key = keyOf(tenant, agent);
    const before = known.get(key) ?? noActivity;
    const after = afterEvent(before, event);
    known.set(key, after);
    if (after.state === before.state) return;
    const { session, at } = event;
    const news = { type: "agent-state-changed", session, at, agentName: agent } as const;
    bus.emit({ tenant, event: { ...news, state: after.state } });
  });
  return {
    of: (tenant) => {
      const states = new Map<string, AgentState>();
      for (const key of known.keys()) {
        const [owner, agent = ""] = key.split("\0");
        const { state } = known.peek(key) ?? noActivity;
        if (tenant === undefined || tenant === owner)
          states.set(agent, together(states.get(agent), state));
      }
      return states;
    },
  };
}

/** The state of agents of several tenants that have the same name. */
function together(one: AgentState | undefined, other: AgentState): AgentState {
  if (one === "busy" || other === "busy") return "busy";
  return one === "error" ? "error" : other;
}

function keyOf(tenant: string, agent: string): string {
  return `${tenant}\0${agent}`;
}

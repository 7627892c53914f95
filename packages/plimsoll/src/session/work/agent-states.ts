/** Follows the turns of all agents, and says when an agent becomes busy, idle, or fails. */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import { type AgentActivity, afterEvent, noActivity } from "../../work/agent-states.ts";
import type { EventBus } from "../log/event-bus.ts";
import type { Tenant } from "./change-items.ts";

export interface AgentStates {
  of(tenant: Tenant): ReadonlyMap<string, AgentActivity>;
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
    of: (tenant) =>
      new Map(
        [...known.keys()].flatMap((key) => {
          const [owner, agent = ""] = key.split("\0");
          const isOwn = tenant === undefined || tenant === owner;
          return isOwn ? [[agent, known.peek(key) ?? noActivity] as const] : [];
        }),
      ),
  };
}

function keyOf(tenant: string, agent: string): string {
  return `${tenant}\0${agent}`;
}

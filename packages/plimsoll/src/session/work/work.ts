/** Tasks and tickets: what agents and people do with them. Start reading here. */

import type { RetryPolicy } from "../../config/retry.ts";
import type { AgentActivity } from "../../work/agent-states.ts";
import { actionOf } from "../../work/ticket.ts";
import type { EventBus } from "../log/event-bus.ts";
import { createAgentStates } from "./agent-states.ts";
import { type Asked, type AskWorld, askPeople, type Question } from "./ask-people.ts";
import { createItems, type ItemsWorld, type Tenant } from "./change-items.ts";
import { type Tasks, tasksOver } from "./tasks.ts";
import { type Tickets, ticketsOver } from "./tickets.ts";

export interface Work {
  readonly tasks: Tasks;
  readonly tickets: Tickets;
  /** Asks people a question, and waits for the answer as long as the retry policy of `askQuestion` allows. */
  ask(tenant: string, question: Question, signal?: AbortSignal): Promise<Asked>;
  /** What the agents do now, by name. Agents that have not run since Plimsoll started are not listed. */
  agents(tenant: Tenant): ReadonlyMap<string, AgentActivity>;
}

export interface WorkWorld extends ItemsWorld {
  readonly bus: EventBus;
  readonly questionPolicy: () => RetryPolicy;
}

export function createWork(world: WorkWorld): Work {
  const taskItems = createItems(world, {
    kind: "task",
    eventOf: (_, { id, session, status, updatedAt }) => ({
      type: "tasks-changed",
      session,
      at: updatedAt,
      taskId: id,
      newStatus: status,
    }),
  });
  const ticketItems = createItems(world, {
    kind: "ticket",
    eventOf: (before, after) => ({
      type: "tickets-changed",
      session: after.session,
      at: after.updatedAt,
      ticketId: after.id,
      action: actionOf(before, after),
    }),
  });
  const tasks = tasksOver(world.store, taskItems);
  const tickets = ticketsOver(world.store, ticketItems, tasks);
  const states = createAgentStates(world);
  const asking: AskWorld = { tasks, tickets, bus: world.bus, policy: world.questionPolicy };
  return {
    tasks,
    tickets,
    ask: (tenant, question, signal) => askPeople(asking, tenant, question, signal),
    agents: states.of,
  };
}

/** Tasks and tickets: what agents and people do with them. Start reading here. */

import type { RetryPolicy } from "../../config/retry.ts";
import type { AgentState } from "../../work/agent-states.ts";
import { actionOf } from "../../work/ticket.ts";
import type { EventBus } from "../log/event-bus.ts";
import { createAgentStates } from "./agent-states.ts";
import { type Asked, askPeople } from "./ask-people.ts";
import { type CallerWork, listsOf, type WorkCaller } from "./caller-work.ts";
import { createItems, type ItemsWorld } from "./change-items.ts";
import { countWork, type Tenant, type WorkCounts } from "./listing.ts";
import { type Tasks, tasksOver } from "./tasks.ts";
import { type Tickets, ticketsOver } from "./tickets.ts";

export interface Work {
  readonly tasks: Tasks;
  readonly tickets: Tickets;
  /** Tasks and tickets as one caller sees them, and questions of this caller. */
  of(caller: WorkCaller): CallerWork;
  /** What the agents do now, by name. Agents that have not run since Plimsoll started are not listed. */
  agents(tenant: Tenant): ReadonlyMap<string, AgentState>;
  /** Reads the whole list, unless nothing has changed since the last call. */
  counts(): Promise<WorkCounts>;
  /** Ends the questions that wait. Their tickets stay open, and their tasks are blocked. */
  close(): Promise<void>;
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
  const closing = new AbortController();
  const asking = new Set<Promise<Asked>>();
  const onChange = (ticket: string, wake: () => void): (() => void) =>
    world.bus.subscribe(({ event }) => {
      if (event.type === "tickets-changed" && event.ticketId === ticket) wake();
    });
  return {
    tasks,
    tickets,
    of: (caller) => {
      const lists = listsOf({ tasks, tickets }, caller);
      return {
        ...lists,
        ask: (question, signal = closing.signal) => {
          const asked = askPeople(
            { ...lists, policy: world.questionPolicy(), onChange },
            question,
            AbortSignal.any([closing.signal, signal]),
          );
          asking.add(asked);
          const remove = (): boolean => asking.delete(asked);
          asked.then(remove, remove);
          return asked;
        },
      };
    },
    agents: states.of,
    counts: createCounts(world),
    close: async () => {
      closing.abort();
      await Promise.allSettled(asking);
    },
  };
}

/** Changes that another program makes on the same folder are counted with the next change of this one. */
function createCounts({ store, bus }: Pick<WorkWorld, "store" | "bus">): Work["counts"] {
  let counted: Promise<WorkCounts> | undefined;
  const forget = (): void => {
    counted = undefined;
  };
  bus.subscribe(({ event: { type } }) => {
    // With a session, its tasks and tickets are deleted.
    if (type === "tasks-changed" || type === "tickets-changed" || type === "session-forgotten")
      forget();
  });
  return () => {
    counted ??= countWork(store).catch((error: unknown) => {
      forget();
      throw error;
    });
    return counted;
  };
}

/** Asks people a question and waits for the answer. */

import { setTimeout as sleep } from "node:timers/promises";
import { pauseAfter } from "../../bounds/growing-pause.ts";
import type { RetryPolicy } from "../../config/retry.ts";
import type { Ticket } from "../../work/ticket.ts";
import type { EventBus } from "../log/event-bus.ts";
import type { Tasks } from "./tasks.ts";
import type { Tickets } from "./tickets.ts";

export interface Question {
  readonly question: string;
  /** More than the question itself: what was tried, which choices there are. */
  readonly details?: string | undefined;
  /** The task that cannot go on without an answer. */
  readonly task?: string | undefined;
  readonly session?: string | undefined;
  /** The ticket of a question that was asked before. Then nothing is asked again. */
  readonly ticket?: string | undefined;
}

export type Asked =
  | { readonly kind: "answered"; readonly ticket: Ticket }
  /** Nobody has answered yet. The ticket stays open, and its task is blocked. */
  | { readonly kind: "waiting"; readonly ticket: Ticket };

export interface AskWorld {
  readonly tasks: Tasks;
  readonly tickets: Tickets;
  readonly bus: Pick<EventBus, "subscribe">;
  readonly policy: () => RetryPolicy;
}

export async function askPeople(
  world: AskWorld,
  tenant: string,
  question: Question,
  signal?: AbortSignal,
): Promise<Asked> {
  const ticket = await ticketFor(world, tenant, question);
  const seen = await waitForAnswer(world, tenant, ticket, signal);
  if (seen.status === "resolved") return { kind: "answered", ticket: seen };
  if (seen.task !== undefined) await block(world, tenant, seen.task, seen);
  return { kind: "waiting", ticket: seen };
}

async function ticketFor(
  { tickets }: AskWorld,
  tenant: string,
  { question, details, task, session, ticket }: Question,
): Promise<Ticket> {
  if (ticket !== undefined) return tickets.get(tenant, ticket);
  return tickets.create(tenant, {
    type: "question",
    title: question,
    description: details,
    task,
    session,
  });
}

/** Reads the ticket again after each pause of the policy, and at once if this process hears of a change. */
async function waitForAnswer(
  { tickets, bus, policy }: AskWorld,
  tenant: string,
  asked: Ticket,
  signal: AbortSignal | undefined,
): Promise<Ticket> {
  const limits = policy();
  let wake: () => void = () => undefined;
  const unsubscribe = bus.subscribe(({ event }) => {
    if (event.type === "tickets-changed" && event.ticketId === asked.id) wake();
  });
  try {
    let ticket = asked;
    for (let attempt = 1; ticket.status === "open"; ) {
      if (attempt >= limits.attempts || signal?.aborted === true) break;
      const ended = new AbortController();
      const woken = new Promise<"woken">((resolve) => (wake = () => resolve("woken")));
      const pause = sleep(pauseAfter(limits, attempt - 1), "over" as const, {
        signal: AbortSignal.any([ended.signal, ...(signal === undefined ? [] : [signal])]),
      }).catch(() => "over" as const);
      // A change that is no answer does not shorten the time.
      if ((await Promise.race([woken, pause])) === "over") attempt++;
      ended.abort();
      ticket = await tickets.get(tenant, asked.id);
    }
    return ticket;
  } finally {
    unsubscribe();
  }
}

/** The task may have gone on in another way meanwhile. Its status then stays. */
async function block(
  { tasks }: AskWorld,
  tenant: string,
  task: string,
  { id }: Ticket,
): Promise<void> {
  const note = `Waits for the answer to ${id}.`;
  await tasks
    .report(tenant, task, { status: "blocked_awaiting_feedback", note })
    .catch(() => undefined);
}

/** Asks people a question and waits for the answer. */

import { setTimeout as sleep } from "node:timers/promises";
import { pauseAfter } from "../../bounds/growing-pause.ts";
import type { RetryPolicy } from "../../config/retry.ts";
import type { Task, TaskReport } from "../../work/task.ts";
import type { NewTicket, Ticket } from "../../work/ticket.ts";

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
  readonly tasks: { report(id: string, report: TaskReport): Promise<Task> };
  readonly tickets: {
    create(wanted: NewTicket): Promise<Ticket>;
    get(id: string): Promise<Ticket>;
  };
  /** How long to wait: the sum of the pauses between the attempts. */
  readonly policy: RetryPolicy;
  /** Calls the function when this process hears of a change of the ticket. Returns a function that ends this. */
  readonly onChange?: (ticket: string, wake: () => void) => () => void;
}

/** Other programs change the same database, and this process does not hear of it. So the ticket is read again this often. */
const readAgainMs = 1000;

export async function askPeople(
  world: AskWorld,
  question: Question,
  signal: AbortSignal = new AbortController().signal,
): Promise<Asked> {
  const asked = await ticketFor(world, question);
  const ticket = await waitForAnswer(world, asked, signal);
  if (ticket.status === "resolved") return { kind: "answered", ticket };
  if (ticket.task !== undefined) await block(world, ticket.task, ticket);
  return { kind: "waiting", ticket };
}

async function ticketFor(
  { tickets }: AskWorld,
  { question, details, task, session, ticket }: Question,
): Promise<Ticket> {
  if (ticket !== undefined) return tickets.get(ticket);
  return tickets.create({
    type: "question",
    title: question,
    description: details,
    task,
    session,
  });
}

async function waitForAnswer(
  { tickets, policy, onChange }: AskWorld,
  asked: Ticket,
  signal: AbortSignal,
): Promise<Ticket> {
  const ends = performance.now() + waitMs(policy);
  let wake: () => void = () => undefined;
  const unsubscribe = onChange?.(asked.id, () => wake());
  try {
    let ticket = asked;
    while (ticket.status === "open" && !signal.aborted) {
      const left = ends - performance.now();
      if (left <= 0) break;
      const ended = new AbortController();
      wake = () => ended.abort();
      await sleep(Math.min(left, readAgainMs), undefined, {
        signal: AbortSignal.any([ended.signal, signal]),
      }).catch(() => undefined);
      ticket = await tickets.get(asked.id);
    }
    return ticket;
  } finally {
    unsubscribe?.();
  }
}

/** The time to wait for an answer. A policy of one attempt does not wait. */
function waitMs(policy: RetryPolicy): number {
  let sum = 0;
  for (let failures = 0; failures < policy.attempts - 1; failures++)
    sum += pauseAfter(policy, failures);
  return sum;
}

/** The task may have gone on in another way meanwhile. Its status then stays. */
async function block({ tasks }: AskWorld, task: string, { id }: Ticket): Promise<void> {
  const note = `Waits for the answer to ${id}.`;
  await tasks.report(task, { status: "blocked_awaiting_feedback", note }).catch(() => undefined);
}

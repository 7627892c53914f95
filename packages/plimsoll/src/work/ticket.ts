/** Tickets: questions and other requests to people, with their answers. */

import type { Ticket, TicketAnswer, TicketStatus, TicketType } from "../message/api.ts";
import type { TicketsChangedEvent } from "../message/event.ts";
import type { Change } from "./task.ts";

export type { Ticket, TicketStatus, TicketType } from "../message/api.ts";

export const ticketTypes = [
  "question",
  "investigation",
  "issue",
] as const satisfies readonly TicketType[];
export const ticketStatuses = ["open", "resolved"] as const satisfies readonly TicketStatus[];

export interface NewTicket {
  readonly type: TicketType;
  readonly title: string;
  readonly description?: string | undefined;
  readonly task?: string | undefined;
  readonly assignee?: string | undefined;
  readonly session?: string | undefined;
}

export interface TicketUpdate {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly assignee?: string | undefined;
}

/** A ticket with more answers than this is a conversation, and belongs elsewhere. */
const answersMax = 100;

export function newTicket(id: string, wanted: NewTicket, at: number): Ticket {
  const { type, title, description = "", task, assignee = "user", session = "" } = wanted;
  return {
    id,
    revision: 1,
    type,
    title,
    description,
    ...(task === undefined ? {} : { task }),
    assignee,
    status: "open",
    answers: [],
    session,
    createdAt: at,
    updatedAt: at,
  };
}

/** Whether the last change resolved the ticket. */
export function actionOf(before: Ticket | undefined, after: Ticket): TicketsChangedEvent["action"] {
  if (before === undefined) return "create";
  if (after.isDeleted === true) return "delete";
  return before.status === "open" && after.status === "resolved" ? "resolve" : "update";
}

/** An answer to a question resolves it, because whoever asked goes on with it. */
export function afterAnswer(ticket: Ticket, answer: TicketAnswer): Change<Ticket> {
  if (ticket.status === "resolved")
    return { kind: "refused", reason: `${resolvedSince(ticket)} Your answer was not stored.` };
  if (ticket.answers.length >= answersMax)
    return {
      kind: "refused",
      reason: `${ticket.id} has ${answersMax} answers, the maximum. Resolve it and create another ticket.`,
    };
  return changed(ticket, answer.at, {
    answers: [...ticket.answers, answer],
    ...(ticket.type === "question" ? { status: "resolved" } : {}),
  });
}

export function afterUpdate(ticket: Ticket, update: TicketUpdate, at: number): Change<Ticket> {
  if (ticket.status === "resolved") return { kind: "refused", reason: resolvedSince(ticket) };
  const { title, description, assignee } = update;
  return changed(ticket, at, {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(assignee === undefined ? {} : { assignee }),
  });
}

export function afterResolve(ticket: Ticket, at: number): Change<Ticket> {
  if (ticket.status === "resolved") return { kind: "refused", reason: resolvedSince(ticket) };
  return changed(ticket, at, { status: "resolved" });
}

export function afterDelete(ticket: Ticket, at: number): Change<Ticket> {
  return changed(ticket, at, { isDeleted: true });
}

function changed(ticket: Ticket, at: number, change: Partial<Ticket>): Change<Ticket> {
  const revision = ticket.revision + 1;
  return { kind: "changed", item: { ...ticket, ...change, revision, updatedAt: at } };
}

function resolvedSince({ id, answers }: Ticket): string {
  const last = answers.at(-1);
  if (last === undefined) return `${id} is already resolved.`;
  const beginning = last.text.length > 200 ? `${last.text.slice(0, 200)}…` : last.text;
  return `${id} is already resolved. ${last.by} answered: ${beginning}`;
}

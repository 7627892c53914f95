/** Where the lists and pages of tasks and tickets get their data, and which events change it. */

import type { Task, TaskStatus, Ticket, TicketStatus } from "plimsoll/api";
import type { PlimsollEvent } from "plimsoll/events";
import { byImportance, newestFirst } from "plimsoll/watch/work-words";
import { api } from "../api.ts";
import type { ItemChange, ListSource } from "./work-list.svelte.ts";

const ticketStatuses: readonly TicketStatus[] = ["open", "resolved"];

export const taskSource = {
  one: (id: string, signal: AbortSignal): Promise<Task> => api.task(id, signal),
  changeIn: (event: PlimsollEvent): ItemChange | undefined =>
    event.type === "tasks-changed" ? { id: event.taskId, isDeleted: false } : undefined,
};

export const ticketSource = {
  one: (id: string, signal: AbortSignal): Promise<Ticket> => api.ticket(id, signal),
  changeIn: (event: PlimsollEvent): ItemChange | undefined =>
    event.type === "tickets-changed"
      ? { id: event.ticketId, isDeleted: event.action === "delete" }
      : undefined,
};

export function tasksWith(statuses: readonly TaskStatus[]): ListSource<Task> {
  return { ...taskSource, statuses, page: api.tasks, order: byImportance };
}

export function ticketsWith(status: TicketStatus): ListSource<Ticket> {
  return { ...ticketSource, statuses: [status], page: api.tickets, order: newestFirst };
}

/** The tickets of one task, open ones first. */
export function ticketsOf(task: string): ListSource<Ticket> {
  return {
    ...ticketSource,
    statuses: ticketStatuses,
    page: (wish, signal) => api.tickets({ ...wish, task }, signal),
    isWanted: (ticket) => ticket.task === task,
    order: (one, other) =>
      ticketStatuses.indexOf(one.status) - ticketStatuses.indexOf(other.status) ||
      newestFirst(one, other),
  };
}

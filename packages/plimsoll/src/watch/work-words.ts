/** Tasks and tickets in words, and their order in lists. Pure. */

import type { Task, TaskStatus } from "../message/api.ts";
import type { PlimsollEvent } from "../message/event.ts";
import { numberOf } from "../work/number.ts";
import { statusesAfter } from "../work/task.ts";

/** The statuses of tasks that still need work. The others are in the history. */
export const openStatuses = [
  "blocked_awaiting_feedback",
  "in_progress",
  "partial",
  "pending",
  "failed",
] as const satisfies readonly TaskStatus[];
export const completedStatuses = ["done", "verified"] as const satisfies readonly TaskStatus[];

const words: Readonly<Record<TaskStatus, string>> = {
  pending: "Pending",
  in_progress: "In progress",
  partial: "Partial",
  blocked_awaiting_feedback: "Blocked",
  done: "Done",
  verified: "Verified",
  failed: "Failed",
};

export function statusWord(status: TaskStatus): string {
  // A newer service may have statuses that this page does not know.
  return words[status] ?? status;
}

/** The statuses that a report on the task may give: the present one, to change only progress and note, and those that may follow. */
export function reportableStatuses(status: TaskStatus): readonly TaskStatus[] {
  return status === "verified" ? [] : [status, ...statusesAfter(status)];
}

/** Sorts tasks: the most important first, and of equally important ones the newest. */
export function byImportance(one: Task, other: Task): number {
  return one.priority - other.priority || newestFirst(one, other);
}

export function newestFirst(one: { readonly id: string }, other: { readonly id: string }): number {
  return numberOf(other.id) - numberOf(one.id);
}

/** Whether the event is only about tasks, tickets or agents, and says nothing about its session. */
export function isAboutWork({ type }: PlimsollEvent): boolean {
  return type === "tasks-changed" || type === "tickets-changed" || type === "agent-state-changed";
}

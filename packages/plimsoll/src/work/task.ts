/** Tasks: pieces of work that agents report on, and which status may follow which. */

import type { Task, TaskContext, TaskStatus } from "../message/api.ts";
import type { Priority } from "../message/unit.ts";

export type { Task, TaskStatus } from "../message/api.ts";

export const taskStatuses = [
  "pending",
  "in_progress",
  "partial",
  "blocked_awaiting_feedback",
  "done",
  "verified",
  "failed",
] as const satisfies readonly TaskStatus[];

export interface NewTask {
  readonly title: string;
  readonly description?: string | undefined;
  readonly priority?: Priority | undefined;
  readonly status?: TaskStatus | undefined;
  readonly parent?: string | undefined;
  readonly progress?: number | undefined;
  readonly session?: string | undefined;
  readonly agent?: string | undefined;
  readonly context?: TaskContext | undefined;
}

export interface TaskReport {
  readonly status: TaskStatus;
  readonly progress?: number | undefined;
  readonly note?: string | undefined;
}

/** The result of a change: the changed item, or why nothing was changed. */
export type Change<T> =
  | { readonly kind: "changed"; readonly item: T }
  | { readonly kind: "refused"; readonly reason: string };

/** The statuses that may follow a status. A status may always follow itself, with another progress or note. */
const following: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  pending: ["in_progress", "partial", "blocked_awaiting_feedback", "done", "failed"],
  in_progress: ["pending", "partial", "blocked_awaiting_feedback", "done", "failed"],
  partial: ["in_progress", "blocked_awaiting_feedback", "done", "verified", "failed"],
  blocked_awaiting_feedback: ["pending", "in_progress", "partial", "done", "failed"],
  done: ["in_progress", "verified", "failed"],
  verified: [],
  failed: ["pending", "in_progress"],
};

/** The statuses that may follow, without the status itself. */
export function statusesAfter(from: TaskStatus): readonly TaskStatus[] {
  return following[from];
}

export function mayFollow(from: TaskStatus, to: TaskStatus): boolean {
  return from === to || following[from].includes(to);
}

export function newTask(id: string, wanted: NewTask, at: number): Task {
  const { parent, progress, agent, context } = wanted;
  return {
    id,
    revision: 1,
    title: wanted.title,
    description: wanted.description ?? "",
    status: wanted.status ?? "pending",
    priority: wanted.priority ?? 2,
    session: wanted.session ?? "",
    ...(parent === undefined ? {} : { parent }),
    ...(progress === undefined ? {} : { progress }),
    ...(agent === undefined ? {} : { agent }),
    ...(context === undefined ? {} : { context }),
    createdAt: at,
    updatedAt: at,
  };
}

export function afterReport(task: Task, report: TaskReport, at: number): Change<Task> {
  const { status, progress = progressAt(task, report.status), note } = report;
  if (!mayFollow(task.status, status)) return { kind: "refused", reason: refusal(task, status) };
  return {
    kind: "changed",
    item: {
      ...task,
      revision: task.revision + 1,
      status,
      ...(progress === undefined ? {} : { progress }),
      ...(note === undefined ? {} : { note }),
      updatedAt: at,
    },
  };
}

/** A task that is done has no rest. */
function progressAt({ progress }: Task, status: TaskStatus): number | undefined {
  return status === "done" || status === "verified" ? 100 : progress;
}

function refusal({ id, status }: Task, wanted: TaskStatus): string {
  const next = following[status];
  const may =
    next.length === 0
      ? "It is verified, so its status stays: create another task."
      : `From ${status} it can become ${next.join(", ")}.`;
  return `${id} is ${status} and cannot become ${wanted}. ${may}`;
}

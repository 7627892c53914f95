/** `plimsoll tasks`: lists and shows tasks, adds one, and reports on one. */

import type { Flags } from "../../config/config.ts";
import type { Priority } from "../../message/unit.ts";
import { harmless, harmlessJson } from "../../text/unseen.ts";
import type { Task, TaskStatus } from "../../work/task.ts";
import { withWork } from "../console/command-work.ts";
import { fields, oneLine, table, utc } from "../console/terminal.ts";

export interface ShowFlags extends Flags {
  readonly json?: boolean;
}

export interface ListFlags<Status> extends ShowFlags {
  readonly status?: Status;
  readonly limit: number;
}

export interface AddFlags extends ShowFlags {
  readonly description?: string;
  readonly priority?: Priority;
  readonly parent?: string;
}

export interface ReportFlags extends ShowFlags {
  readonly note?: string;
  readonly progress?: number;
}

export async function runTasks(flags: ListFlags<TaskStatus>): Promise<void> {
  const { status, limit, json } = flags;
  const items = await withWork(flags, ({ tasks }) => tasks.list({ status, limit }));
  if (json === true) console.log(harmlessJson({ items }));
  else if (items.length > 0) console.log(taskTable(items));
  else console.log(status === undefined ? "There are no tasks." : `No task is ${status}.`);
}

export async function showTask(id: string, flags: ShowFlags): Promise<void> {
  const task = await withWork(flags, ({ tasks }) => tasks.get(id));
  console.log(flags.json === true ? harmlessJson(task) : taskText(task));
}

export async function addTask(title: string, flags: AddFlags): Promise<void> {
  const { description, priority, parent } = flags;
  const wanted = { title, description, priority, parent };
  print(await withWork(flags, ({ tasks }) => tasks.create(wanted)), flags);
}

export async function reportTask(
  id: string,
  status: TaskStatus,
  flags: ReportFlags,
): Promise<void> {
  const { note, progress } = flags;
  print(await withWork(flags, ({ tasks }) => tasks.report(id, { status, note, progress })), flags);
}

function print(task: Task, { json }: ShowFlags): void {
  console.log(json === true ? harmlessJson(task) : `${task.id}  ${state(task)}  ${short(task)}`);
}

function state({ status, progress }: Task): string {
  return progress === undefined ? status : `${status}, ${progress} %`;
}

function short({ title }: Task): string {
  return oneLine(title, 60);
}

function taskTable(tasks: readonly Task[]): string {
  return table([
    ["task", "status", "done", "priority", "title", "agent", "last change (UTC)"],
    ...tasks.map((task) => [
      task.id,
      task.status,
      task.progress === undefined ? "" : `${task.progress} %`,
      String(task.priority),
      short(task),
      oneLine(task.agent ?? "", 20),
      utc(task.updatedAt),
    ]),
  ]);
}

function taskText(task: Task): string {
  const { context } = task;
  return [
    `${task.id}  ${oneLine(task.title, 300)}`,
    fields([
      ["status", state(task)],
      ["priority", String(task.priority)],
      ["parent", task.parent],
      ["agent", task.agent],
      ["session", task.session],
      ["cut answer", context?.partialCodePath],
      ["created", `${utc(task.createdAt)} UTC`],
      ["last change", `${utc(task.updatedAt)} UTC`],
    ]),
    ...(task.description === "" ? [] : ["", harmless(task.description)]),
    ...(task.note === undefined ? [] : ["", `Last report: ${harmless(task.note)}`]),
  ].join("\n");
}

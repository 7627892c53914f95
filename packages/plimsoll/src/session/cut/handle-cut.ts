/** What Plimsoll does when an answer stops before it is complete: keeps the part, and leaves a task or a ticket. Start here. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { StreamingSettings } from "../../config/streaming.ts";
import { afterCut, followUpOf, investigationOf, retryBelow } from "../../work/after-cut.ts";
import { type Completion, completionOf } from "../../work/completion.ts";
import { type CutAnswer, partialOf } from "../../work/cut-answer.ts";
import { readId } from "../../work/number.ts";
import type { Task, TaskStatus } from "../../work/task.ts";
import type { Ticket } from "../../work/ticket.ts";
import type { Work } from "../work/work.ts";
import { knownLengths, type SeenMessage } from "./known-lengths.ts";
import { type PartialPlace, type SavedPartial, savePartial } from "./save-partial.ts";

export interface CutTurn {
  readonly tenant: string;
  readonly session: string;
  readonly agent?: string | undefined;
  readonly answer: CutAnswer;
  /** The newest messages before the answer, oldest first. */
  readonly seen: readonly SeenMessage[];
  /** What the user asked for last, in the user's words. */
  readonly prompt: string;
  /** The id of a task, or the task in the caller's words. */
  readonly task?: string | undefined;
  /** Tokens that the caller expects of the whole answer. */
  readonly estimate?: number | undefined;
  /** Where the part goes. Default: Plimsoll's own folder. */
  readonly place?: PartialPlace | undefined;
}

export interface CutWorld {
  readonly work: Pick<Work, "tasks" | "tickets">;
  /** The folder for parts of answers. Undefined if nothing is kept after the process ends. */
  readonly folder: string | undefined;
  readonly settings: () => StreamingSettings;
  /** Makes the conversation smaller, and returns its size. */
  readonly compress: (
    session: string,
  ) => Promise<{ readonly tokens: number; readonly limit: number }>;
}

interface Handled {
  readonly completion: Completion;
  /** The task of the answer. */
  readonly task: Task;
}

export type CutHandled =
  | (Handled & {
      readonly kind: "followed-up";
      readonly followUp: Task;
      readonly saved: SavedPartial | undefined;
    })
  /** The conversation is small enough now. Ask again. */
  | (Handled & { readonly kind: "compressed" })
  | (Handled & { readonly kind: "escalated"; readonly ticket: Ticket });

export async function handleCut(world: CutWorld, turn: CutTurn): Promise<CutHandled> {
  const settings = world.settings();
  const completion = completionOf(turn.answer, knownLengths(turn.seen, turn.estimate));
  const next = afterCut(completion, settings);
  if (next === "follow-up") return followUp(world, turn, { completion, settings });
  const task = await taskOf(world, turn, "in_progress", completion);
  const size = next === "compress" ? await world.compress(turn.session) : undefined;
  if (size !== undefined && size.tokens < size.limit * retryBelow)
    return { kind: "compressed", completion, task };
  const ticket = await world.work.tickets.create(
    turn.tenant,
    investigationOf({ task, completion }, size),
  );
  return { kind: "escalated", completion, task, ticket };
}

async function followUp(
  world: CutWorld,
  turn: CutTurn,
  {
    completion,
    settings,
  }: { readonly completion: Completion; readonly settings: StreamingSettings },
): Promise<CutHandled> {
  const saved = settings.savesPartial ? await save(world, turn) : undefined;
  const path = saved?.kind === "saved" ? saved.path : undefined;
  try {
    const task = await taskOf(world, turn, "partial", completion);
    const wanted = followUpOf({ task, completion, prompt: turn.prompt, path });
    const created = await world.work.tasks.create(turn.tenant, wanted);
    return { kind: "followed-up", completion, task, followUp: created, saved };
  } catch (error) {
    // The session was deleted meanwhile, and its parts with it.
    if (path !== undefined) await rm(path, { force: true });
    throw error;
  }
}

async function save({ folder }: CutWorld, turn: CutTurn): Promise<SavedPartial | undefined> {
  const partial = partialOf(turn.answer);
  const own =
    folder === undefined
      ? undefined
      : ({ kind: "own", folder: join(folder, turn.session) } as const);
  const place = turn.place ?? own;
  return partial === undefined || place === undefined ? undefined : savePartial(partial, place);
}

/** Tasks of the session that may be the one that the answer belongs to. */
const openStatuses: ReadonlySet<TaskStatus> = new Set(["pending", "in_progress", "partial"]);
const tasksSearched = 200;

/** The task to which the answer belongs, with its new status: the one that the caller named, the session's own, or a new one. */
async function taskOf(
  { work: { tasks } }: CutWorld,
  turn: CutTurn,
  status: "partial" | "in_progress",
  { share }: Completion,
): Promise<Task> {
  const { tenant, session, agent } = turn;
  const progress = share === undefined ? undefined : Math.round(share * 100);
  const known = await knownTask(tasks, turn);
  if (known !== undefined) {
    // Somebody may have closed the task meanwhile. The cut answer then gets a task of its own.
    const reported = await tasks
      .report(tenant, known.id, { status, progress })
      .catch(() => undefined);
    if (reported !== undefined) return reported;
  }
  return tasks.create(tenant, {
    title: titleOf(turn),
    description: turn.prompt.slice(0, promptMost),
    status,
    progress,
    session,
    agent,
  });
}

async function knownTask(
  tasks: Work["tasks"],
  { tenant, session, task }: CutTurn,
): Promise<Task | undefined> {
  const id = task === undefined ? undefined : readId("task", task);
  if (id !== undefined) return tasks.get(tenant, id).catch(() => undefined);
  const all = await tasks.list({ tenant, limit: tasksSearched });
  return all.find((one) => one.session === session && openStatuses.has(one.status));
}

const promptMost = 20_000;
const titleMost = 120;

function titleOf({ task, prompt }: CutTurn): string {
  const [line = ""] = (task ?? prompt).trim().split("\n");
  const title = line.length > titleMost ? `${line.slice(0, titleMost)}…` : line;
  return title === "" ? "Answer of the model" : title;
}

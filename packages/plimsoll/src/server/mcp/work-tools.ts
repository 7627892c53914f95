/** The MCP tools for tasks, tickets and questions. Their names and arguments are those of the documents. */

import { z } from "zod";
import { PlimsollError } from "../../message/error.ts";
import type { JsonObject } from "../../message/json.ts";
import type { Asked } from "../../session/work/ask-people.ts";
import type { CallerWork, TicketList } from "../../session/work/caller-work.ts";
import { workTexts } from "../../text/mcp-texts.ts";
import { type Task, taskStatuses } from "../../work/task.ts";
import { ticketTypes } from "../../work/ticket.ts";
import { given, type McpAnswer, type McpToolFace } from "./tool-face.ts";

/** Tasks, tickets and questions, as the caller of the tools may see them. */
export interface McpWork extends Pick<CallerWork, "tasks" | "ask"> {
  readonly tickets: Pick<TicketList, "create">;
}

export interface WorkCall {
  readonly work: McpWork;
  readonly input: JsonObject;
  /** Aborted when the client no longer waits for the answer. */
  readonly signal: AbortSignal;
}

export interface WorkTool extends McpToolFace {
  /** Contract: rejects with a PlimsollError if the call cannot be answered. */
  readonly answer: (call: WorkCall) => Promise<McpAnswer>;
}

/** Maximum number of tasks of one answer, so that no client cuts it. */
const tasksMost = 100;
const tasksUsual = 20;

const reads = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
const writes = { ...reads, readOnlyHint: false, idempotentHint: false };

const status = z.enum(taskStatuses);
const progress = z.number().optional().describe("How much is done, in percent.");
const shortTask = z.object({
  taskId: z.string(),
  title: z.string(),
  status,
  progress,
  agent: z.string().optional(),
});
const wholeTask = shortTask.extend({
  description: z.string(),
  priority: z.number().int(),
  parent: z.string().optional(),
  note: z.string().optional().describe("What the last report said."),
  context: z
    .object({
      partialCodePath: z.string().optional().describe("The file with the part that arrived."),
      completionPercent: z.number().optional().describe("How much arrived, from 0 to 1."),
      originalPrompt: z.string().optional(),
    })
    .optional()
    .describe("Set if the task continues a cut answer."),
  createdAt: z.string(),
  updatedAt: z.string(),
});

function shortOf({ id, title, status: now, progress: done, agent }: Task): object {
  return {
    taskId: id,
    title,
    status: now,
    ...(done === undefined ? {} : { progress: done }),
    ...(agent === undefined ? {} : { agent }),
  };
}

function wholeOf(task: Task): object {
  const { description, priority, parent, note, context } = task;
  return {
    ...shortOf(task),
    description,
    priority,
    ...(parent === undefined ? {} : { parent }),
    ...(note === undefined ? {} : { note }),
    ...(context === undefined ? {} : { context }),
    createdAt: new Date(task.createdAt).toISOString(),
    updatedAt: new Date(task.updatedAt).toISOString(),
  };
}

/** The tools, always in this order, because a changed list invalidates the prompt cache of the client's model. */
export const workTools: readonly WorkTool[] = [
  {
    name: "reportTaskStatus",
    title: "Report on a task",
    description: workTexts.reportTaskStatus,
    parameters: parametersOf(["status"], {
      taskId: text(workTexts.taskId),
      title: text(workTexts.newTitle),
      status: oneOf(taskStatuses, workTexts.status),
      progress: { type: "number", minimum: 0, maximum: 100, description: workTexts.progress },
      note: text(workTexts.note),
    }),
    output: shortTask,
    annotations: writes,
    answer: async ({ work: { tasks }, input }) => {
      const report = {
        status: wordIn(input, "status", taskStatuses) ?? missing("status", taskStatuses),
        progress: numberIn(input, "progress"),
        note: textIn(input, "note"),
      };
      const id = textIn(input, "taskId");
      if (id !== undefined) return given(shortOf(await tasks.report(id, report)));
      const title = textIn(input, "title");
      if (title === undefined) throw wrong(workTexts.taskOrTitle);
      return given(shortOf(await tasks.create({ title, ...report })));
    },
  },
  {
    name: "createTicket",
    title: "Create a ticket",
    description: workTexts.createTicket,
    parameters: parametersOf(["type", "title"], {
      type: oneOf(ticketTypes, workTexts.ticketType),
      title: text(workTexts.ticketTitle),
      description: text(workTexts.description),
      taskId: text(workTexts.taskOfTicket),
      assignee: text(workTexts.assignee),
    }),
    output: z.object({ ticketId: z.string(), status: z.string() }),
    annotations: writes,
    answer: async ({ work: { tickets }, input }) => {
      const { id, status: now } = await tickets.create({
        type: wordIn(input, "type", ticketTypes) ?? missing("type", ticketTypes),
        title: textIn(input, "title") ?? "",
        description: textIn(input, "description"),
        task: textIn(input, "taskId"),
        assignee: textIn(input, "assignee"),
      });
      return given({ ticketId: id, status: now });
    },
  },
  {
    name: "askQuestion",
    title: "Ask the user, and wait",
    description: workTexts.askQuestion,
    parameters: parametersOf([], {
      question: text(workTexts.question),
      details: text(workTexts.details),
      taskId: text(workTexts.taskOfQuestion),
      ticket: text(workTexts.ticket),
    }),
    output: z.object({ ticketId: z.string(), isAnswered: z.boolean(), text: z.string() }),
    annotations: writes,
    whileItRuns: workTexts.waitsForPeople,
    answer: async ({ work, input, signal }) => {
      const ticket = textIn(input, "ticket");
      const question = textIn(input, "question");
      if (question === undefined && ticket === undefined) throw wrong(workTexts.noQuestion);
      const asked = await work.ask(
        {
          question: question ?? "",
          details: textIn(input, "details"),
          task: textIn(input, "taskId"),
          ticket,
        },
        signal,
      );
      const isAnswered = asked.kind === "answered";
      return given({ ticketId: asked.ticket.id, isAnswered, text: await answerOf(work, asked) });
    },
  },
  {
    name: "listTasks",
    title: "List tasks",
    description: workTexts.listTasks,
    parameters: parametersOf([], {
      status: oneOf(taskStatuses, workTexts.onlyStatus),
      limit: { type: "integer", minimum: 1, maximum: tasksMost, description: workTexts.limit },
      after: text(workTexts.after),
    }),
    output: z.object({ tasks: z.array(shortTask), next: z.string().optional() }),
    annotations: reads,
    answer: async ({ work: { tasks }, input }) => {
      const wanted = Math.floor(numberIn(input, "limit") ?? tasksUsual);
      const limit = Math.min(Math.max(wanted, 1), tasksMost);
      const found = await tasks.list({
        status: wordIn(input, "status", taskStatuses),
        after: textIn(input, "after"),
        limit,
      });
      const last = found.length === limit ? found.at(-1) : undefined;
      return given({
        tasks: found.map(shortOf),
        ...(last === undefined ? {} : { next: last.id }),
      });
    },
  },
  {
    name: "getTask",
    title: "Read a task",
    description: workTexts.getTask,
    parameters: parametersOf(["taskId"], { taskId: text(workTexts.taskId) }),
    output: wholeTask,
    annotations: reads,
    answer: async ({ work: { tasks }, input }) => {
      const id = textIn(input, "taskId");
      if (id === undefined) throw wrong(workTexts.noTask);
      return given(wholeOf(await tasks.get(id)));
    },
  },
];

async function answerOf({ tasks }: McpWork, { kind, ticket }: Asked): Promise<string> {
  const answer = ticket.answers.at(-1);
  if (answer !== undefined && kind === "answered") return workTexts.answered(ticket.id, answer);
  if (kind === "answered") return workTexts.resolved(ticket.id);
  const task = ticket.task === undefined ? undefined : await tasks.get(ticket.task);
  return workTexts.waiting(
    ticket.id,
    task?.status === "blocked_awaiting_feedback" ? task.id : undefined,
  );
}

function parametersOf(required: readonly string[], properties: JsonObject): JsonObject {
  return { type: "object", properties, required: [...required], additionalProperties: false };
}

function text(description: string): JsonObject {
  return { type: "string", description };
}

function oneOf(words: readonly string[], description: string): JsonObject {
  return { type: "string", enum: [...words], description };
}

/** Null and an empty text count as absent, because some models fill in every field. */
function valueIn(input: JsonObject, name: string): unknown {
  const value = input[name];
  return value === null || value === "" ? undefined : value;
}

/** A number counts as a text too, because a model may write the task T-3 as 3. */
function textIn(input: JsonObject, name: string): string | undefined {
  const value = valueIn(input, name);
  if (value === undefined || typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  throw wrong(workTexts.notText(name));
}

function numberIn(input: JsonObject, name: string): number | undefined {
  const value = valueIn(input, name);
  if (value === undefined) return undefined;
  const number = typeof value === "string" ? Number(value.replace(/ ?%$/, "")) : value;
  if (typeof number === "number" && Number.isFinite(number)) return number;
  throw wrong(workTexts.notANumber(name));
}

function wordIn<T extends string>(
  input: JsonObject,
  name: string,
  words: readonly T[],
): T | undefined {
  const value = valueIn(input, name);
  const found = words.find((word) => word === value);
  return found ?? (value === undefined ? undefined : missing(name, words));
}

function missing(name: string, words: readonly string[]): never {
  throw wrong(workTexts.oneOf(name, words));
}

function wrong(sentence: string): PlimsollError {
  return new PlimsollError("USAGE", sentence, { status: 400 });
}

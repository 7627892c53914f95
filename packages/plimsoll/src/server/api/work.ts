/** The routes of /api for tasks and tickets. A tenant reaches its own, and the owner reaches those of all tenants. */

import { z } from "zod";
import type { CallerWork } from "../../session/work/caller-work.ts";
import { textMost } from "../../work/checks.ts";
import { taskStatuses } from "../../work/task.ts";
import { ticketStatuses, ticketTypes } from "../../work/ticket.ts";
import { count, text } from "../http/arguments.ts";
import type { Caller } from "../http/checks.ts";
import { findSession } from "./sessions.ts";
import { type ApiWorld, route } from "./world.ts";

const limit = count({ usual: 100, max: 1000 }, "Maximum number of items.");
const after = (kind: string) =>
  text(40, `The \`next\` of the previous page: the id of its last ${kind}.`).optional();
const session = text(
  200,
  "The session in which this came up: its id, or the beginning of its id. If somebody deletes the session, this is deleted with it.",
).optional();
const title = text(textMost.title, "One line that says what it is about.");
const description = text(textMost.description, "Everything that whoever works on it must know.");
const taskStatus = z.enum(taskStatuses);
const progress = z.number().min(0).max(100).describe("How much is done, in percent.").optional();
const assignee = text(
  textMost.assignee,
  "Who has to act: `user`, or the name of an agent. Default: `user`.",
).optional();

const newTask = z.strictObject({
  title,
  description: description.optional(),
  status: taskStatus.describe("Default: `pending`.").optional(),
  priority: z.literal([1, 2, 3]).describe("1 is the highest priority. Default: 2.").optional(),
  parent: text(40, "The task that this one continues or belongs to.").optional(),
  progress,
  agent: text(textMost.agent, "The agent that works on it.").optional(),
  session,
});

const report = z.strictObject({
  status: taskStatus.describe("The new status. The same status again changes only the others."),
  progress,
  note: text(textMost.note, "What there is to say about it.").optional(),
});

const newTicket = z.strictObject({
  type: z.enum(ticketTypes).describe("An answer to a `question` resolves it."),
  title,
  description: description.optional(),
  task: text(40, "The task to which the ticket belongs.").optional(),
  assignee,
  session,
});

const ticketUpdate = z.strictObject({
  title: title.optional(),
  description: description.optional(),
  assignee,
});

const answer = z.strictObject({
  text: text(textMost.answer, "The answer."),
  by: text(
    textMost.agent,
    "Who answers: `user`, or the name of an agent. Default: `user`.",
  ).optional(),
});

interface Asked {
  readonly world: ApiWorld;
  readonly caller: Caller;
}

function workOf({ world: { engine }, caller }: Asked): CallerWork {
  return engine.work.of(caller);
}

/** Creates in the tenant of the named session, if the caller may see that session. */
async function workIn(
  asked: Asked,
  name: string | undefined,
): Promise<{ readonly work: CallerWork; readonly session: { readonly session?: string } }> {
  if (name === undefined) return { work: workOf(asked), session: {} };
  const { engine } = asked.world;
  const { id, tenant } = await findSession(engine.store, asked.caller, name);
  return {
    work: engine.work.of({ tenant, isOwner: asked.caller.isOwner }),
    session: { session: id },
  };
}

/** A page of a list. `next` is missing after the last page. */
function pageOf<T extends { readonly id: string }>(
  items: readonly T[],
  most: number,
): { readonly items: readonly T[]; readonly next?: string } {
  const last = items.length === most ? items.at(-1) : undefined;
  return { items, ...(last === undefined ? {} : { next: last.id }) };
}

const following =
  "409 if this status cannot follow the present one; the error says which statuses can.";

export const taskRoutes = [
  route({
    method: "GET",
    path: "/api/tasks",
    who: "token",
    about: "The tasks, newest first: `{ items, next? }`.",
    query: z.strictObject({
      status: taskStatus.describe("Only tasks with this status.").optional(),
      limit,
      after: after("task"),
    }),
    reply: "json",
    handle: async ({ query, ...asked }) =>
      pageOf(await workOf(asked).tasks.list(query), query.limit),
  }),
  route({
    method: "POST",
    path: "/api/tasks",
    who: "token",
    about: "Creates a task, and returns it.",
    body: newTask,
    reply: "json",
    handle: async ({ body: { session: name, ...wanted }, ...asked }) => {
      const { work, session: found } = await workIn(asked, name);
      return work.tasks.create({ ...wanted, ...found });
    },
  }),
  route({
    method: "GET",
    path: "/api/tasks/{id}",
    who: "token",
    about: "One task. Its id may be written as `T-3`, `t-3` or `3`.",
    reply: "json",
    handle: ({ params, ...asked }) => workOf(asked).tasks.get(params["id"] ?? ""),
  }),
  route({
    method: "POST",
    path: "/api/tasks/{id}",
    who: "token",
    about: `Reports on a task, and returns it. ${following}`,
    body: report,
    reply: "json",
    handle: ({ params, body, ...asked }) => workOf(asked).tasks.report(params["id"] ?? "", body),
  }),
];

export const ticketRoutes = [
  route({
    method: "GET",
    path: "/api/tickets",
    who: "token",
    about: "The tickets, newest first: `{ items, next? }`.",
    query: z.strictObject({
      status: z.enum(ticketStatuses).describe("Only tickets with this status.").optional(),
      task: text(40, "Only tickets of this task.").optional(),
      limit,
      after: after("ticket"),
    }),
    reply: "json",
    handle: async ({ query, ...asked }) =>
      pageOf(await workOf(asked).tickets.list(query), query.limit),
  }),
  route({
    method: "POST",
    path: "/api/tickets",
    who: "token",
    about: "Creates a ticket, and returns it.",
    body: newTicket,
    reply: "json",
    handle: async ({ body: { session: name, ...wanted }, ...asked }) => {
      const { work, session: found } = await workIn(asked, name);
      return work.tickets.create({ ...wanted, ...found });
    },
  }),
  route({
    method: "GET",
    path: "/api/tickets/{id}",
    who: "token",
    about: "One ticket with its answers. Its id may be written as `TK-3`, `tk-3` or `3`.",
    reply: "json",
    handle: ({ params, ...asked }) => workOf(asked).tickets.get(params["id"] ?? ""),
  }),
  route({
    method: "POST",
    path: "/api/tickets/{id}",
    who: "token",
    about: "Changes a ticket, and returns it. 409 if it is resolved.",
    body: ticketUpdate,
    reply: "json",
    handle: ({ params, body, ...asked }) => workOf(asked).tickets.update(params["id"] ?? "", body),
  }),
  route({
    method: "POST",
    path: "/api/tickets/{id}/answer",
    who: "token",
    about:
      "Stores an answer to a ticket, and returns the ticket. An answer to a `question` resolves it, and a task that waited for it becomes `pending`. 409 if the ticket is resolved; the error quotes the answer that it has.",
    body: answer,
    reply: "json",
    handle: ({ params, body, ...asked }) => workOf(asked).tickets.answer(params["id"] ?? "", body),
  }),
  route({
    method: "POST",
    path: "/api/tickets/{id}/resolve",
    who: "token",
    about:
      "Resolves a ticket without an answer, and returns it. A task that waited for it becomes `pending`. 409 if it is resolved.",
    reply: "json",
    handle: ({ params, ...asked }) => workOf(asked).tickets.resolve(params["id"] ?? ""),
  }),
  route({
    method: "DELETE",
    path: "/api/tickets/{id}",
    who: "token",
    about: "Deletes a ticket, and returns it. It is no longer listed or found.",
    reply: "json",
    handle: ({ params, ...asked }) => workOf(asked).tickets.remove(params["id"] ?? ""),
  }),
];

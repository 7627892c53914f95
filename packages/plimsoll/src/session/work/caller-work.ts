/** Tasks and tickets as one caller sees them. The HTTP API, MCP, the command line and the library all use this. */

import type { NewTask, Task, TaskReport, TaskStatus } from "../../work/task.ts";
import type { NewTicket, Ticket, TicketUpdate } from "../../work/ticket.ts";
import type { Asked, Question } from "./ask-people.ts";
import type { ListWish, Tenant, TicketWish } from "./listing.ts";
import type { Tasks } from "./tasks.ts";
import type { Tickets } from "./tickets.ts";

export interface TaskList {
  create(wanted: NewTask): Promise<Task>;
  /** Newest first. */
  list(wish?: ListWish<TaskStatus>): Promise<readonly Task[]>;
  get(id: string): Promise<Task>;
  report(id: string, report: TaskReport): Promise<Task>;
}

export interface TicketList {
  create(wanted: NewTicket): Promise<Ticket>;
  /** Newest first. */
  list(wish?: TicketWish): Promise<readonly Ticket[]>;
  get(id: string): Promise<Ticket>;
  update(id: string, update: TicketUpdate): Promise<Ticket>;
  /** An answer to a question resolves it. `by` is `user` or the name of an agent. */
  answer(id: string, answer: NewAnswer): Promise<Ticket>;
  resolve(id: string): Promise<Ticket>;
  remove(id: string): Promise<Ticket>;
}

export interface NewAnswer {
  readonly text: string;
  /** Default: `user`. */
  readonly by?: string | undefined;
}

export interface WorkCaller {
  /** The tenant to which new items belong. */
  readonly tenant: string;
  /** The owner sees and changes the items of all tenants. */
  readonly isOwner: boolean;
}

interface CallerLists {
  readonly tasks: TaskList;
  readonly tickets: TicketList;
}

export interface CallerWork extends CallerLists {
  /** Asks people a question, and waits for the answer as long as the retry policy of `askQuestion` allows. */
  ask(question: Question, signal?: AbortSignal): Promise<Asked>;
}

export function listsOf(
  { tasks, tickets }: { readonly tasks: Tasks; readonly tickets: Tickets },
  { tenant: own, isOwner }: WorkCaller,
): CallerLists {
  const tenant: Tenant = isOwner ? undefined : own;
  // What the owner adds to a task of another tenant belongs to that tenant.
  const tenantFor = async (task: string | undefined): Promise<string> =>
    isOwner && task !== undefined ? tasks.tenantOf(task) : own;
  return {
    tasks: {
      create: async (wanted) => tasks.create(await tenantFor(wanted.parent), wanted),
      list: (wish = {}) => tasks.list({ ...wish, tenant }),
      get: (id) => tasks.get(tenant, id),
      report: (id, report) => tasks.report(tenant, id, report),
    },
    tickets: {
      create: async (wanted) => tickets.create(await tenantFor(wanted.task), wanted),
      list: (wish = {}) => tickets.list({ ...wish, tenant }),
      get: (id) => tickets.get(tenant, id),
      update: (id, update) => tickets.update(tenant, id, update),
      answer: (id, { text, by = "user" }) => tickets.answer(tenant, id, { text, by }),
      resolve: (id) => tickets.resolve(tenant, id),
      remove: (id) => tickets.remove(tenant, id),
    },
  };
}

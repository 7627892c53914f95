/** Creates, lists, answers and changes tickets. */

import type { Store } from "../../store/store.ts";
import { checkedText, checkedWord, requiredText } from "../../work/checks.ts";
import {
  afterAnswer,
  afterDelete,
  afterResolve,
  afterUpdate,
  type NewTicket,
  newTicket,
  type Ticket,
  type TicketUpdate,
  ticketTypes,
} from "../../work/ticket.ts";
import type { Items } from "./change-items.ts";
import { listItems, type Tenant, type TicketWish } from "./listing.ts";
import type { Tasks } from "./tasks.ts";

export interface Tickets {
  create(tenant: string, wanted: NewTicket): Promise<Ticket>;
  /** Newest first. */
  list(listing: TicketWish & { readonly tenant: Tenant }): Promise<readonly Ticket[]>;
  get(tenant: Tenant, id: string): Promise<Ticket>;
  update(tenant: Tenant, id: string, update: TicketUpdate): Promise<Ticket>;
  answer(tenant: Tenant, id: string, answer: { text: string; by: string }): Promise<Ticket>;
  resolve(tenant: Tenant, id: string): Promise<Ticket>;
  remove(tenant: Tenant, id: string): Promise<Ticket>;
}

export function ticketsOver(
  store: Pick<Store, "workItems">,
  items: Items<"ticket">,
  tasks: Tasks,
): Tickets {
  return {
    get: async (tenant, id) => (await items.get(tenant, id)).item,
    list: async ({ task, ...listing }) => {
      if (task === undefined) return listItems(store, "ticket", listing);
      const { id } = await tasks.get(listing.tenant, task);
      return listItems(store, "ticket", listing, (ticket) => ticket.task === id);
    },
    create: async (tenant, wanted) => {
      const { task, assignee } = wanted;
      const checked: NewTicket = {
        ...wanted,
        type: checkedWord("type", wanted.type, ticketTypes),
        title: requiredText("title", wanted.title),
        description: checkedText("description", wanted.description ?? ""),
        assignee: assignee === undefined ? undefined : requiredText("assignee", assignee),
        // The task must be there.
        task: task === undefined ? undefined : (await tasks.get(tenant, task)).id,
      };
      return items.create(tenant, (id, at) => newTicket(id, checked, at));
    },
    update: async (tenant, id, { title, description, assignee }) => {
      const update: TicketUpdate = {
        title: title === undefined ? undefined : requiredText("title", title),
        description:
          description === undefined ? undefined : checkedText("description", description),
        assignee: assignee === undefined ? undefined : requiredText("assignee", assignee),
      };
      return items.change(tenant, id, (ticket, at) => afterUpdate(ticket, update, at));
    },
    answer: async (tenant, id, { text, by }) => {
      const answer = { text: requiredText("answer", text), by: requiredText("agent", by) };
      const answered = await items.change(tenant, id, (ticket, at) =>
        afterAnswer(ticket, { ...answer, at }),
      );
      await unblock(tasks, tenant, answered);
      return answered;
    },
    resolve: async (tenant, id) => {
      const resolved = await items.change(tenant, id, afterResolve);
      await unblock(tasks, tenant, resolved);
      return resolved;
    },
    remove: (tenant, id) => items.change(tenant, id, afterDelete),
  };
}

/** A task that waits for this ticket can go on once the ticket is resolved. */
async function unblock(tasks: Tasks, tenant: Tenant, { task, status }: Ticket): Promise<void> {
  if (task === undefined || status !== "resolved") return;
  const found = await tasks.get(tenant, task).catch(() => undefined);
  if (found?.status !== "blocked_awaiting_feedback") return;
  // Somebody else may have reported on the task meanwhile. That report stays.
  await tasks.report(tenant, task, { status: "pending" }).catch(() => undefined);
}

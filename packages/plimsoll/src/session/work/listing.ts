/** Reads tasks and tickets from the store: one, or a list. */

import { PlimsollError } from "../../message/error.ts";
import type { OwnedItem, Store, WorkItems, WorkKind } from "../../store/store.ts";
import { numberOf, readId } from "../../work/number.ts";
import { type TaskStatus, taskStatuses } from "../../work/task.ts";
import type { TicketStatus } from "../../work/ticket.ts";

/** Who asks. Undefined is the owner, who may see and change the items of all tenants. */
export type Tenant = string | undefined;

/** Which items a caller wants to see. */
export interface ListWish<Status> {
  readonly status?: Status | undefined;
  /** The id of the last item of the previous page. */
  readonly after?: string | undefined;
  /** Maximum number of items. */
  readonly limit?: number | undefined;
}

export interface Listing<Status> extends ListWish<Status> {
  readonly tenant: Tenant;
}

/** Which tickets a caller wants to see. */
export interface TicketWish extends ListWish<TicketStatus> {
  /** Only tickets of this task. */
  readonly task?: string | undefined;
}

/** Contract: rejects with NOT_FOUND if there is no such item, if it was deleted, or if it belongs to another tenant. */
export async function readItem<K extends WorkKind>(
  store: Pick<Store, "workItem">,
  kind: K,
  { tenant, id: given }: { readonly tenant: Tenant; readonly id: string },
): Promise<OwnedItem<K>> {
  const id = readId(kind, given);
  const owned = id === undefined ? undefined : await store.workItem(kind, id);
  const isOwn = owned !== undefined && (tenant === undefined || owned.tenant === tenant);
  if (isOwn && !("isDeleted" in owned.item)) return owned;
  throw unknownItem(kind, given);
}

export function unknownItem(kind: WorkKind, given: string): PlimsollError {
  return new PlimsollError(
    "NOT_FOUND",
    `There is no ${kind} ${JSON.stringify(given.slice(0, 40))}. \`plimsoll ${kind}s\` lists them.`,
    { status: 404 },
  );
}

const usualLimit = 100;
const itemsPerRead = 200;

/** The items that match, from the whole list and not only from its first page. */
export async function listItems<K extends WorkKind>(
  store: Pick<Store, "workItems">,
  kind: K,
  { tenant, status, after, limit = usualLimit }: Listing<WorkItems[K]["status"]>,
  isWanted: (item: WorkItems[K]) => boolean = () => true,
): Promise<readonly WorkItems[K][]> {
  const found: WorkItems[K][] = [];
  if (limit === 0) return found;
  for await (const item of itemsFrom(store, kind, { tenant, after })) {
    if ((status === undefined || item.status === status) && isWanted(item)) found.push(item);
    if (found.length >= limit) break;
  }
  return found;
}

export interface WorkCounts {
  readonly tasks: Readonly<Record<TaskStatus, number>>;
  readonly openTickets: number;
}

/** Counts the items of all tenants. */
export async function countWork(store: Pick<Store, "workItems">): Promise<WorkCounts> {
  const tasks = Object.fromEntries(taskStatuses.map((status) => [status, 0])) as Record<
    TaskStatus,
    number
  >;
  for await (const { status } of itemsFrom(store, "task", {})) tasks[status]++;
  let openTickets = 0;
  for await (const { status } of itemsFrom(store, "ticket", {}))
    if (status === "open") openTickets++;
  return { tasks, openTickets };
}

/** All items except deleted ones. */
async function* itemsFrom<K extends WorkKind>(
  store: Pick<Store, "workItems">,
  kind: K,
  { tenant, after }: { readonly tenant?: Tenant; readonly after?: string | undefined },
): AsyncGenerator<WorkItems[K]> {
  let before = after === undefined ? undefined : numberAfter(kind, after);
  // Each read returns lower numbers than the one before, so the loop ends.
  for (;;) {
    const page = await store.workItems(kind, { tenant, before, limit: itemsPerRead });
    for (const { item } of page) if (!("isDeleted" in item)) yield item;
    const last = page.at(-1);
    if (last === undefined) return;
    before = numberOf(last.item.id);
  }
}

function numberAfter(kind: WorkKind, given: string): number {
  const id = readId(kind, given);
  if (id !== undefined) return numberOf(id);
  throw new PlimsollError(
    "USAGE",
    `${JSON.stringify(given.slice(0, 40))} is not the id of a ${kind}.`,
    { status: 400 },
  );
}

/** Changes tasks and tickets in the store. If two programs change an item at the same time, no change is lost. */

import { setTimeout as sleep } from "node:timers/promises";
import { Queue } from "../../bounds/queue.ts";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import type { PlimsollEvent } from "../../message/event.ts";
import type { OwnedItem, Store, WorkItems, WorkKind, WorkWrite } from "../../store/store.ts";
import { idOf, numberOf } from "../../work/number.ts";
import type { Change } from "../../work/task.ts";
import type { EventBus } from "../log/event-bus.ts";
import { readItem, type Tenant } from "./listing.ts";

export interface ItemsWorld {
  readonly store: Pick<Store, "workItem" | "workItems" | "commit">;
  readonly bus: Pick<EventBus, "emit">;
  readonly now: () => number;
}

export interface ItemRules<K extends WorkKind> {
  readonly kind: K;
  /** The event that says what happened. `before` is undefined for a new item. */
  readonly eventOf: (before: WorkItems[K] | undefined, after: WorkItems[K]) => PlimsollEvent;
}

export interface Items<K extends WorkKind> {
  create(tenant: string, make: (id: string, at: number) => WorkItems[K]): Promise<WorkItems[K]>;
  change(
    tenant: Tenant,
    id: string,
    change: (item: WorkItems[K], at: number) => Change<WorkItems[K]>,
  ): Promise<WorkItems[K]>;
  get(tenant: Tenant, id: string): Promise<OwnedItem<K>>;
}

/** A change that meets so many others at the same time is given up. */
const triesMost = 50;
const pauseMsMost = 20;

export function createItems<K extends WorkKind>(
  { store, bus, now }: ItemsWorld,
  { kind, eventOf }: ItemRules<K>,
): Items<K> {
  // One change after the other, so that subscribers hear of changes in the order of the store.
  const queue = new Queue();

  const get: Items<K>["get"] = (tenant, id) => readItem(store, kind, { tenant, id });

  /** Resolves to false if another program was faster. */
  const write = async (
    tenant: string,
    before: WorkItems[K] | undefined,
    item: WorkItems[K],
  ): Promise<boolean> => {
    const event = eventOf(before, item);
    try {
      const { events } = await store.commit([
        { kind: "work", of: kind, tenant, item } as WorkWrite,
        { kind: "event", tenant, event },
      ]);
      const [seq] = events;
      bus.emit({ ...(seq === undefined ? {} : { seq }), tenant, event });
      return true;
    } catch (error) {
      if (!PlimsollError.is(error) || error.code !== "STORE_CONFLICT") throw error;
      if (errorMessage(error).includes("was deleted")) throw sessionDeleted(item.session);
      await sleep(Math.random() * pauseMsMost);
      return false;
    }
  };

  const untilWritten = (work: () => Promise<WorkItems[K] | undefined>): Promise<WorkItems[K]> =>
    queue.run(async () => {
      for (let left = triesMost; left > 0; left--) {
        const written = await work();
        if (written !== undefined) return written;
      }
      throw new PlimsollError(
        "OVERLOADED",
        `Too many programs change this ${kind} at the same time. Try again.`,
        { status: 503 },
      );
    });

  return {
    get,
    create: (tenant, make) =>
      untilWritten(async () => {
        const [newest] = await store.workItems(kind, { tenant: undefined, limit: 1 });
        const number = newest === undefined ? 1 : numberOf(newest.item.id) + 1;
        const item = make(idOf(kind, number), now());
        return (await write(tenant, undefined, item)) ? item : undefined;
      }),
    change: (tenant, id, change) =>
      untilWritten(async () => {
        const owned = await get(tenant, id);
        const changed = change(owned.item, now());
        if (changed.kind === "refused")
          throw new PlimsollError("USAGE", changed.reason, { status: 409 });
        const isWritten = await write(owned.tenant, owned.item, changed.item);
        return isWritten ? changed.item : undefined;
      }),
  };
}

function sessionDeleted(session: string): PlimsollError {
  const message = `The session ${session} was deleted, and its tasks and tickets with it.`;
  return new PlimsollError("SESSION_UNKNOWN", message, { status: 404 });
}

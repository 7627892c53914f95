/** Creates, lists and changes tasks. */

import type { Store } from "../../store/store.ts";
import { checkedProgress, checkedText, requiredText } from "../../work/checks.ts";
import { afterReport, type NewTask, newTask, type Task, type TaskReport } from "../../work/task.ts";
import type { Items, Tenant } from "./change-items.ts";
import { type Listing, pageOf } from "./listing.ts";

export interface Tasks {
  create(tenant: string, wanted: NewTask): Promise<Task>;
  /** Newest first. */
  list(listing: Listing): Promise<readonly Task[]>;
  get(tenant: Tenant, id: string): Promise<Task>;
  report(tenant: Tenant, id: string, report: TaskReport): Promise<Task>;
}

export function tasksOver(store: Pick<Store, "workItems">, items: Items<"task">): Tasks {
  const get: Tasks["get"] = async (tenant, id) => (await items.get(tenant, id)).item;
  return {
    get,
    list: async (listing) =>
      (await store.workItems("task", pageOf("task", listing))).map(({ item }) => item),
    create: async (tenant, wanted) => {
      const { parent } = wanted;
      const checked: NewTask = {
        ...wanted,
        title: requiredText("title", wanted.title),
        description: checkedText("description", wanted.description ?? ""),
        progress: checkedProgress(wanted.progress),
        // The parent must be there.
        parent: parent === undefined ? undefined : (await get(tenant, parent)).id,
      };
      return items.create(tenant, (id, at) => newTask(id, checked, at));
    },
    report: async (tenant, id, { status, progress, note }) => {
      const report: TaskReport = {
        status,
        progress: checkedProgress(progress),
        note: note === undefined ? undefined : checkedText("note", note),
      };
      return items.change(tenant, id, (task, at) => afterReport(task, report, at));
    },
  };
}

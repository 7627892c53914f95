/** Creates, lists and changes tasks. */

import { checkPriority } from "../../message/tag.ts";
import type { Store } from "../../store/store.ts";
import { checkedProgress, checkedText, checkedWord, requiredText } from "../../work/checks.ts";
import {
  afterReport,
  type NewTask,
  newTask,
  type Task,
  type TaskReport,
  type TaskStatus,
  taskStatuses,
} from "../../work/task.ts";
import type { Items } from "./change-items.ts";
import { type Listing, listItems, type Tenant } from "./listing.ts";

export interface Tasks {
  create(tenant: string, wanted: NewTask): Promise<Task>;
  /** Newest first. */
  list(listing: Listing<TaskStatus>): Promise<readonly Task[]>;
  get(tenant: Tenant, id: string): Promise<Task>;
  report(tenant: Tenant, id: string, report: TaskReport): Promise<Task>;
  /** The tenant to which a task belongs. */
  tenantOf(id: string): Promise<string>;
}

export function tasksOver(store: Pick<Store, "workItems">, items: Items<"task">): Tasks {
  const get: Tasks["get"] = async (tenant, id) => (await items.get(tenant, id)).item;
  return {
    get,
    tenantOf: async (id) => (await items.get(undefined, id)).tenant,
    list: (listing) => listItems(store, "task", listing),
    create: async (tenant, wanted) => {
      const { parent, agent, status = "pending", priority } = wanted;
      const checked: NewTask = {
        ...wanted,
        title: requiredText("title", wanted.title),
        description: checkedText("description", wanted.description ?? ""),
        status: checkedWord("status", status, taskStatuses),
        priority: priority === undefined ? undefined : checkPriority(priority, "The priority"),
        progress: checkedProgress(wanted.progress),
        agent: agent === undefined ? undefined : requiredText("agent", agent),
        // The parent must be there.
        parent: parent === undefined ? undefined : (await get(tenant, parent)).id,
      };
      return items.create(tenant, (id, at) => newTask(id, checked, at));
    },
    report: async (tenant, id, { status, progress, note }) => {
      const report: TaskReport = {
        status: checkedWord("status", status, taskStatuses),
        progress: checkedProgress(progress),
        note: note === undefined ? undefined : checkedText("note", note),
      };
      return items.change(tenant, id, (task, at) => afterReport(task, report, at));
    },
  };
}

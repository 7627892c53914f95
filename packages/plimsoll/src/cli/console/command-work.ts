/**
 * Tasks and tickets for commands, as the owner sees them. Commands read the store directly. Changes are made by the running
 * service, or on the data folder if no service runs.
 */

import { type Flags, loadSettings, type Settings } from "../../config/config.ts";
import { retryPolicyOf } from "../../config/retry.ts";
import { openEngine } from "../../engine.ts";
import { ownerTenant } from "../../server/http/checks.ts";
import { askPeople } from "../../session/work/ask-people.ts";
import type { CallerWork, TaskList, TicketList } from "../../session/work/caller-work.ts";
import { listItems, readItem, unknownItem } from "../../session/work/listing.ts";
import type { Store } from "../../store/store.ts";
import { readId } from "../../work/number.ts";
import { askRunning } from "./ask-running.ts";
import { openToRead } from "./open-store.ts";
import { findService } from "./running.ts";

export interface CommandWork extends Pick<CallerWork, "ask"> {
  readonly tasks: TaskList;
  readonly tickets: Omit<TicketList, "update" | "remove">;
}

const owner = { tenant: ownerTenant, isOwner: true };

export async function withWork<T>(
  flags: Flags,
  use: (work: CommandWork) => Promise<T>,
): Promise<T> {
  const { work, close } = openWork(loadSettings(flags, process.env));
  try {
    return await use(work);
  } finally {
    await close();
  }
}

/** Opens the store with the first question. */
export function openWork(settings: Settings): {
  readonly work: CommandWork;
  readonly close: () => Promise<void>;
} {
  let opening: Promise<Store> | undefined;
  const open = (): Promise<Store> => {
    opening ??= openToRead(settings).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  const lists = listsOn(settings, open);
  return {
    work: {
      ...lists,
      ask: (question, signal) =>
        askPeople(
          { ...lists, policy: retryPolicyOf(settings.config, "askQuestion") },
          question,
          signal,
        ),
    },
    close: async () => {
      const opened = await opening?.catch(() => undefined);
      await opened?.close();
    },
  };
}

function listsOn(settings: Settings, open: () => Promise<Store>): Omit<CommandWork, "ask"> {
  const tenant = undefined;
  return {
    tasks: {
      list: async (wish) => listItems(await open(), "task", { ...wish, tenant }),
      get: async (id) => (await readItem(await open(), "task", { tenant, id })).item,
      create: (wanted) =>
        change(settings, "/api/tasks", wanted, ({ tasks }) => tasks.create(wanted)),
      report: (id, report) =>
        change(settings, pathOf("task", id), report, ({ tasks }) => tasks.report(id, report)),
    },
    tickets: {
      list: async (wish) => listItems(await open(), "ticket", { ...wish, tenant }),
      get: async (id) => (await readItem(await open(), "ticket", { tenant, id })).item,
      create: (wanted) =>
        change(settings, "/api/tickets", wanted, ({ tickets }) => tickets.create(wanted)),
      answer: (id, answer) =>
        change(settings, `${pathOf("ticket", id)}/answer`, answer, ({ tickets }) =>
          tickets.answer(id, answer),
        ),
      resolve: (id) =>
        change(settings, `${pathOf("ticket", id)}/resolve`, {}, ({ tickets }) =>
          tickets.resolve(id),
        ),
    },
  };
}

function pathOf(kind: "task" | "ticket", given: string): string {
  const id = readId(kind, given);
  if (id === undefined) throw unknownItem(kind, given);
  return `/api/${kind}s/${id}`;
}

async function change<T>(
  settings: Settings,
  path: string,
  payload: object,
  directly: (work: CallerWork) => Promise<T>,
): Promise<T> {
  const { data, config } = settings;
  const running = await findService(data);
  if (running !== undefined) return (await askRunning(running.url, settings, path, payload)) as T;
  const engine = await openEngine({ data, config });
  try {
    return await directly(engine.work.of(owner));
  } finally {
    await engine.close();
  }
}

/** Opens the store, replaces a database that cannot be read, and watches the store for damage. */

import { closeSync, openSync, readSync } from "node:fs";
import { dirname, join } from "node:path";
import { type DataFolder, serviceLockName } from "../../config/data-folder.ts";
import type { Config } from "../../config/schema.ts";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import { type FolderLock, takeLock } from "../../store/folder-lock.ts";
import { createMemoryStore } from "../../store/memory.ts";
import { openSqliteStore } from "../../store/sqlite.ts";
import { putDatabaseAside, salvageDatabase } from "../../store/sqlite-repair.ts";
import type { Store } from "../../store/store.ts";
import type { EventBus } from "./event-bus.ts";
import { createMender, type Mender } from "./mend.ts";
import type { StoreHealth } from "./store-health.ts";

export interface StoreToOpen {
  readonly config: Config;
  /** The folder of the database. If undefined, nothing is kept after the process ends. */
  readonly folder: DataFolder | undefined;
  /** A store that the caller provides. If undefined, Plimsoll opens one. */
  readonly given: Store | undefined;
  readonly isService: boolean;
  readonly bus: EventBus;
  readonly health: StoreHealth;
  readonly now: () => number;
}

export interface OpenedStore {
  readonly store: Store;
  readonly mender: Mender;
  /** Registers a handler that is called with the sessions that the store has lost. */
  readonly onLost: (forget: (sessions: readonly string[]) => void) => void;
}

export async function openStore(wanted: StoreToOpen): Promise<OpenedStore> {
  const { bus, health, now } = wanted;
  const { store, problem } = await openOrReplace(wanted);
  if (problem !== undefined)
    health.notice(
      "The database could not be opened and was put aside. The log of the service has the details.",
    );
  let forget: (sessions: readonly string[]) => void = () => undefined;
  const mender = createMender({
    store,
    bus,
    health,
    now,
    lockFile: () => lockFile(wanted),
    forget: (lost) => forget(lost),
  });
  return {
    store: mender.store,
    mender: {
      ...mender,
      check: async () => {
        const event = { type: "store-spoilt", session: "", at: now() } as const;
        if (problem !== undefined) bus.emit({ tenant: "", event: { ...event, message: problem } });
        await mender.check();
      },
    },
    onLost: (handler) => {
      forget = handler;
    },
  };
}

/**
 * Takes the lock of the folder while the database file is replaced. The service does not take the lock, because it already has
 * it.
 */
function lockFile({ folder, isService }: StoreToOpen): FolderLock | undefined {
  if (folder === undefined || isService) return { release: () => undefined };
  return takeLock(join(dirname(folder.database), serviceLockName), 0);
}

/**
 * Whether a damaged file was a Plimsoll database. If so, its first bytes contain the definitions of the tables. Other files are
 * left alone.
 */
function wasOurs(file: string): boolean {
  const beginning = Buffer.alloc(65_536);
  const opened = openSync(file, "r");
  try {
    const length = readSync(opened, beginning, 0, beginning.length, 0);
    return beginning.subarray(0, length).includes("CREATE TABLE sessions");
  } finally {
    closeSync(opened);
  }
}

/**
 * Opens the store. If the file is damaged, puts it aside and continues with a new file that contains the sessions that could be
 * saved. For the other sessions, agents continue from the histories that their clients send.
 */
async function openOrReplace({
  config,
  folder,
  given,
}: StoreToOpen): Promise<{ readonly store: Store; readonly problem?: string }> {
  if (given !== undefined) return { store: given };
  if (folder === undefined) return { store: createMemoryStore() };
  const { durability } = config;
  const open = (): Promise<Store> =>
    openSqliteStore({
      file: folder.database,
      ...(durability === undefined ? {} : { durability }),
    });
  try {
    return { store: await open() };
  } catch (error) {
    const isSpoilt = PlimsollError.is(error) && error.code === "STORE_CORRUPT";
    if (!isSpoilt || !wasOurs(folder.database)) throw error;
    const aside = putDatabaseAside(folder.database);
    const salvaged = salvageDatabase(aside, folder.database);
    const rest = salvaged === undefined ? "an empty one" : `${salvaged.kept} of its sessions`;
    const problem = `The database could not be opened (${errorMessage(error)}). It was put aside as ${aside}, and Plimsoll continues with ${rest}. Check the disk.`;
    return { store: await open(), problem };
  }
}

/** Opens the store for commands that only read. They read the store directly, so they work with or without a running service. */

import { accessSync, constants, copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { type Flags, loadSettings, type Settings } from "../../config/config.ts";
import { accessTo, databaseName, unreadable } from "../../config/data-folder.ts";
import { PlimsollError } from "../../message/error.ts";
import { namedSession } from "../../session/inspect/named-session.ts";
import { unknownSentence } from "../../session/log/unknown-place.ts";
import { openSqliteStore } from "../../store/sqlite.ts";
import type { Store } from "../../store/store.ts";

export async function withStore<T>(
  flags: Flags,
  work: (store: Store, settings: Settings) => Promise<T>,
): Promise<T> {
  const settings = loadSettings(flags, process.env);
  const store = await openToRead(settings);
  try {
    return await work(store, settings);
  } finally {
    await store.close();
  }
}

/** Contract: rejects with NOT_FOUND if nothing has been recorded yet, and with STORE_FAILED if the store may not be read. */
export async function openToRead({ data }: Settings): Promise<Store> {
  const file = join(data, databaseName);
  const access = accessTo(file);
  if (access === "unreadable") throw unreadable(file);
  if (access === "readable")
    return needsCopy(file) ? openCopy(file) : openSqliteStore({ file, isReadOnly: true });
  throw new PlimsollError(
    "NOT_FOUND",
    `Nothing is recorded in ${data} yet. Run \`plimsoll serve\` and point an agent at it, or choose another folder with --data.`,
  );
}

/**
 * SQLite reads a write-ahead log with the help of a small file next to the database. If that file does not exist, SQLite must
 * create it, which needs write access to the folder.
 */
function needsCopy(file: string): boolean {
  if (existsSync(`${file}-shm`)) return false;
  try {
    accessSync(dirname(file), constants.W_OK);
    return false;
  } catch {
    return true;
  }
}

/**
 * Reads a copy of the database in a private temporary folder. Nobody is writing to the original: a writer would have created the
 * file that is missing.
 */
async function openCopy(file: string): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), "plimsoll-copy-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  const copy = join(folder, basename(file));
  copyFileSync(file, copy, constants.COPYFILE_FICLONE);
  if (existsSync(`${file}-wal`)) copyFileSync(`${file}-wal`, `${copy}-wal`);
  const store = await openSqliteStore({ file: copy, isReadOnly: true });
  return {
    ...store,
    close: async () => {
      await store.close();
      process.off("exit", remove);
      remove();
    },
  };
}

/** The id of the requested session, which may be given by its beginning, or of the newest session if none was requested. */
export async function chooseSession(store: Store, id: string | undefined): Promise<string> {
  if (id !== undefined) {
    const otherwise = unknownSentence(`no session ${id}`);
    return (await namedSession(store, { id, tenant: undefined, otherwise })).id;
  }
  const newest = await store.newestSession();
  if (newest === undefined)
    throw new PlimsollError(
      "NOT_FOUND",
      "No session is recorded yet. Point an agent at Plimsoll first.",
    );
  return newest.id;
}

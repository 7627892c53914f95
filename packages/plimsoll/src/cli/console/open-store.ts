/** Opens the store for commands that only read. They read the store directly, so they work with or without a running service. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Flags, loadSettings, type Settings } from "../../config/config.ts";
import { databaseName } from "../../config/data-folder.ts";
import { PlimsollError } from "../../message/error.ts";
import { namedSession } from "../../session/inspect/named-session.ts";
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

/** Contract: rejects with NOT_FOUND if nothing has been recorded yet. */
export async function openToRead({ data }: Settings): Promise<Store> {
  const file = join(data, databaseName);
  if (existsSync(file)) return openSqliteStore({ file, isReadOnly: true });
  throw new PlimsollError(
    "NOT_FOUND",
    `Nothing is recorded in ${data} yet. Run \`plimsoll serve\` and point an agent at it, or choose another folder with --data.`,
  );
}

/** The id of the requested session, which may be given by its beginning, or of the newest session if none was requested. */
export async function chooseSession(store: Store, id: string | undefined): Promise<string> {
  if (id !== undefined) {
    const otherwise = `There is no session ${id}. \`plimsoll sessions\` lists them.`;
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

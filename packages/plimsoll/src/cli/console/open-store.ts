/** Commands that only read look at the store directly: they work with and without a running service. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Flags, loadSettings, type Settings } from "../../config/config.ts";
import { databaseName } from "../../config/data-folder.ts";
import { PlimsollError } from "../../message/error.ts";
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

/** Contract: rejects with NOT_FOUND while nothing is recorded. */
export async function openToRead({ data }: Settings): Promise<Store> {
  const file = join(data, databaseName);
  if (existsSync(file)) return openSqliteStore({ file, isReadOnly: true });
  throw new PlimsollError(
    "NOT_FOUND",
    `Nothing is recorded in ${data} yet: run \`plimsoll serve\` and point an agent at it, or name another folder with --data.`,
  );
}

/** The session that was asked for, or the newest. */
export async function chooseSession(store: Store, id: string | undefined): Promise<string> {
  if (id !== undefined) {
    if ((await store.session(id)) !== undefined) return id;
    throw new PlimsollError(
      "SESSION_UNKNOWN",
      `There is no session ${id}: \`plimsoll sessions\` lists them.`,
    );
  }
  const newest = await store.newestSession();
  if (newest === undefined)
    throw new PlimsollError(
      "NOT_FOUND",
      "No session is recorded yet: point an agent at Plimsoll first.",
    );
  return newest.id;
}

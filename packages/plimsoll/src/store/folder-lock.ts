/**
 * A lock between processes. The system releases it however its holder ends, even by kill -9. Node has no such lock, but
 * SQLite does: an exclusive transaction that is never committed, in an empty file of its own.
 */

import { closeSync, existsSync, openSync } from "node:fs";
import Database from "better-sqlite3";
import { isBusy } from "./while-busy.ts";

export interface FolderLock {
  release(): void;
}

/**
 * Contract: undefined if another process still holds the lock after `waitMs`. A process must not take the same file twice at a
 * time, because the system records locks per process, and closing a second descriptor would release the first one's lock.
 */
export function takeLock(file: string, waitMs: number): FolderLock | undefined {
  if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
  const database = new Database(file, { timeout: waitMs });
  try {
    // Nothing is ever written, so no journal file is needed. (SQLite ignores OFF here, and would create one.)
    database.pragma("journal_mode = MEMORY");
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  return { release: () => void database.close() };
}

/**
 * A lock between processes. The system releases the lock when the process that holds it ends, even after kill -9. Node has no
 * such lock, but SQLite does: an exclusive transaction that is never committed, in an empty file used only for this.
 */

import { closeSync, existsSync, openSync } from "node:fs";
import Database from "better-sqlite3";
import { isBusy } from "./while-busy.ts";

export interface FolderLock {
  release(): void;
}

/**
 * Contract: returns undefined if another process still holds the lock after `waitMs`. A process must not lock the same file twice
 * at a time, because the system records locks per process: closing the second descriptor would release the first lock too.
 */
export function takeLock(file: string, waitMs: number): FolderLock | undefined {
  if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
  const database = new Database(file, { timeout: waitMs });
  try {
    // Nothing is ever written, so no journal file is needed. `journal_mode = OFF` would not help: SQLite ignores it here and
    // creates a journal file.
    database.pragma("journal_mode = MEMORY");
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  return { release: () => void database.close() };
}

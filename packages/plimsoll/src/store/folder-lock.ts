/**
 * A lock between processes that the system gives back whatever ends its holder, kill -9 included. Node has no such call,
 * SQLite has: an exclusive transaction that is never committed, in an empty file of its own.
 */

import { closeSync, existsSync, openSync } from "node:fs";
import Database from "better-sqlite3";
import { isBusy } from "./while-busy.ts";

export interface FolderLock {
  release(): void;
}

/**
 * Contract: undefined when another process still has it after `waitMs`. A process takes the same file once at a time: the
 * system knows locks by process, and closing a second descriptor would give up the first one's.
 */
export function takeLock(file: string, waitMs: number): FolderLock | undefined {
  if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
  const database = new Database(file, { timeout: waitMs });
  try {
    // Nothing is ever written, so nothing has to be taken back from a file. (OFF is not allowed: then there would be one.)
    database.pragma("journal_mode = MEMORY");
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  return { release: () => void database.close() };
}

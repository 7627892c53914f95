/**
 * Deletes sessions from the files next to the database: backups of earlier versions, sessions and databases that were put aside,
 * files of interrupted work, and the log of a service that `plimsoll run` has started.
 */

import { closeSync, fstatSync, openSync, readdirSync, readSync, rmSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import Database from "better-sqlite3";
import { errorMessage } from "../../message/error.ts";
import { sessionColumn } from "./session-tables.ts";

/** The log of a service that `plimsoll run` has started. */
export const serviceLogName = "service.log";

/** The folder with the parts of cut answers. Each session has a folder in it. */
export const partialsName = "partials";

export interface FilesToClean {
  /** Path of the database. */
  readonly file: string;
  readonly sessions: ReadonlySet<string>;
  /** Whether every backup and every file that was put aside goes, whatever is in it. */
  readonly isEverything: boolean;
}

export interface CleanedFiles {
  /** The sessions of which one of these files had something. */
  readonly found: ReadonlySet<string>;
  /** Files that still have something of a session, one sentence each. */
  readonly failures: readonly string[];
}

export function cleanFiles(wanted: FilesToClean): CleanedFiles {
  const found = new Set<string>();
  const failures: string[] = [];
  const isNothing = wanted.sessions.size === 0 && !wanted.isEverything;
  if (isNothing || wanted.file === ":memory:") return { found, failures };
  failures.push(...deletePartials(wanted));
  for (const path of filesBeside(wanted.file)) {
    try {
      for (const session of clean(path, wanted)) found.add(session);
    } catch (error) {
      failures.push(
        `${path} may still have something of a deleted session, and could not be changed (${errorMessage(error)}). Delete this file yourself.`,
      );
    }
  }
  return { found, failures };
}

/** Deletes the parts of cut answers. Returns one sentence for each folder that stays. */
function deletePartials({ file, sessions, isEverything }: FilesToClean): readonly string[] {
  const folder = join(dirname(file), partialsName);
  const folders = isEverything ? [folder] : [...sessions].map((session) => join(folder, session));
  return folders.flatMap((path) => {
    try {
      rmSync(path, { recursive: true, force: true });
      return [];
    } catch (error) {
      return `${path} has parts of answers of a deleted session, and could not be deleted (${errorMessage(error)}). Delete this folder yourself.`;
    }
  });
}

/** Files whose names begin with that of the database, and the log. Not the database itself, nor its journal files. */
function filesBeside(file: string): readonly string[] {
  const folder = dirname(file);
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${basename(file)}.`) || name === serviceLogName)
    .map((name) => join(folder, name));
}

/** Returns the sessions that were in the file. */
function clean(path: string, { sessions, isEverything }: FilesToClean): ReadonlySet<string> {
  const isLog = basename(path) === serviceLogName;
  const found = sessionsIn(path, sessions);
  if (isLog) {
    if (found.size > 0) blankLines(path, sessions);
    return new Set();
  }
  if (isEverything || (found.size > 0 && !isAside(path))) rmSync(path, { force: true });
  else if (found.size > 0) cleanAside(path, sessions);
  return found;
}

/** Whether the file contains sessions that were put aside one by one, and nothing else. */
function isAside(path: string): boolean {
  return /\.aside-v\d+$/.test(path);
}

/** Deletes the sessions from the file. Deletes the whole file if no session is left in it, or if it cannot be read. */
function cleanAside(path: string, sessions: ReadonlySet<string>): void {
  if (hasOthers(path, sessions)) return;
  for (const ending of ["", "-wal", "-shm", "-journal"]) rmSync(path + ending, { force: true });
}

function hasOthers(path: string, sessions: ReadonlySet<string>): boolean {
  const ids = JSON.stringify([...sessions]);
  let aside: Database.Database | undefined;
  try {
    aside = new Database(path);
    aside.pragma("secure_delete = ON");
    const tables = aside.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck();
    for (const table of tables.all() as (keyof typeof sessionColumn)[]) {
      const column = sessionColumn[table];
      if (column === undefined) continue;
      aside
        .prepare(`DELETE FROM ${table} WHERE ${column} IN (SELECT value FROM json_each(?))`)
        .run(ids);
    }
    aside.exec("VACUUM");
    return aside.prepare("SELECT 1 FROM sessions LIMIT 1").get() !== undefined;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return false;
  } finally {
    aside?.close();
  }
}

function isUnreadable(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB" || code === "SQLITE_ERROR";
}

const chunkBytes = 1024 * 1024;
const idBeginning = "ses_";

/** The sessions whose ids occur in the file. Reads the bytes, so it also works for a database that cannot be opened. */
function sessionsIn(path: string, sessions: ReadonlySet<string>): ReadonlySet<string> {
  const lengths = [...new Set([...sessions].map(({ length }) => length))];
  const overlap = Math.max(0, ...lengths) - 1;
  const found = new Set<string>();
  const buffer = Buffer.alloc(chunkBytes);
  const opened = openSync(path, "r");
  try {
    let rest = "";
    for (let read = readSync(opened, buffer); read > 0; read = readSync(opened, buffer)) {
      const text = rest + buffer.toString("latin1", 0, read);
      for (let at = text.indexOf(idBeginning); at >= 0; at = text.indexOf(idBeginning, at + 1))
        for (const length of lengths) {
          const id = text.slice(at, at + length);
          if (sessions.has(id)) found.add(id);
        }
      rest = text.slice(Math.max(0, text.length - overlap));
    }
  } finally {
    closeSync(opened);
  }
  return found;
}

const maxLogBytes = 64 * 1024 * 1024;

/**
 * Overwrites the lines about these sessions with spaces, in place: a service may add lines meanwhile. A sentence about a session
 * begins with `plimsoll: ses_…` and may have several lines. It ends where the next sentence begins.
 */
function blankLines(path: string, sessions: ReadonlySet<string>): void {
  const opened = openSync(path, "r+");
  try {
    const { size } = fstatSync(opened);
    if (size > maxLogBytes) throw new Error("it is very large");
    const buffer = Buffer.alloc(size);
    const read = readSync(opened, buffer, 0, size, 0);
    const text = buffer.toString("latin1", 0, read);
    let from = 0;
    for (const sentence of text.split(/(?<=\n)(?=plimsoll)/)) {
      const isAbout = [...sessions].some((id) => sentence.includes(id));
      if (isAbout) writeSync(opened, sentence.replaceAll(/[^\n]/g, " "), from, "latin1");
      from += sentence.length;
    }
  } finally {
    closeSync(opened);
  }
}

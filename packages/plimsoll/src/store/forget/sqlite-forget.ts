/**
 * Deletes sessions from a SQLite database, and their bytes from its files. One transaction deletes the rows. The database is then
 * written anew, because deleted rows leave copies in the unused parts of pages, and the write-ahead log is emptied.
 */

import type Database from "better-sqlite3";
import { errorMessage } from "../../message/error.ts";
import { cleanFiles } from "./files-beside.ts";
import { type ForgetOrder, type Forgotten, type Holding, keptIds } from "./forgetting.ts";
import { type HoldingRow, holdingStatements, holdingsIn, sessionsPerQuery } from "./holdings.ts";
import { sessionColumn } from "./session-tables.ts";

/** Contract: if this throws, nothing was deleted. */
export function forgetSessions(
  database: Database.Database,
  file: string,
  order: ForgetOrder,
): Forgotten {
  // Overwrites deleted rows with zeros, in case the database cannot be written anew.
  const before = database.pragma("secure_delete", { simple: true });
  database.pragma("secure_delete = ON");
  try {
    const { sessions } = order;
    const open = unfinishedIn(database);
    const gone = deleteRows(database, order);
    const { found, failures } = cleanBytes(database, file, order, {
      isChanged: gone.length > 0 || open.length > 0,
      sessions: new Set([...open, ...sessions]),
    });
    const isGone = new Set(gone.map(({ session }) => session));
    const others = sessions.filter((id) => !isGone.has(id));
    return {
      gone,
      goneAside: others.filter((id) => found.has(id)),
      resumed: others.filter((id) => !found.has(id) && open.includes(id)),
      unfinished: failures,
    };
  } finally {
    database.pragma(`secure_delete = ${before}`);
  }
}

interface ToClean {
  /** Whether rows were deleted in the database, now or before. */
  readonly isChanged: boolean;
  readonly sessions: ReadonlySet<string>;
}

interface CleanedBytes {
  /** The sessions of which another file had something. */
  readonly found: ReadonlySet<string>;
  readonly failures: readonly string[];
}

/** A session that was put aside was in the database once, so the database may still have its bytes. */
function cleanBytes(
  database: Database.Database,
  file: string,
  order: ForgetOrder,
  { isChanged, sessions }: ToClean,
): CleanedBytes {
  const { isEverything = false, at } = order;
  const { found, failures } = cleanFiles({ file, sessions, isEverything });
  if (!isChanged && !isEverything && found.size === 0) return { found, failures };
  try {
    noteForgotten(database, found, at);
    const all = [...failures, ...freeBytes(database, file, order)];
    if (all.length === 0) markDone(database);
    return { found, failures: all };
  } catch (error) {
    const failure = `The last step failed (${errorMessage(error)}). Run the same command again.`;
    return { found, failures: [...failures, failure] };
  }
}

function deleteRows(
  database: Database.Database,
  { sessions, at }: ForgetOrder,
): readonly Holding[] {
  if (sessions.length === 0) return [];
  const ids = JSON.stringify(sessions);
  const run = database.transaction(() => {
    const gone = readGone(database, sessions);
    const last = lastEvent(database);
    for (const [table, column] of Object.entries(sessionColumn))
      database
        .prepare(`DELETE FROM ${table} WHERE ${column} IN (SELECT value FROM json_each(?))`)
        .run(ids);
    keepNumber(database, last);
    noteForgotten(
      database,
      gone.map(({ session }) => session),
      at,
    );
    return gone;
  });
  return run.immediate();
}

function lastEvent(database: Database.Database): number {
  return Number(database.prepare("SELECT coalesce(max(seq), 0) FROM events").pluck().get());
}

/**
 * Keeps the number of the last event taken, because readers continue after a number. A row without a seal is never given out.
 */
function keepNumber(database: Database.Database, last: number): void {
  if (lastEvent(database) === last) return;
  database
    .prepare("INSERT INTO events (seq, tenant, session, at, event) VALUES (?, '', '', 0, x'')")
    .run(last);
}

function noteForgotten(database: Database.Database, sessions: Iterable<string>, at: number): void {
  const note = database.prepare(
    "INSERT INTO forgotten (session, at, is_done) VALUES (?, ?, 0) ON CONFLICT DO UPDATE SET is_done = 0",
  );
  for (const session of sessions) note.run(session, at);
  const oldest = "number <= (SELECT max(number) FROM forgotten) - ?";
  database.prepare(`DELETE FROM forgotten WHERE is_done = 1 AND ${oldest}`).run(keptIds);
}

function readGone(database: Database.Database, sessions: readonly string[]): readonly Holding[] {
  const gone: Holding[] = [];
  for (let start = 0; start < sessions.length; start += sessionsPerQuery) {
    const statements = holdingStatements(sessions.slice(start, start + sessionsPerQuery));
    gone.push(
      ...holdingsIn(
        statements.map(({ sql, values }) => database.prepare(sql).all(...values) as HoldingRow[]),
      ),
    );
  }
  return gone;
}

/** The deleted sessions of which a file may still have something. */
function unfinishedIn(database: Database.Database): readonly string[] {
  const open = database.prepare("SELECT session FROM forgotten WHERE is_done = 0");
  return open.pluck().all() as string[];
}

function markDone(database: Database.Database): void {
  database.prepare("UPDATE forgotten SET is_done = 1 WHERE is_done = 0").run();
}

/** Returns a sentence for each step that failed. */
function freeBytes(
  database: Database.Database,
  file: string,
  { mostBytes = Number.POSITIVE_INFINITY }: ForgetOrder,
): readonly string[] {
  if (file === ":memory:") return [];
  const isLarge = liveBytes(database) > mostBytes;
  try {
    if (!emptyLog(database)) return [isRead(file)];
    if (isLarge) return [tooLarge(file, mostBytes)];
    database.exec("VACUUM");
    return emptyLog(database) ? [] : [isRead(file)];
  } catch (error) {
    return [
      `The rows are deleted, but ${file} could not be written anew (${errorMessage(error)}). Check that its disk, and that of the folder for temporary files, have room for a second copy of it and are not read-only. Then run the same command again.`,
    ];
  }
}

function isRead(file: string): string {
  return `The rows are deleted, but another program is reading ${file}, so old bytes are still in the file. Close that program, then run the same command again.`;
}

function tooLarge(file: string, mostBytes: number): string {
  return `The rows are deleted and overwritten, but ${file} is too large (more than ${Math.round(mostBytes / 1e6)} MB) to be written anew while the service is in use. Restart the service, or run \`plimsoll stop\` and then the same command again.`;
}

/** Bytes of all pages that are in use. */
export function liveBytes(database: Database.Database): number {
  const [pages, free, size] = ["page_count", "freelist_count", "page_size"].map((name) =>
    Number(database.pragma(name, { simple: true })),
  );
  return ((pages ?? 0) - (free ?? 0)) * (size ?? 0);
}

/**
 * Moves the write-ahead log into the database and truncates it. Waits for readers as long as the connection waits for a lock.
 * Returns false if a reader is still there.
 */
function emptyLog(database: Database.Database): boolean {
  const [row] = database.pragma("wal_checkpoint(TRUNCATE)") as { readonly busy: number }[];
  return row?.busy === 0;
}

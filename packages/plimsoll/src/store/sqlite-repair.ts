/**
 * What is done about a database that the disk has spoilt. A spoilt session is moved into a file beside the database, as it
 * is. A database with pages that cannot be read is put aside whole, and every session in it that is whole goes into a new one.
 */

import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { migrateSqlite } from "./migrate-sqlite.ts";
import { migrations, schemaVersion } from "./migrations.ts";
import { isSealed, type SealedTable, sealedColumns } from "./seal.ts";
import type { SqlRow } from "./sql-rows.ts";
import type { Rebuilt } from "./store.ts";

/** Everything that belongs to one session, by the column that says so. */
const sessionColumn = {
  sessions: "id",
  branches: "session",
  messages: "session",
  blocks: "session",
  heads: "session",
  turns: "session",
  edits: "session",
  archive: "session",
  wordings: "session",
  refs: "session",
  errors: "session",
  events: "session",
} as const;
type Table = keyof typeof sessionColumn;
const tables = Object.keys(sessionColumn) as Table[];

/** Contract: throws what SQLite throws; then nothing is lost, and the session is still where it was. */
export function putSessionAside(
  database: Database.Database,
  file: string,
  session: string,
): string {
  const aside = `${file}.aside-v${schemaVersion}`;
  createPrivately(aside);
  database.prepare("ATTACH ? AS aside").run(aside);
  try {
    // First the copy, then the deletion: a crash between them leaves it twice and never not at all.
    database.transaction(() => {
      for (const table of tables) {
        database.exec(
          `CREATE TABLE IF NOT EXISTS aside.${table} AS SELECT * FROM main.${table} WHERE 0`,
        );
        database
          .prepare(
            `INSERT INTO aside.${table} SELECT * FROM main.${table} WHERE ${sessionColumn[table]} = ?`,
          )
          .run(session);
      }
    })();
    database.transaction(() => {
      for (const table of tables)
        database
          .prepare(`DELETE FROM main.${table} WHERE ${sessionColumn[table]} = ?`)
          .run(session);
    })();
  } finally {
    database.exec("DETACH aside");
  }
  return aside;
}

/** Sentences of SQLite itself; at most so many. */
const maxProblems = 5;

export function quickCheck(database: Database.Database): readonly string[] {
  const rows = database.pragma(`quick_check(${maxProblems})`) as { quick_check: string }[];
  return rows.map((row) => row.quick_check).filter((text) => text !== "ok");
}

/**
 * Makes a new database of what can be read of the old one. Contract: closes the old connection; when it throws, the old
 * file is where it was.
 */
export function rebuildDatabase(old: Database.Database, file: string): Rebuilt {
  const fresh = `${file}.new`;
  removeDatabase(fresh);
  createPrivately(fresh);
  const copy = new Database(fresh);
  let lost: ReadonlySet<string>;
  let kept = 0;
  try {
    migrateSqlite(copy, fresh, migrations);
    lost = copyWhole(old, copy);
    kept = Number(copy.prepare("SELECT count(*) FROM sessions").pluck().get());
  } finally {
    copy.close();
  }
  old.close();
  const aside = putDatabaseAside(file);
  renameSync(fresh, file);
  syncFolder(file);
  return { aside, kept, lost: [...lost] };
}

/** The file and its journal under another name. Gives that name. */
export function putDatabaseAside(file: string): string {
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const aside = `${file}.spoilt-${stamp}`;
  renameSync(file, aside);
  for (const ending of ["-wal", "-shm"])
    if (existsSync(file + ending)) renameSync(file + ending, aside + ending);
  syncFolder(file);
  return aside;
}

function copyWhole(old: Database.Database, copy: Database.Database): ReadonlySet<string> {
  const lost = new Set<string>();
  copy.transaction(() => {
    for (const table of tables) copyTable(old, copy, table, lost);
    for (const session of incomplete(copy)) lost.add(session);
    for (const session of lost)
      for (const table of tables)
        copy.prepare(`DELETE FROM ${table} WHERE ${sessionColumn[table]} = ?`).run(session);
  })();
  return lost;
}

function copyTable(
  old: Database.Database,
  copy: Database.Database,
  table: Table,
  lost: Set<string>,
): void {
  let insert: Database.Statement | undefined;
  for (const row of readableRows(old, table)) {
    if (table in sealedColumns && !isSealed(table as SealedTable, row)) {
      lost.add(String(row[sessionColumn[table]]));
      continue;
    }
    const { row_number: _, ...columns } = row;
    const names = Object.keys(columns);
    insert ??= copy.prepare(
      `INSERT OR IGNORE INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    );
    insert.run(...Object.values(columns));
  }
}

/** Tables without row numbers are read by their key. */
const keyed: ReadonlyMap<Table, string> = new Map([
  ["sessions", "id"],
  ["heads", "session"],
]);
const rowsPerStep = 100;
/** What lies behind a page that cannot be read is looked for so far. */
const maxSkipped = 100_000;

function* readableRows(old: Database.Database, table: Table): Generator<SqlRow> {
  const key = keyed.get(table);
  if (key !== undefined) {
    yield* attempt(() => old.prepare(`SELECT * FROM ${table}`).all() as SqlRow[]) ??
      rowsByKey(old, table, key);
    return;
  }
  const page = attempt(() =>
    old.prepare(
      `SELECT rowid AS row_number, * FROM ${table} WHERE rowid > ? ORDER BY rowid LIMIT ${rowsPerStep}`,
    ),
  );
  const one = attempt(() =>
    old.prepare(`SELECT rowid AS row_number, * FROM ${table} WHERE rowid = ?`),
  );
  if (page === undefined || one === undefined) return;
  let last = 0;
  let skipped = 0;
  while (skipped <= maxSkipped) {
    const from = last;
    const rows = attempt(() => page.all(from) as SqlRow[]);
    if (rows !== undefined) {
      yield* rows;
      if (rows.length < rowsPerStep) return;
      last = Number(rows.at(-1)?.["row_number"]);
      continue;
    }
    // Something in this step cannot be read: each row by itself, and on behind it.
    for (let rowid = from + 1; rowid <= from + rowsPerStep; rowid++) {
      const row = attempt(() => one.get(rowid) as SqlRow | undefined);
      if (row === undefined) skipped++;
      else yield row;
    }
    last = from + rowsPerStep;
  }
}

/** One session after the other, as far as other tables name them. */
function* rowsByKey(old: Database.Database, table: Table, key: string): Generator<SqlRow> {
  const named = ["messages", "branches"].flatMap(
    (other) =>
      attempt(
        () => old.prepare(`SELECT DISTINCT session FROM ${other}`).pluck().all() as string[],
      ) ?? [],
  );
  for (const session of new Set(named))
    yield* attempt(
      () => old.prepare(`SELECT * FROM ${table} WHERE ${key} = ?`).all(session) as SqlRow[],
    ) ?? [];
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Sessions of which a message, an edit or a branch is missing: numbers go up by one, and a branch ends with a message. */
function incomplete(copy: Database.Database): readonly string[] {
  const sql = `
    SELECT s.id FROM sessions s WHERE
      (SELECT count(*) FROM messages m WHERE m.session = s.id) <> (SELECT coalesce(max(seq), 0) FROM messages m WHERE m.session = s.id)
      OR (SELECT count(*) FROM edits e WHERE e.session = s.id) <> (SELECT coalesce(max(seq), 0) FROM edits e WHERE e.session = s.id)
      OR NOT EXISTS (SELECT 1 FROM branches b WHERE b.session = s.id)
      OR EXISTS (SELECT 1 FROM branches b WHERE b.session = s.id AND b.tip_seq >
        (SELECT coalesce(max(seq), 0) FROM messages m WHERE m.session = s.id))
    UNION SELECT DISTINCT m.session FROM messages m WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session)`;
  return copy.prepare(sql).pluck().all() as string[];
}

function createPrivately(file: string): void {
  if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
}

function removeDatabase(file: string): void {
  for (const ending of ["", "-wal", "-shm", "-journal"]) rmSync(file + ending, { force: true });
}

function syncFolder(file: string): void {
  const folder = openSync(dirname(file), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

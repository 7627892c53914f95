/**
 * Repairs a database that the disk has damaged. A damaged session is moved, as it is, into a file next to the database. A
 * database with unreadable pages is put aside as a whole, and every intact session is copied into a new database.
 */

import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { sessionColumn } from "./forget/session-tables.ts";
import { migrateSqlite } from "./migrate-sqlite.ts";
import { migrations, schemaVersion } from "./migrations.ts";
import { isSealed, type SealedTable, type SqlRow, sealedColumns } from "./seal.ts";
import type { Rebuilt } from "./store.ts";

type Table = keyof typeof sessionColumn;
const tables = Object.keys(sessionColumn) as Table[];
/** The deleted sessions stay deleted in a new database. Their rows come last, when all sessions are copied. */
const copiedTables = [...tables, "forgotten"] as const;

/** Contract: if this throws SQLite's error, nothing is lost, and the session is still in the database. */
export function putSessionAside(
  database: Database.Database,
  file: string,
  session: string,
): string {
  const aside = `${file}.aside-v${schemaVersion}`;
  createPrivately(aside);
  database.prepare("ATTACH ? AS aside").run(aside);
  try {
    // Copies first, then deletes. After a crash in between, the session exists twice, but it is never lost.
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

/** Maximum number of problems to report. SQLite stops its check after that many. */
const maxProblems = 5;

/** Also checks that the indexes match their tables, because a row that no index points to is silently lost. */
export function checkDatabase(database: Database.Database): readonly string[] {
  const rows = database.pragma(`integrity_check(${maxProblems})`) as { integrity_check: string }[];
  return rows.map((row) => row.integrity_check).filter((text) => text !== "ok");
}

/**
 * Contract: throws SQLITE_CORRUPT if a table or index is not as the migrations create it, because even names may be damaged.
 * Tables that other programs have added are ignored.
 */
export function checkSchema(database: Database.Database): void {
  const wanted = new Database(":memory:");
  try {
    migrateSqlite(wanted, ":memory:", migrations);
    const found = new Set(schemaOf(database));
    if (schemaOf(wanted).every((entry) => found.has(entry))) return;
  } finally {
    wanted.close();
  }
  throw Object.assign(new Error("its tables are not as Plimsoll creates them"), {
    code: "SQLITE_CORRUPT",
  });
}

/** Ignores root pages, which differ between files, and line breaks in statements. */
function schemaOf(database: Database.Database): readonly string[] {
  const sql = "SELECT type, name, tbl_name, sql FROM sqlite_schema";
  return database
    .prepare(sql)
    .raw()
    .all()
    .map((row) => (row as readonly (string | null)[]).map((text) => text?.replaceAll(/\s+/g, " ")))
    .map((row) => JSON.stringify(row));
}

/**
 * Creates a new database from one that was put aside because it could not be opened. Contract: no file exists at the new path.
 * First repairs the old list of tables, as far as it can be read, because SQLite cannot open a database with a damaged list.
 * Returns undefined if nothing could be read.
 */
export function salvageDatabase(aside: string, file: string): Rebuilt | undefined {
  const copy = `${file}.salvage`;
  removeDatabase(copy);
  try {
    copyFileSync(aside, copy);
    if (existsSync(`${aside}-wal`)) copyFileSync(`${aside}-wal`, `${copy}-wal`);
    chmodSync(copy, 0o600);
    const old = new Database(copy);
    mendSchema(old);
    old.close();
    const mended = new Database(copy);
    const fresh = `${file}.new`;
    const counts = fillNew(mended, fresh);
    mended.close();
    renameSync(fresh, file);
    syncFolder(file);
    return { aside, ...counts };
  } catch {
    return undefined;
  } finally {
    removeDatabase(copy);
    removeDatabase(`${file}.new`);
  }
}

function mendSchema(database: Database.Database): void {
  const wanted = new Database(":memory:");
  migrateSqlite(wanted, ":memory:", migrations);
  const rows = wanted
    .prepare("SELECT rowid, type, name, tbl_name, sql FROM sqlite_schema")
    .all() as {
    readonly rowid: number;
    readonly type: string;
    readonly name: string;
    readonly tbl_name: string;
    readonly sql: string | null;
  }[];
  wanted.close();
  database.unsafeMode(true);
  database.pragma("writable_schema = ON");
  const set = "UPDATE sqlite_schema SET type = ?, name = ?, tbl_name = ?, sql = ? WHERE";
  const byName = database.prepare(`${set} name = ?`);
  // If an entry's name is damaged, its row number identifies the entry, because every database creates its entries in the same
  // order.
  const byRow = database.prepare(`${set} rowid = ?`);
  for (const { rowid, type, name, tbl_name, sql } of rows) {
    const values = [type, name, tbl_name, sql];
    if (byName.run(...values, name).changes === 0) byRow.run(...values, rowid);
  }
  database.pragma(`user_version = ${schemaVersion}`);
}

/**
 * Creates a new database from everything readable in the old one. Contract: closes the old connection. If this function throws,
 * the old file is still where it was.
 */
export function rebuildDatabase(old: Database.Database, file: string): Rebuilt {
  const fresh = `${file}.new`;
  const counts = fillNew(old, fresh);
  old.close();
  const aside = putDatabaseAside(file);
  renameSync(fresh, file);
  syncFolder(file);
  return { aside, ...counts };
}

/** Creates a new file with all intact content of the old one. */
function fillNew(old: Database.Database, fresh: string): Omit<Rebuilt, "aside"> {
  removeDatabase(fresh);
  createPrivately(fresh);
  const copy = new Database(fresh);
  try {
    migrateSqlite(copy, fresh, migrations);
    const lost = copyWhole(old, copy);
    const kept = Number(copy.prepare("SELECT count(*) FROM sessions").pluck().get());
    return { kept, lost: [...lost] };
  } finally {
    copy.close();
  }
}

/** Renames the file and its journal. Returns the new name. */
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
    for (const table of copiedTables) copyTable(old, copy, table, lost);
    for (const session of incomplete(copy)) lost.add(session);
    for (const session of lost)
      for (const table of tables)
        copy.prepare(`DELETE FROM ${table} WHERE ${sessionColumn[table]} = ?`).run(session);
  })();
  return lost;
}

/** If a session lacks a row in one of these tables, the session is lost. Missing rows in other tables do no harm. */
const needed: ReadonlySet<CopiedTable> = new Set([
  "sessions",
  "branches",
  "messages",
  "edits",
  "wordings",
]);

type CopiedTable = (typeof copiedTables)[number];

function copyTable(
  old: Database.Database,
  copy: Database.Database,
  table: CopiedTable,
  lost: Set<string>,
): void {
  let insert: Database.Statement | undefined;
  for (const row of readableRows(old, table)) {
    if (table in sealedColumns && !isSealed(table as SealedTable, row)) {
      if (needed.has(table)) lost.add(String(row[table === "sessions" ? "id" : "session"]));
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

/** Tables without row numbers, and the key by which each is read. */
const keyed: ReadonlyMap<CopiedTable, string> = new Map([
  ["sessions", "id"],
  ["heads", "session"],
]);
const rowsPerStep = 100;
/** Maximum number of row numbers to try after an unreadable page. */
const maxSkipped = 100_000;

function* readableRows(old: Database.Database, table: CopiedTable): Generator<SqlRow> {
  const key = keyed.get(table);
  if (key === undefined) {
    yield* rowsByNumber(old, table);
    return;
  }
  const all = attempt(() => old.prepare(`SELECT * FROM ${table}`).all() as SqlRow[]);
  yield* all ?? rowsByKey(old, table, key);
}

/** Reads page by page. If a page cannot be read, tries each of its rows separately, and then continues with the next page. */
function* rowsByNumber(old: Database.Database, table: CopiedTable): Generator<SqlRow> {
  const select = `SELECT rowid AS row_number, * FROM ${table} WHERE rowid`;
  const page = attempt(() => old.prepare(`${select} > ? ORDER BY rowid LIMIT ${rowsPerStep}`));
  const one = attempt(() => old.prepare(`${select} = ?`));
  if (page === undefined || one === undefined) return;
  for (let last = 0, skipped = 0; skipped <= maxSkipped; ) {
    const from = last;
    const rows = attempt(() => page.all(from) as SqlRow[]);
    if (rows !== undefined) {
      yield* rows;
      if (rows.length < rowsPerStep) return;
      last = Number(rows.at(-1)?.["row_number"]);
      continue;
    }
    last = from + rowsPerStep;
    const found = eachOf(one, from + 1, last);
    skipped += rowsPerStep - found.length;
    yield* found;
  }
}

function eachOf(one: Database.Statement, first: number, last: number): readonly SqlRow[] {
  const found: SqlRow[] = [];
  for (let rowid = first; rowid <= last; rowid++) {
    const row = attempt(() => one.get(rowid) as SqlRow | undefined);
    if (row !== undefined) found.push(row);
  }
  return found;
}

/** Reads the rows session by session. Finds only sessions whose ids occur in messages or branches. */
function* rowsByKey(old: Database.Database, table: CopiedTable, key: string): Generator<SqlRow> {
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

/** Sessions that lack a message or a branch. Message numbers have no gaps, and every branch ends with a message. */
function incomplete(copy: Database.Database): readonly string[] {
  const sql = `
    SELECT s.id FROM sessions s WHERE
      (SELECT count(*) FROM messages m WHERE m.session = s.id) <> (SELECT coalesce(max(seq), 0) FROM messages m WHERE m.session = s.id)
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

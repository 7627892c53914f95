/**
 * What is done about a database that the disk has spoilt. A spoilt session is moved into a file beside the database, as it
 * is. A database with pages that cannot be read is put aside whole, and every session in it that is whole goes into a new one.
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
import { migrateSqlite } from "./migrate-sqlite.ts";
import { migrations, schemaVersion } from "./migrations.ts";
import { isSealed, type SealedTable, type SqlRow, sealedColumns } from "./seal.ts";
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
  memories: "session",
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

/** SQLite stops after so many problems. */
const maxProblems = 5;

/** Also whether indexes lead to what is in their tables: a row that no index leads to is lost without a word. */
export function checkDatabase(database: Database.Database): readonly string[] {
  const rows = database.pragma(`integrity_check(${maxProblems})`) as { integrity_check: string }[];
  return rows.map((row) => row.integrity_check).filter((text) => text !== "ok");
}

/**
 * Contract: throws SQLITE_CORRUPT when a table or index that the migrations make is not there as they make it: their very
 * names may be spoilt. What others have added is theirs.
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
  throw Object.assign(new Error("the tables are not those that Plimsoll made"), {
    code: "SQLITE_CORRUPT",
  });
}

/** Root pages differ from file to file, and how a statement was broken into lines says nothing. */
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
 * Makes a new database, where there is none any more, of one that was put aside because it could not be opened. Its list of
 * tables is put right first, as far as it can be read: that is what keeps a database from opening. Gives undefined
 * when nothing could be read.
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
  // One whose name is spoilt has no other: they were made in the same order in every database.
  const byRow = database.prepare(`${set} rowid = ?`);
  for (const { rowid, type, name, tbl_name, sql } of rows) {
    const values = [type, name, tbl_name, sql];
    if (byName.run(...values, name).changes === 0) byRow.run(...values, rowid);
  }
  database.pragma(`user_version = ${schemaVersion}`);
}

/**
 * Makes a new database of what can be read of the old one. Contract: closes the old connection; when it throws, the old
 * file is where it was.
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

/** A new file with everything that is whole in the old one. */
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

/** A session that lacks something of these is not whole; of the others it can go without a row. */
const needed: ReadonlySet<Table> = new Set([
  "sessions",
  "branches",
  "messages",
  "edits",
  "wordings",
]);

function copyTable(
  old: Database.Database,
  copy: Database.Database,
  table: Table,
  lost: Set<string>,
): void {
  let insert: Database.Statement | undefined;
  for (const row of readableRows(old, table)) {
    if (table in sealedColumns && !isSealed(table as SealedTable, row)) {
      if (needed.has(table)) lost.add(String(row[sessionColumn[table]]));
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
  if (key === undefined) {
    yield* rowsByNumber(old, table);
    return;
  }
  const all = attempt(() => old.prepare(`SELECT * FROM ${table}`).all() as SqlRow[]);
  yield* all ?? rowsByKey(old, table, key);
}

/** A step at a time; where one cannot be read, each row of it by itself, and on behind it. */
function* rowsByNumber(old: Database.Database, table: Table): Generator<SqlRow> {
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

/** Sessions of which a message or a branch is missing: numbers go up by one, and a branch ends with a message. */
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

/** Migrates a SQLite database to the newest schema, after a backup. */

import { existsSync, rmSync } from "node:fs";
import SqliteDatabase, { type Database } from "better-sqlite3";
import { PlimsollError } from "../message/error.ts";
import type { Migration } from "./migrations.ts";
import { whileBusy } from "./while-busy.ts";
import { createPrivate, moveIntoPlace, temporaryName } from "./whole-file.ts";

/**
 * How long to wait for another process that is making the same migration. The time is long, because the database may be large.
 */
const migrationWaitMs = 60_000;

/** Contract: throws STORE_NEWER if the database has a newer schema than this program. */
export function migrateSqlite(
  database: Database,
  file: string,
  migrations: readonly Migration[],
): void {
  const version = schemaVersionOf(database, file, migrations);
  const steps = migrations.filter((step) => step.version > version);
  if (steps.length > 0 && version > 0) backUp(database, file, version);
  if (steps.length > 0) apply(database, file, migrations);
}

export function schemaVersionOf(
  database: Database,
  file: string,
  migrations: readonly Migration[],
): number {
  const version = Number(database.pragma("user_version", { simple: true }));
  const newest = migrations.at(-1)?.version ?? 0;
  if (version <= newest) return version;
  throw new PlimsollError(
    "STORE_NEWER",
    `${file} was written by a newer Plimsoll (schema ${version}; this one supports schema ${newest}). Update Plimsoll.`,
  );
}

/**
 * All steps are one transaction. After a crash the database has either the old version or the newest one, and no other process
 * sees a version in between. The version is read again inside the transaction, because another process may have migrated the
 * database in the meantime.
 */
function apply(database: Database, file: string, migrations: readonly Migration[]): void {
  const run = database.transaction(() => {
    const version = schemaVersionOf(database, file, migrations);
    for (const step of migrations) {
      if (step.version <= version) continue;
      for (const statement of step.statements) database.exec(statement);
      step.run?.(database);
      database.pragma(`user_version = ${step.version}`);
    }
  });
  whileBusy(() => run.immediate(), migrationWaitMs);
}

/**
 * Contract: afterwards, a complete backup of this version exists, or another process has migrated the database to a later
 * version.
 */
function backUp(database: Database, file: string, version: number): void {
  if (file === ":memory:") return;
  const target = `${file}.v${version}.bak`;
  if (isBackup(target, version)) return;
  const written = createPrivate(temporaryName(target));
  try {
    database.prepare("VACUUM INTO ?").run(written);
    // If another process was faster, it has already made a backup.
    if (database.pragma("user_version", { simple: true }) !== version) return;
    moveIntoPlace(written, target, () => isBackup(written, version));
  } finally {
    rmSync(written, { force: true });
  }
}

/**
 * Whether the file is a complete database of that version. It may be incomplete, because older programs wrote backups in place.
 */
function isBackup(file: string, version: number): boolean {
  if (!existsSync(file)) return false;
  const backup = new SqliteDatabase(file, { readonly: true });
  try {
    return (
      backup.pragma("quick_check", { simple: true }) === "ok" &&
      backup.pragma("user_version", { simple: true }) === version
    );
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return false;
  } finally {
    backup.close();
  }
}

function isUnreadable(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB";
}

/** Brings a SQLite database to the newest schema, step by step, after a backup of what was there. */

import { existsSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { PlimsollError } from "../message/error.ts";
import type { Migration } from "./migrations.ts";

/** Contract: throws STORE_NEWER when the database knows more than this program. */
export function migrateSqlite(
  database: Database,
  file: string,
  migrations: readonly Migration[],
): void {
  const version = schemaVersionOf(database, file, migrations);
  const steps = migrations.filter((step) => step.version > version);
  if (steps.length > 0 && version > 0) backUp(database, file, version);
  for (const step of steps) apply(database, step);
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
    `${file} was written by a newer Plimsoll (schema ${version}, this one knows ${newest}): update Plimsoll.`,
  );
}

/** One transaction each: a crash leaves either the old version or the new one. */
function apply(database: Database, step: Migration): void {
  const run = database.transaction(() => {
    for (const statement of step.statements) database.exec(statement);
    step.run?.(database);
    database.pragma(`user_version = ${step.version}`);
  });
  run.immediate();
}

function backUp(database: Database, file: string, version: number): void {
  const target = `${file}.v${version}.bak`;
  if (!existsSync(target)) database.prepare("VACUUM INTO ?").run(target);
}

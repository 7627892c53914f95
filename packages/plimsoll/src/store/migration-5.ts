/** Migration 5: a session has a title, the name of its client, and the folder in which its agent works. */

import type { Database } from "better-sqlite3";
import { isSealed, type SqlRow, sealOf } from "./seal.ts";

export const statements5: readonly string[] = [
  "ALTER TABLE sessions ADD COLUMN title TEXT",
  "ALTER TABLE sessions ADD COLUMN client TEXT",
  "ALTER TABLE sessions ADD COLUMN folder TEXT",
];

/** The columns that a seal covered before this migration. */
const columnsBefore = [
  "id",
  "tenant",
  "wire",
  "agent",
  "client_key",
  "created_at",
  "updated_at",
] as const;

/** Seals the rows again, over all columns. A row that did not match its seal gets none, so it is still known to be damaged. */
export function fillStep5(database: Database): void {
  const seal = database.prepare("UPDATE sessions SET seal = ? WHERE id = ?");
  for (const row of database.prepare("SELECT * FROM sessions").all() as SqlRow[]) {
    // Migration 3 of this program has already sealed the rows of a store that is older than that.
    const isIntact = isSealed("sessions", row, columnsBefore) || isSealed("sessions", row);
    if (isIntact) seal.run(sealOf("sessions", row), row["id"]);
  }
}

/**
 * A seal is a short hash over the columns of a row. It is written with the row and checked on every read, because SQLite does not
 * notice a flipped byte inside a cell. The seal does not cover bodies, which have their own SHA-256.
 */

import { hash } from "node:crypto";
import { PlimsollError } from "../message/error.ts";

/** The order of the columns never changes. A new column goes to the end, with a migration that seals all rows again. */
export const sealedColumns = {
  sessions: [
    "id",
    "tenant",
    "wire",
    "agent",
    "client_key",
    "created_at",
    "updated_at",
    "title",
    "client",
    "folder",
  ],
  branches: [
    "session",
    "id",
    "agent",
    "relation",
    "fork_seq",
    "tip_seq",
    "counters",
    "created_at",
    "left_branch",
  ],
  messages: [
    "session",
    "seq",
    "parent",
    "tenant",
    "role",
    "source",
    "turn",
    "branch",
    "identity",
    "chain",
    "loose_chain",
    "talk",
    "hash",
    "bytes",
    "tokens",
    "certainty",
    "is_complete",
    "at",
    "codec",
  ],
  wordings: ["session", "seq", "hash", "bytes", "codec"],
  turns: ["session", "id", "record"],
  edits: ["session", "seq", "branch", "at", "edit"],
  archive: ["handle", "tenant", "session", "bytes", "at", "source"],
  refs: ["tenant", "name", "session", "seq"],
  errors: ["tenant", "session", "record"],
  events: ["tenant", "session", "at", "event"],
  memories: ["session", "name", "memory"],
  work: ["kind", "item", "revision", "tenant", "session", "record"],
} as const;

export type SealedTable = keyof typeof sealedColumns;

/** 128 bits are far more than needed against random flips, and short enough to store with every row. */
const sealBytes = 16;

export function sealOf(
  table: SealedTable,
  row: SqlRow,
  columns: readonly string[] = sealedColumns[table],
): Uint8Array {
  const values: unknown[] = [table];
  for (const column of columns) values.push(plain(row[column]));
  const digest = hash("sha256", JSON.stringify(values), "buffer");
  return new Uint8Array(digest.subarray(0, sealBytes));
}

/** A blob is represented by its hash. An absent column becomes NULL, because a database does not distinguish them. */
function plain(value: SqlValue | undefined): unknown {
  if (value === undefined || value === null) return null;
  // Uses the text as a database stores it. UTF-8 cannot contain half a surrogate pair.
  if (typeof value === "string") return value.toWellFormed();
  return typeof value === "object" ? { sha256: hash("sha256", value, "base64") } : value;
}

/** Earlier versions sealed fewer columns. `columns` are those, or by default all of today's. */
export function isSealed(
  table: SealedTable,
  row: SqlRow,
  columns: readonly string[] = sealedColumns[table],
): boolean {
  const seal = row["seal"];
  return seal instanceof Uint8Array && Buffer.compare(seal, sealOf(table, row, columns)) === 0;
}

/** Contract: returns the row, or throws STORE_CORRUPT with the session that the row belongs to. */
export function checkSeal(table: SealedTable, row: SqlRow): SqlRow {
  if (isSealed(table, row)) return row;
  const session = String(row[table === "sessions" ? "id" : "session"]);
  throw spoiltRow(table, session);
}

export function spoiltRow(table: string, session: string): PlimsollError {
  return new PlimsollError(
    "STORE_CORRUPT",
    `A row of ${session} in the table ${table} is not as Plimsoll wrote it, so the disk has changed it.`,
    { fields: { session, table } },
  );
}

export type SqlRow = Readonly<Record<string, SqlValue>>;

export type SqlValue = string | number | null | Uint8Array;

/** Reads rows of the SQL tables as records. */

import type { Edit } from "../message/edit.ts";
import type { Relation } from "../message/event.ts";
import type { Role } from "../message/message.ts";
import { unpackBody } from "./body.ts";
import { unpackRecord } from "./record.ts";
import { checkSeal, type SealedTable, type SqlRow, type SqlValue, spoiltRow } from "./seal.ts";
import type {
  ArchiveRecord,
  ArchiveSource,
  BranchRecord,
  Counters,
  NodeRecord,
  SessionRecord,
  StoredBody,
  TurnRecord,
} from "./store.ts";

export interface SqlStatement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /** A second statement. It runs with the same values if the first one changed nothing. */
  readonly otherwise?: string;
  readonly sealed?: SealedReading;
}

/** The columns to return from a table. The thread that reads a row also checks the row's seal. */
export interface SealedReading {
  readonly table: SealedTable;
  readonly columns: readonly string[];
}

/** Contract: throws STORE_CORRUPT for the first row that does not match its seal. */
export function sealedRows(
  rows: readonly SqlRow[],
  { table, columns }: SealedReading,
): readonly SqlRow[] {
  return rows.map((row) => {
    checkSeal(table, row);
    return Object.fromEntries(columns.map((column) => [column, row[column] ?? null]));
  });
}

export function textOf(row: SqlRow, column: string): string {
  return String(row[column]);
}

export function bodyOf(row: SqlRow): StoredBody {
  const codec = row["codec"] === "zstd" || row["codec"] === "deflate" ? row["codec"] : "raw";
  return { codec, bytes: row["body"] as Uint8Array };
}

export function bodyOfMessage(session: string, row: SqlRow): Promise<Uint8Array> {
  const name = `message ${row["seq"]} of ${session}`;
  return unpackBody({ ...bodyOf(row), hash: textOf(row, "hash"), name, session });
}

/**
 * Contract: this function and those below throw STORE_CORRUPT if the row does not match its seal, unless their comment says
 * otherwise.
 */
export function readSession(row: SqlRow | undefined): SessionRecord | undefined {
  if (row === undefined) return undefined;
  checkSeal("sessions", row);
  return {
    id: textOf(row, "id"),
    tenant: textOf(row, "tenant"),
    wire: textOf(row, "wire"),
    ...(row["agent"] === null ? {} : { agent: textOf(row, "agent") }),
    ...(row["client_key"] === null ? {} : { clientKey: textOf(row, "client_key") }),
    ...(row["title"] == null ? {} : { title: textOf(row, "title") }),
    ...(row["client"] == null ? {} : { client: textOf(row, "client") }),
    ...(row["folder"] == null ? {} : { folder: textOf(row, "folder") }),
    createdAt: Number(row["created_at"]),
    updatedAt: Number(row["updated_at"]),
  };
}

export function readBranch(row: SqlRow): BranchRecord {
  checkSeal("branches", row);
  return {
    id: textOf(row, "id"),
    ...(row["agent"] === null ? {} : { agent: textOf(row, "agent") }),
    relation: textOf(row, "relation") as Relation,
    ...(row["left_branch"] == null ? {} : { left: textOf(row, "left_branch") }),
    forkSeq: row["fork_seq"] === null ? null : Number(row["fork_seq"]),
    tipSeq: row["tip_seq"] === null ? null : Number(row["tip_seq"]),
    ...(row["counters"] == null
      ? {}
      : { counters: readRecord<Counters>("branches", row, "counters") }),
    createdAt: Number(row["created_at"]),
  };
}

export const nodeColumns = [
  "seq",
  "parent",
  "role",
  "source",
  "turn",
  "branch",
  "talk",
  "identity",
  "chain",
  "loose_chain",
  "hash",
  "bytes",
  "tokens",
  "certainty",
  "is_complete",
  "at",
];

/** Contract: the seal of the row was already checked. */
export function readNode(row: SqlRow): NodeRecord {
  return {
    seq: Number(row["seq"]),
    parent: row["parent"] === null ? null : Number(row["parent"]),
    role: textOf(row, "role") as Role,
    source: textOf(row, "source") as NodeRecord["source"],
    turn: textOf(row, "turn"),
    ...(row["branch"] == null ? {} : { branch: textOf(row, "branch") }),
    ...(row["talk"] == null ? {} : { talk: textOf(row, "talk") }),
    identity: textOf(row, "identity"),
    chain: textOf(row, "chain"),
    ...(row["loose_chain"] == null ? {} : { looseChain: textOf(row, "loose_chain") }),
    hash: textOf(row, "hash"),
    bytes: Number(row["bytes"]),
    tokens: Number(row["tokens"]),
    certainty: textOf(row, "certainty") as NodeRecord["certainty"],
    isComplete: Number(row["is_complete"]) === 1,
    at: Number(row["at"]),
  };
}

export function readTurn(row: SqlRow): TurnRecord {
  checkSeal("turns", row);
  return readRecord<TurnRecord>("turns", row, "record");
}

export function readEdit(row: SqlRow): Edit {
  checkSeal("edits", row);
  return readRecord<Edit>("edits", row, "edit");
}

export function readArchived(row: SqlRow): ArchiveRecord {
  checkSeal("archive", row);
  return {
    handle: textOf(row, "handle"),
    tenant: textOf(row, "tenant"),
    session: textOf(row, "session"),
    bytes: Number(row["bytes"]),
    at: Number(row["at"]),
    source: readRecord<ArchiveSource>("archive", row, "source"),
  };
}

export function readRecord<T>(table: SealedTable, row: SqlRow, column: string): T {
  try {
    return unpackRecord<T>(row[column] as Uint8Array);
  } catch {
    throw spoiltRow(table, textOf(row, "session"));
  }
}

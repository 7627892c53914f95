/** Rows of the SQL tables as records, and small records as the bytes of their JSON. */

import type { Counters } from "../message/counters.ts";
import type { Relation } from "../message/event.ts";
import type { Role } from "../message/message.ts";
import { unpackBody } from "./body.ts";
import type { BranchRecord, ChainMatch, NodeRecord, SessionRecord, StoredBody } from "./store.ts";

export type SqlValue = string | number | null | Uint8Array;
export type SqlRow = Readonly<Record<string, SqlValue>>;
export interface SqlStatement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

export function recordOf(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** Contract: only for what `recordOf` wrote. */
export function parseRecord<T>(value: SqlValue | undefined): T {
  return JSON.parse(new TextDecoder().decode(value as Uint8Array)) as T;
}

export function textOf(row: SqlRow, column: string): string {
  return String(row[column]);
}

export function bodyOf(row: SqlRow): StoredBody {
  return { codec: row["codec"] === "zstd" ? "zstd" : "raw", bytes: row["body"] as Uint8Array };
}

export function bodyOfMessage(session: string, row: SqlRow): Promise<Uint8Array> {
  const name = `message ${row["seq"]} of ${session}`;
  return unpackBody({ ...bodyOf(row), hash: textOf(row, "hash"), name });
}

export function readSession(row: SqlRow | undefined): SessionRecord | undefined {
  if (row === undefined) return undefined;
  return {
    id: textOf(row, "id"),
    tenant: textOf(row, "tenant"),
    wire: textOf(row, "wire"),
    ...(row["agent"] === null ? {} : { agent: textOf(row, "agent") }),
    ...(row["client_key"] === null ? {} : { clientKey: textOf(row, "client_key") }),
    createdAt: Number(row["created_at"]),
    updatedAt: Number(row["updated_at"]),
  };
}

export function readBranch(row: SqlRow): BranchRecord {
  return {
    id: textOf(row, "id"),
    ...(row["agent"] === null ? {} : { agent: textOf(row, "agent") }),
    relation: textOf(row, "relation") as Relation,
    forkSeq: row["fork_seq"] === null ? null : Number(row["fork_seq"]),
    tipSeq: row["tip_seq"] === null ? null : Number(row["tip_seq"]),
    ...(row["counters"] == null ? {} : { counters: parseRecord<Counters>(row["counters"]) }),
    createdAt: Number(row["created_at"]),
  };
}

export function readNode(row: SqlRow): NodeRecord {
  return {
    seq: Number(row["seq"]),
    parent: row["parent"] === null ? null : Number(row["parent"]),
    role: textOf(row, "role") as Role,
    source: textOf(row, "source") as NodeRecord["source"],
    turn: textOf(row, "turn"),
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

export function readChainMatch(row: SqlRow): ChainMatch {
  return {
    session: textOf(row, "session"),
    seq: Number(row["seq"]),
    chain: textOf(row, "chain"),
    ...(row["loose_chain"] == null ? {} : { looseChain: textOf(row, "loose_chain") }),
  };
}

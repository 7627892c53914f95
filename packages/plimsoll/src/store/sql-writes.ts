/** Turns writes into SQL statements. Every row gets a seal, except rows that are identified by their own hash. */

import { numberOf } from "../work/number.ts";
import { packRecord, plainRecord } from "./record.ts";
import { type SealedTable, type SqlRow, type SqlValue, sealedColumns, sealOf } from "./seal.ts";
import type { SqlStatement } from "./sql-rows.ts";
import type { BranchRecord, SessionRecord, Write } from "./store.ts";

export function statementOf(write: Write): SqlStatement {
  switch (write.kind) {
    case "session":
      return {
        ...inserts.sessions(sessionRow(write.session)),
        otherwise: replaceSession,
      };
    case "branch":
      return inserts.branches(branchRow(write.session, write.branch));
    case "message":
      return inserts.messages(messageRow(write));
    case "head": {
      const { session, hash, blocks } = write;
      return inserts.heads({ session, hash, codec: "blocks", body: blocks });
    }
    case "block": {
      const { session, id, body } = write;
      return inserts.blocks({ session, id, codec: body.codec, body: body.bytes });
    }
    case "turn": {
      const { session, turn } = write;
      return inserts.turns({ session, id: turn.id, record: packRecord(turn) });
    }
    case "memory":
      return statementOfMemory(write);
    case "edit": {
      const { session, edit } = write;
      const { seq, branch, at } = edit;
      return inserts.edits({ session, seq, branch, at, edit: packRecord(edit) });
    }
    case "archive": {
      const { source, ...entry } = write.entry;
      return inserts.archive({ ...entry, source: packRecord(source) });
    }
    case "wording": {
      const { session, seq, hash, bytes, body } = write;
      return inserts.wordings({ session, seq, hash, bytes, codec: body.codec, body: body.bytes });
    }
    default:
      return statementOfNews(write);
  }
}

function statementOfMemory({
  session,
  name,
  memory,
}: Extract<Write, { kind: "memory" }>): SqlStatement {
  if (memory === null) return { sql: forget, values: [session, name] };
  return inserts.memories({ session, name, memory: plainRecord(memory) });
}

function statementOfNews(
  write: Extract<Write, { kind: "reference" | "error" | "event" | "work" }>,
): SqlStatement {
  const { tenant } = write;
  switch (write.kind) {
    case "reference": {
      const { name, session, seq } = write.reference;
      return inserts.refs({ tenant, name, session, seq });
    }
    case "error": {
      const { session } = write.error;
      return inserts.errors({ tenant, session, record: packRecord(write.error) });
    }
    case "event": {
      const { session, at } = write.event;
      return inserts.events({ tenant, session, at, event: packRecord(write.event) });
    }
    case "work": {
      const { id, session, revision } = write.item;
      const record = packRecord(write.item);
      return inserts.work({
        kind: write.of,
        item: numberOf(id),
        revision,
        tenant,
        session,
        record,
      });
    }
  }
}

type Insert = (row: SqlRow) => SqlStatement;

const unlessThere = "ON CONFLICT DO NOTHING";

/** The SQL of each statement is built once. A row only provides the values. */
const inserts = {
  sessions: sealedInsert("sessions", { ending: touching("sessions", ["id"], ["updated_at"]) }),
  branches: sealedInsert("branches", { ending: replacing("branches", ["session", "id"]) }),
  messages: sealedInsert("messages", { unsealed: ["body"] }),
  heads: plainInsert("heads", ["session", "hash", "codec", "body"]),
  blocks: plainInsert("blocks", ["session", "id", "codec", "body"]),
  turns: sealedInsert("turns"),
  edits: sealedInsert("edits"),
  archive: sealedInsert("archive", { ending: unlessThere }),
  wordings: sealedInsert("wordings", { unsealed: ["body"], ending: unlessThere }),
  refs: sealedInsert("refs", { ending: unlessThere }),
  errors: sealedInsert("errors"),
  events: sealedInsert("events", { ending: "RETURNING seq" }),
  work: sealedInsert("work"),
  memories: sealedInsert("memories", { ending: replacing("memories", ["session", "name"]) }),
} as const satisfies Readonly<Record<SealedTable | "heads" | "blocks", Insert>>;

const forget = "DELETE FROM memories WHERE session = ? AND name = ?";

const replaceSession = insertInto(
  "sessions",
  [...sealedColumns.sessions, "seal"],
  replacing("sessions", ["id"]),
);

/** Replaces the whole row, so that the seal is right whatever the row contained before. */
function replacing(table: SealedTable, key: readonly string[]): string {
  const changes = [...sealedColumns[table], "seal"]
    .filter((column) => !key.includes(column))
    .map((column) => `${column} = excluded.${column}`);
  return `ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${changes.join(", ")}`;
}

/**
 * Updates only the columns in `changed`, and only if all others have the same value as before. SQLite rewrites the index of every
 * column that a statement names, even if the value stays the same.
 */
function touching(table: SealedTable, key: readonly string[], changed: readonly string[]): string {
  const changes = [...changed, "seal"].map((column) => `${column} = excluded.${column}`);
  const same = sealedColumns[table]
    .filter((column) => !key.includes(column) && !changed.includes(column))
    .map((column) => `${table}.${column} IS excluded.${column}`);
  return `ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${changes.join(", ")} WHERE ${same.join(" AND ")}`;
}

function sealedInsert(
  table: SealedTable,
  { unsealed = [], ending = "" }: { unsealed?: readonly string[]; ending?: string } = {},
): Insert {
  const columns = [...sealedColumns[table], ...unsealed];
  const sql = insertInto(table, [...columns, "seal"], ending);
  return (row) => ({ sql, values: [...valuesOf(row, columns), sealOf(table, row)] });
}

function plainInsert(table: string, columns: readonly string[]): Insert {
  const sql = insertInto(table, columns, unlessThere);
  return (row) => ({ sql, values: valuesOf(row, columns) });
}

function insertInto(table: string, columns: readonly string[], ending: string): string {
  const marks = columns.map(() => "?").join(", ");
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${marks}) ${ending}`;
}

function valuesOf(row: SqlRow, columns: readonly string[]): readonly SqlValue[] {
  return columns.map((column) => row[column] ?? null);
}

function sessionRow(session: SessionRecord): SqlRow {
  return {
    id: session.id,
    tenant: session.tenant,
    wire: session.wire,
    agent: session.agent ?? null,
    client_key: session.clientKey ?? null,
    created_at: session.createdAt,
    updated_at: session.updatedAt,
    title: session.title ?? null,
    client: session.client ?? null,
    folder: session.folder ?? null,
  };
}

function branchRow(session: string, branch: BranchRecord): SqlRow {
  return {
    session,
    id: branch.id,
    agent: branch.agent ?? null,
    relation: branch.relation,
    fork_seq: branch.forkSeq,
    tip_seq: branch.tipSeq,
    counters: branch.counters === undefined ? null : plainRecord(branch.counters),
    created_at: branch.createdAt,
    left_branch: branch.left ?? null,
  };
}

function messageRow({ session, tenant, node, body }: Extract<Write, { kind: "message" }>): SqlRow {
  return {
    session,
    seq: node.seq,
    parent: node.parent,
    tenant,
    role: node.role,
    source: node.source,
    turn: node.turn,
    branch: node.branch ?? null,
    identity: node.identity,
    chain: node.chain,
    loose_chain: node.looseChain ?? null,
    talk: node.talk ?? null,
    hash: node.hash,
    bytes: node.bytes,
    tokens: node.tokens,
    certainty: node.certainty,
    is_complete: node.isComplete ? 1 : 0,
    at: node.at,
    codec: body.codec,
    body: body.bytes,
  };
}

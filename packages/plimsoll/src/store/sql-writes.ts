/** Writes as SQL statements. Every row but those that are named by their own hash is sealed. */

import { packRecord } from "./record.ts";
import { type SealedTable, sealedColumns, sealOf } from "./seal.ts";
import type { SqlRow, SqlStatement } from "./sql-rows.ts";
import type { BranchRecord, NodeRecord, SessionRecord, Write } from "./store.ts";

/** One write is one statement. */
export function statementOf(write: Write): SqlStatement {
  switch (write.kind) {
    case "session":
      return insert("sessions", sessionRow(write.session), replacing("sessions", ["id"]));
    case "branch":
      return insert(
        "branches",
        branchRow(write.session, write.branch),
        replacing("branches", ["session", "id"]),
      );
    case "message": {
      const { codec, bytes } = write.body;
      return insert("messages", { ...nodeRow(write), codec }, "", { body: bytes });
    }
    case "head":
      return plainInsert(
        "heads",
        { session: write.session, hash: write.hash, codec: "blocks", body: write.blocks },
        unlessThere,
      );
    case "block": {
      const { codec, bytes } = write.body;
      return plainInsert(
        "blocks",
        { session: write.session, id: write.id, codec, body: bytes },
        unlessThere,
      );
    }
    case "turn": {
      const { session, turn } = write;
      return insert("turns", { session, id: turn.id, record: packRecord(turn) });
    }
    case "edit": {
      const { session, edit } = write;
      const { seq, branch, at } = edit;
      return insert("edits", { session, seq, branch, at, edit: packRecord(edit) });
    }
    case "archive": {
      const { source, ...entry } = write.entry;
      return insert("archive", { ...entry, source: packRecord(source) }, unlessThere);
    }
    case "wording": {
      const { session, seq, hash, bytes, body } = write;
      const row = { session, seq, hash, bytes, codec: body.codec };
      return insert("wordings", row, unlessThere, { body: body.bytes });
    }
    default:
      return statementOfNews(write);
  }
}

function statementOfNews(
  write: Extract<Write, { kind: "reference" | "error" | "event" }>,
): SqlStatement {
  const { tenant } = write;
  switch (write.kind) {
    case "reference": {
      const { name, session, seq } = write.reference;
      return insert("refs", { tenant, name, session, seq }, unlessThere);
    }
    case "error":
      return insert("errors", {
        tenant,
        session: write.error.session,
        record: packRecord(write.error),
      });
    case "event": {
      const { session, at } = write.event;
      return insert(
        "events",
        { tenant, session, at, event: packRecord(write.event) },
        "RETURNING seq",
      );
    }
  }
}

const unlessThere = "ON CONFLICT DO NOTHING";

/** The whole row: then its seal fits whatever was there before. */
function replacing(table: SealedTable, key: readonly string[]): string {
  const changes = [...sealedColumns[table], "seal"]
    .filter((column) => !key.includes(column))
    .map((column) => `${column} = excluded.${column}`);
  return `ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${changes.join(", ")}`;
}

function insert(
  table: SealedTable,
  sealed: SqlRow,
  ending = "",
  unsealed: SqlRow = {},
): SqlStatement {
  return plainInsert(table, { ...sealed, ...unsealed, seal: sealOf(table, sealed) }, ending);
}

function plainInsert(table: string, row: SqlRow, ending: string): SqlStatement {
  const columns = Object.keys(row);
  const marks = columns.map(() => "?").join(", ");
  return {
    sql: `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${marks}) ${ending}`,
    values: Object.values(row),
  };
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
    counters: branch.counters === undefined ? null : packRecord(branch.counters),
    created_at: branch.createdAt,
    left_branch: branch.left ?? null,
  };
}

function nodeRow({
  session,
  tenant,
  node,
}: {
  readonly session: string;
  readonly tenant: string;
  readonly node: NodeRecord;
}): SqlRow {
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
  };
}

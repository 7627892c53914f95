/** Writes as SQL statements. */

import { recordOf, type SqlStatement } from "./sql-rows.ts";
import type { ArchiveRecord, BranchRecord, Write } from "./store.ts";

/** One write is one statement. */
export function statementOf(write: Write): SqlStatement {
  switch (write.kind) {
    case "session": {
      const { session } = write;
      return {
        sql: `INSERT INTO sessions (id, tenant, wire, agent, client_key, created_at, updated_at)
          VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at`,
        values: [
          session.id,
          session.tenant,
          session.wire,
          session.agent ?? null,
          session.clientKey ?? null,
          session.createdAt,
          session.updatedAt,
        ],
      };
    }
    case "branch":
      return branchStatement(write.session, write.branch);
    case "message":
      return messageStatement(write);
    case "head":
      return {
        sql: "INSERT INTO heads (session, hash, codec, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        values: [write.session, write.hash, write.body.codec, write.body.bytes],
      };
    case "turn":
      return {
        sql: "INSERT INTO turns (session, id, record) VALUES (?, ?, ?)",
        values: [write.session, write.turn.id, recordOf(write.turn)],
      };
    case "edit":
      return {
        sql: "INSERT INTO edits (session, seq, branch, at, edit) VALUES (?, ?, ?, ?, ?)",
        values: [
          write.session,
          write.edit.seq,
          write.edit.branch,
          write.edit.at,
          recordOf(write.edit),
        ],
      };
    case "archive":
      return archiveStatement(write.entry);
    case "wording":
      return {
        sql: `INSERT INTO wordings (session, seq, hash, bytes, codec, body)
          VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
        values: [
          write.session,
          write.seq,
          write.hash,
          write.bytes,
          write.body.codec,
          write.body.bytes,
        ],
      };
    case "reference":
      return {
        sql: "INSERT INTO refs (tenant, name, session, seq) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        values: [write.tenant, write.reference.name, write.reference.session, write.reference.seq],
      };
    case "error":
      return {
        sql: "INSERT INTO errors (tenant, session, record) VALUES (?, ?, ?)",
        values: [write.tenant, write.error.session, recordOf(write.error)],
      };
    case "event":
      return {
        sql: "INSERT INTO events (tenant, session, at, event) VALUES (?, ?, ?, ?) RETURNING seq",
        values: [write.tenant, write.event.session, write.event.at, recordOf(write.event)],
      };
  }
}

function branchStatement(session: string, branch: BranchRecord): SqlStatement {
  return {
    sql: `INSERT INTO branches (session, id, agent, relation, fork_seq, tip_seq, counters, created_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, id)
      DO UPDATE SET tip_seq = excluded.tip_seq, counters = excluded.counters`,
    values: [
      session,
      branch.id,
      branch.agent ?? null,
      branch.relation,
      branch.forkSeq,
      branch.tipSeq,
      branch.counters === undefined ? null : recordOf(branch.counters),
      branch.createdAt,
    ],
  };
}

function messageStatement(write: Extract<Write, { kind: "message" }>): SqlStatement {
  const { node, body } = write;
  return {
    sql: `INSERT INTO messages (session, seq, parent, tenant, role, source, turn, identity, chain,
      loose_chain, hash, bytes, tokens, certainty, is_complete, at, codec, body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    values: [
      write.session,
      node.seq,
      node.parent,
      write.tenant,
      node.role,
      node.source,
      node.turn,
      node.identity,
      node.chain,
      node.looseChain ?? null,
      node.hash,
      node.bytes,
      node.tokens,
      node.certainty,
      node.isComplete ? 1 : 0,
      node.at,
      body.codec,
      body.bytes,
    ],
  };
}

function archiveStatement(entry: ArchiveRecord): SqlStatement {
  return {
    sql: `INSERT INTO archive (handle, tenant, session, bytes, at, source)
      VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    values: [
      entry.handle,
      entry.tenant,
      entry.session,
      entry.bytes,
      entry.at,
      recordOf(entry.source),
    ],
  };
}

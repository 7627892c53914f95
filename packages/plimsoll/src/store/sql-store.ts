/** The Store over any SQL database: plain statements that SQLite and PostgreSQL both take. */

import type { PlimsollEvent, Relation } from "../message/event.ts";
import type { JsonValue } from "../message/json.ts";
import type { Role } from "../message/message.ts";
import { unpackBody } from "./body.ts";
import type {
  ArchivedContent,
  BranchRecord,
  ChainMatch,
  Counters,
  EditRecord,
  EventQuery,
  MessageRecord,
  NodeRecord,
  Page,
  SessionQuery,
  SessionRecord,
  SessionSnapshot,
  SessionSummary,
  Store,
  StoredBody,
  StoredEvent,
  StoreFigures,
  TurnRecord,
  Write,
} from "./store.ts";

export type SqlValue = string | number | null | Uint8Array;
export type SqlRow = Readonly<Record<string, SqlValue>>;
export interface SqlStatement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Contract: `transact` runs all statements in one durable transaction and gives the rows of each. */
export interface SqlDriver {
  readonly kind: string;
  transact(statements: readonly SqlStatement[]): Promise<readonly (readonly SqlRow[])[]>;
  query(statement: SqlStatement): Promise<readonly SqlRow[]>;
  close(): Promise<void>;
}

/** Events older than this many are dropped: they are for catching up, not for history. */
export const keptEvents = 100_000;
const chainsPerQuery = 250;

export function createSqlStore(driver: SqlDriver): Store {
  const all = (sql: string, ...values: readonly SqlValue[]): Promise<readonly SqlRow[]> =>
    driver.query({ sql, values });
  const first = async (sql: string, ...values: readonly SqlValue[]): Promise<SqlRow | undefined> =>
    (await all(sql, ...values))[0];

  return {
    kind: driver.kind,
    commit: async (writes) => {
      const results = await driver.transact(writes.map(statementOf));
      const isEvent = (index: number): boolean => writes[index]?.kind === "event";
      return {
        events: results.flatMap((rows, index) =>
          isEvent(index) ? rows.map((row) => Number(row["seq"])) : [],
        ),
      };
    },
    session: async (id) => readSession(await first("SELECT * FROM sessions WHERE id = ?", id)),
    sessionByClientKey: async (tenant, clientKey) =>
      readSession(
        await first(
          "SELECT * FROM sessions WHERE tenant = ? AND client_key = ?",
          tenant,
          clientKey,
        ),
      ),
    sessions: (query) => readSessions(driver, query),
    snapshot: (id) => readSnapshot(driver, id),
    messages: (session, page) => readMessages(driver, session, page),
    bodies: (session, seqs) => readBodies(driver, session, seqs),
    findChains: (tenant, chains) => findChains(driver, tenant, chains),
    head: async (session, hash) => {
      const row = await first("SELECT * FROM heads WHERE session = ? AND hash = ?", session, hash);
      return row && unpackBody({ ...bodyOf(row), hash, name: `head ${hash} of ${session}` });
    },
    turns: async (session, limit) =>
      (
        await all(
          "SELECT record FROM turns WHERE session = ? ORDER BY started_at DESC, id DESC LIMIT ?",
          session,
          limit,
        )
      ).map((row) => parseRecord<TurnRecord>(row["record"])),
    counters: async (session, branch) => {
      const row = await first(
        "SELECT counters FROM branches WHERE session = ? AND id = ?",
        session,
        branch,
      );
      return row?.["counters"] == null ? undefined : parseRecord<Counters>(row["counters"]);
    },
    edits: async (session) =>
      (await all("SELECT * FROM edits WHERE session = ? ORDER BY seq", session)).map(readEdit),
    archived: (tenant, handle) => readArchived(driver, tenant, handle),
    events: (query) => readEvents(driver, query),
    figures: () => readFigures(driver),
    close: () => driver.close(),
  };
}

function statementOf(write: Write): SqlStatement {
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
        sql: "INSERT INTO turns (session, id, started_at, record) VALUES (?, ?, ?, ?)",
        values: [write.session, write.turn.id, write.turn.startedAt, recordOf(write.turn)],
      };
    case "counters":
      return {
        sql: "UPDATE branches SET counters = ? WHERE session = ? AND id = ?",
        values: [recordOf(write.counters), write.session, write.branch],
      };
    case "edit":
      return {
        sql: "INSERT INTO edits (session, seq, branch, at, edit) VALUES (?, ?, ?, ?, ?)",
        values: [
          write.session,
          write.edit.seq,
          write.edit.branch,
          write.edit.at,
          recordOf(write.edit.edit),
        ],
      };
    case "archive":
      return archiveStatement(write.entry, write.body);
    case "event":
      return {
        sql: "INSERT INTO events (tenant, session, at, event) VALUES (?, ?, ?, ?) RETURNING seq",
        values: [write.tenant, write.event.session, write.event.at, recordOf(write.event)],
      };
  }
}

function branchStatement(session: string, branch: BranchRecord): SqlStatement {
  return {
    sql: `INSERT INTO branches (session, id, agent, relation, fork_seq, tip_seq, created_at)
      VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, id) DO UPDATE SET tip_seq = excluded.tip_seq`,
    values: [
      session,
      branch.id,
      branch.agent ?? null,
      branch.relation,
      branch.forkSeq,
      branch.tipSeq,
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

function archiveStatement(
  entry: Extract<Write, { kind: "archive" }>["entry"],
  body: StoredBody,
): SqlStatement {
  return {
    sql: `INSERT INTO archive (handle, tenant, session, hash, bytes, at, codec, body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    values: [
      entry.handle,
      entry.tenant,
      entry.session,
      entry.hash,
      entry.bytes,
      entry.at,
      body.codec,
      body.bytes,
    ],
  };
}

async function readSessions(
  driver: SqlDriver,
  query: SessionQuery,
): Promise<readonly SessionSummary[]> {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  if (query.tenant !== undefined) {
    conditions.push("tenant = ?");
    values.push(query.tenant);
  }
  if (query.before !== undefined) {
    conditions.push("(updated_at < ? OR (updated_at = ? AND id < ?))");
    values.push(query.before.updatedAt, query.before.updatedAt, query.before.id);
  }
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const rows = await driver.query({
    sql: `SELECT s.*,
      (SELECT count(*) FROM branches b WHERE b.session = s.id) AS branch_count,
      (SELECT count(*) FROM messages m WHERE m.session = s.id) AS message_count,
      (SELECT count(*) FROM turns t WHERE t.session = s.id) AS turn_count
      FROM sessions s ${where} ORDER BY updated_at DESC, id DESC LIMIT ?`,
    values: [...values, query.limit],
  });
  return rows.flatMap((row) => {
    const session = readSession(row);
    return session === undefined
      ? []
      : [
          {
            ...session,
            branches: Number(row["branch_count"]),
            messages: Number(row["message_count"]),
            turns: Number(row["turn_count"]),
          },
        ];
  });
}

async function readSnapshot(driver: SqlDriver, id: string): Promise<SessionSnapshot | undefined> {
  const [session] = await driver.query({
    sql: "SELECT * FROM sessions WHERE id = ?",
    values: [id],
  });
  const record = readSession(session);
  if (record === undefined) return undefined;
  const branches = await driver.query({
    sql: "SELECT * FROM branches WHERE session = ? ORDER BY created_at, id",
    values: [id],
  });
  const nodes = await driver.query({
    sql: `SELECT seq, parent, role, source, turn, identity, chain, loose_chain, hash, bytes, tokens,
      certainty, is_complete, at FROM messages WHERE session = ? ORDER BY seq`,
    values: [id],
  });
  return { session: record, branches: branches.map(readBranch), nodes: nodes.map(readNode) };
}

async function readMessages(
  driver: SqlDriver,
  session: string,
  page: Page,
): Promise<readonly MessageRecord[]> {
  const rows = await driver.query({
    sql: "SELECT * FROM messages WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?",
    values: [session, page.after ?? 0, page.limit],
  });
  return Promise.all(
    rows.map(async (row) => ({ ...readNode(row), body: await bodyOfMessage(session, row) })),
  );
}

async function readBodies(
  driver: SqlDriver,
  session: string,
  seqs: readonly number[],
): Promise<ReadonlyMap<number, Uint8Array>> {
  const bodies = new Map<number, Uint8Array>();
  for (let start = 0; start < seqs.length; start += chainsPerQuery) {
    const some = seqs.slice(start, start + chainsPerQuery);
    const rows = await driver.query({
      sql: `SELECT seq, hash, codec, body FROM messages WHERE session = ? AND seq IN (${marks(some)})`,
      values: [session, ...some],
    });
    for (const row of rows) bodies.set(Number(row["seq"]), await bodyOfMessage(session, row));
  }
  return bodies;
}

async function findChains(
  driver: SqlDriver,
  tenant: string,
  chains: readonly string[],
): Promise<readonly ChainMatch[]> {
  const matches: ChainMatch[] = [];
  for (let start = 0; start < chains.length; start += chainsPerQuery) {
    const some = chains.slice(start, start + chainsPerQuery);
    for (const column of ["chain", "loose_chain"]) {
      const rows = await driver.query({
        sql: `SELECT session, seq, chain, loose_chain FROM messages WHERE tenant = ? AND ${column} IN (${marks(some)})`,
        values: [tenant, ...some],
      });
      matches.push(...rows.map(readChainMatch));
    }
  }
  return matches;
}

async function readArchived(
  driver: SqlDriver,
  tenant: string | undefined,
  handle: string,
): Promise<ArchivedContent | undefined> {
  const [row] = await driver.query({
    sql: "SELECT * FROM archive WHERE handle = ?",
    values: [handle],
  });
  if (row === undefined || (tenant !== undefined && row["tenant"] !== tenant)) return undefined;
  const hash = textOf(row, "hash");
  return {
    handle,
    tenant: textOf(row, "tenant"),
    session: textOf(row, "session"),
    hash,
    bytes: Number(row["bytes"]),
    at: Number(row["at"]),
    body: await unpackBody({ ...bodyOf(row), hash, name: handle }),
  };
}

async function readEvents(driver: SqlDriver, query: EventQuery): Promise<readonly StoredEvent[]> {
  const conditions = ["seq > ?"];
  const values: SqlValue[] = [query.after];
  for (const column of ["tenant", "session"] as const) {
    const wanted = query[column];
    if (wanted === undefined) continue;
    conditions.push(`${column} = ?`);
    values.push(wanted);
  }
  const rows = await driver.query({
    sql: `SELECT seq, tenant, event FROM events WHERE ${conditions.join(" AND ")} ORDER BY seq LIMIT ?`,
    values: [...values, query.limit],
  });
  return rows.map((row) => ({
    seq: Number(row["seq"]),
    tenant: textOf(row, "tenant"),
    event: parseRecord<PlimsollEvent>(row["event"]),
  }));
}

async function readFigures(driver: SqlDriver): Promise<StoreFigures> {
  const [row] = await driver.query({
    sql: `SELECT (SELECT count(*) FROM sessions) AS sessions, (SELECT count(*) FROM messages) AS messages,
      (SELECT coalesce(sum(bytes), 0) FROM archive) AS archive_bytes`,
    values: [],
  });
  return {
    sessions: Number(row?.["sessions"]),
    messages: Number(row?.["messages"]),
    archiveBytes: Number(row?.["archive_bytes"]),
  };
}

function marks(values: readonly unknown[]): string {
  return values.map(() => "?").join(", ");
}

function recordOf(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** Contract: only for what `recordOf` wrote. */
function parseRecord<T>(value: SqlValue | undefined): T {
  return JSON.parse(new TextDecoder().decode(value as Uint8Array)) as T;
}

function textOf(row: SqlRow, column: string): string {
  return String(row[column]);
}

function bodyOf(row: SqlRow): StoredBody {
  return { codec: row["codec"] === "zstd" ? "zstd" : "raw", bytes: row["body"] as Uint8Array };
}

function bodyOfMessage(session: string, row: SqlRow): Promise<Uint8Array> {
  const name = `message ${row["seq"]} of ${session}`;
  return unpackBody({ ...bodyOf(row), hash: textOf(row, "hash"), name });
}

function readSession(row: SqlRow | undefined): SessionRecord | undefined {
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

function readBranch(row: SqlRow): BranchRecord {
  return {
    id: textOf(row, "id"),
    ...(row["agent"] === null ? {} : { agent: textOf(row, "agent") }),
    relation: textOf(row, "relation") as Relation,
    forkSeq: row["fork_seq"] === null ? null : Number(row["fork_seq"]),
    tipSeq: row["tip_seq"] === null ? null : Number(row["tip_seq"]),
    createdAt: Number(row["created_at"]),
  };
}

function readNode(row: SqlRow): NodeRecord {
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

function readChainMatch(row: SqlRow): ChainMatch {
  return {
    session: textOf(row, "session"),
    seq: Number(row["seq"]),
    chain: textOf(row, "chain"),
    ...(row["loose_chain"] == null ? {} : { looseChain: textOf(row, "loose_chain") }),
  };
}

function readEdit(row: SqlRow): EditRecord {
  return {
    seq: Number(row["seq"]),
    branch: textOf(row, "branch"),
    at: Number(row["at"]),
    edit: parseRecord<Record<string, JsonValue>>(row["edit"]),
  };
}

/** The Store over any SQL database: plain statements that SQLite and PostgreSQL both take. */

import type { Edit } from "../message/edit.ts";
import type { PlimsollEvent } from "../message/event.ts";
import { unpackBody } from "./body.ts";
import {
  bodyOf,
  bodyOfMessage,
  parseRecord,
  readBranch,
  readChainMatch,
  readNode,
  readSession,
  type SqlRow,
  type SqlStatement,
  type SqlValue,
  textOf,
} from "./sql-rows.ts";
import { statementOf } from "./sql-writes.ts";
import type {
  ArchiveRecord,
  ArchiveSource,
  ChainMatch,
  ErrorQuery,
  ErrorRecord,
  EventQuery,
  MessageRecord,
  Page,
  SessionQuery,
  SessionSnapshot,
  SessionSummary,
  Store,
  StoredEvent,
  StoreFigures,
  TurnRecord,
} from "./store.ts";

/** Contract: `transact` runs all statements in one durable transaction and gives the rows of each. */
export interface SqlDriver {
  readonly kind: string;
  transact(statements: readonly SqlStatement[]): Promise<readonly (readonly SqlRow[])[]>;
  query(statement: SqlStatement): Promise<readonly SqlRow[]>;
  close(): Promise<void>;
}

/** Events older than this many are dropped: they are for catching up, not for history. */
export const keptEvents = 100_000;
export const keptErrors = 10_000;
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
    sessionByClientKey: async (tenant, wire, clientKey) =>
      readSession(
        await first(
          "SELECT * FROM sessions WHERE tenant = ? AND wire = ? AND client_key = ?",
          tenant,
          wire,
          clientKey,
        ),
      ),
    sessions: (query) => readSessions(driver, query),
    snapshot: (id) => readSnapshot(driver, id),
    messages: (session, page) => readMessages(driver, session, page),
    bodies: (session, seqs) => readBodies(driver, "messages", session, seqs),
    wordings: (session, seqs) => readBodies(driver, "wordings", session, seqs),
    wordingSizes: async (session) =>
      new Map(
        (await all("SELECT seq, bytes FROM wordings WHERE session = ?", session)).map((row) => [
          Number(row["seq"]),
          Number(row["bytes"]),
        ]),
      ),
    findChains: (tenant, chains) => findChains(driver, tenant, chains),
    head: async (session, hash) => {
      const row = await first("SELECT * FROM heads WHERE session = ? AND hash = ?", session, hash);
      return row && unpackBody({ ...bodyOf(row), hash, name: `head ${hash} of ${session}` });
    },
    turns: async (session, limit) =>
      (
        await all(
          "SELECT record FROM turns WHERE session = ? ORDER BY number DESC LIMIT ?",
          session,
          limit,
        )
      ).map((row) => parseRecord<TurnRecord>(row["record"])),
    edits: (session) => readEdits(driver, session),
    archived: async (tenant, handle) => {
      const row = await first("SELECT * FROM archive WHERE handle = ?", handle);
      const isOwn = tenant === undefined || row?.["tenant"] === tenant;
      return row !== undefined && isOwn ? readArchived(row) : undefined;
    },
    reference: async (tenant, name) => {
      const row = await first("SELECT * FROM refs WHERE tenant = ? AND name = ?", tenant, name);
      return row && { name, session: textOf(row, "session"), seq: Number(row["seq"]) };
    },
    errors: (query) => readErrors(driver, query),
    events: (query) => readEvents(driver, query),
    figures: () => readFigures(driver),
    close: () => driver.close(),
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
    sql: "SELECT * FROM branches WHERE session = ? ORDER BY number",
    values: [id],
  });
  const nodes = await driver.query({
    sql: `SELECT seq, parent, role, source, turn, identity, chain, loose_chain, hash, bytes, tokens,
      certainty, is_complete, at FROM messages WHERE session = ? ORDER BY seq`,
    values: [id],
  });
  return {
    session: record,
    branches: branches.map(readBranch),
    nodes: nodes.map(readNode),
    edits: await readEdits(driver, id),
  };
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
  table: "messages" | "wordings",
  session: string,
  seqs: readonly number[],
): Promise<ReadonlyMap<number, Uint8Array>> {
  const bodies = new Map<number, Uint8Array>();
  for (let start = 0; start < seqs.length; start += chainsPerQuery) {
    const some = seqs.slice(start, start + chainsPerQuery);
    const rows = await driver.query({
      sql: `SELECT seq, hash, codec, body FROM ${table} WHERE session = ? AND seq IN (${marks(some)})`,
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

async function readEdits(driver: SqlDriver, session: string): Promise<readonly Edit[]> {
  const rows = await driver.query({
    sql: "SELECT edit FROM edits WHERE session = ? ORDER BY seq",
    values: [session],
  });
  return rows.map((row) => parseRecord<Edit>(row["edit"]));
}

function readArchived(row: SqlRow): ArchiveRecord {
  return {
    handle: textOf(row, "handle"),
    tenant: textOf(row, "tenant"),
    session: textOf(row, "session"),
    bytes: Number(row["bytes"]),
    at: Number(row["at"]),
    source: parseRecord<ArchiveSource>(row["source"]),
  };
}

async function readErrors(driver: SqlDriver, query: ErrorQuery): Promise<readonly ErrorRecord[]> {
  const { where, values } = conditionsOf(query, []);
  const rows = await driver.query({
    sql: `SELECT record FROM errors ${where} ORDER BY number DESC LIMIT ?`,
    values: [...values, query.limit],
  });
  return rows.map((row) => parseRecord<ErrorRecord>(row["record"]));
}

/** Tenant and session, where the query names them. */
function conditionsOf(
  query: { readonly tenant?: string; readonly session?: string },
  others: readonly { readonly sql: string; readonly value: SqlValue }[],
): { readonly where: string; readonly values: readonly SqlValue[] } {
  const named = (["tenant", "session"] as const).flatMap((column) => {
    const value = query[column];
    return value === undefined ? [] : [{ sql: `${column} = ?`, value }];
  });
  const all = [...others, ...named];
  return {
    where: all.length === 0 ? "" : `WHERE ${all.map(({ sql }) => sql).join(" AND ")}`,
    values: all.map(({ value }) => value),
  };
}

async function readEvents(driver: SqlDriver, query: EventQuery): Promise<readonly StoredEvent[]> {
  const { where, values } = conditionsOf(query, [{ sql: "seq > ?", value: query.after }]);
  const rows = await driver.query({
    sql: `SELECT seq, tenant, event FROM events ${where} ORDER BY seq LIMIT ?`,
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

/** The Store over any SQL database. Uses only statements that both SQLite and PostgreSQL accept. */

import type { Edit } from "../message/edit.ts";
import { PlimsollError } from "../message/error.ts";
import type { PlimsollEvent } from "../message/event.ts";
import { nameOfBlock, splitIds } from "./blocks.ts";
import { unpackBlock, unpackBody } from "./body.ts";
import type { ForgetOrder, Forgotten } from "./forget/forgetting.ts";
import { readHoldings } from "./forget/holdings.ts";
import { unpackRecord } from "./record.ts";
import {
  checkSeal,
  isSealed,
  type SealedTable,
  type SqlRow,
  type SqlValue,
  sealedColumns,
  spoiltRow,
} from "./seal.ts";
import {
  bodyOf,
  bodyOfMessage,
  nodeColumns,
  readArchived,
  readBranch,
  readEdit,
  readNode,
  readRecord,
  readSession,
  readTurn,
  type SqlStatement,
  textOf,
} from "./sql-rows.ts";
import { readBeginning, readNamed, readNewest, readSessions, sealedOnly } from "./sql-sessions.ts";
import { statementOf } from "./sql-writes.ts";
import type {
  ErrorQuery,
  ErrorRecord,
  EventQuery,
  Memories,
  MessageRecord,
  NodeRecord,
  Page,
  Rebuilt,
  SessionSnapshot,
  Store,
  StoredEvent,
  StoreFigures,
  StoreRepair,
  TalkMatch,
  TalkQuery,
} from "./store.ts";
import { workInSql } from "./work-reads.ts";

/** Contract: `transact` runs all statements in one durable transaction and returns the rows of each. */
export interface SqlDriver {
  readonly kind: string;
  transact(statements: readonly SqlStatement[]): Promise<readonly (readonly SqlRow[])[]>;
  query(statement: SqlStatement): Promise<readonly SqlRow[]>;
  putAside(session: string): Promise<string>;
  check(): Promise<readonly string[]>;
  rebuild(): Promise<Rebuilt>;
  size(): Promise<number>;
  forget(order: ForgetOrder): Promise<Forgotten>;
  close(): Promise<void>;
}

/** Maximum number of events to keep. Older ones are dropped, because clients read events only to catch up, not as a history. */
export const keptEvents = 100_000;
export const keptErrors = 10_000;
const valuesPerQuery = 250;

/** Number of messages per query. While this thread reads one batch, the database thread reads the next. */
const nodesPerQuery = 2000;

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
    session: async (id) =>
      within(id, async () => readSession(await first("SELECT * FROM sessions WHERE id = ?", id))),
    sessionByClientKey: async (tenant, wire, clientKey) =>
      readSession(
        await first(
          "SELECT * FROM sessions WHERE tenant = ? AND wire = ? AND client_key = ?",
          tenant,
          wire,
          clientKey,
        ),
      ),
    sessionsNamed: (wire, clientKey) => readNamed(driver, wire, clientKey),
    sessionsBeginning: (prefix, query) => readBeginning(driver, prefix, query),
    newestSession: (tenant) => readNewest(driver, tenant),
    sessions: (query) => readSessions(driver, query),
    snapshot: (id) =>
      within(id, () => readSnapshot(driver, id)).catch(async (error: unknown) => {
        // The tables are read one after the other, and the session may have been put aside meanwhile.
        const isThere = await first("SELECT 1 FROM sessions WHERE id = ?", id);
        if (isThere === undefined) return undefined;
        throw error;
      }),
    memories: (session) => readMemories(driver, session),
    messages: (session, page) => within(session, () => readMessages(driver, session, page)),
    bodies: (session, seqs) => within(session, () => readBodies(driver, "messages", session, seqs)),
    clientSpellings: (session, seqs) =>
      within(session, () => readBodies(driver, "wordings", session, seqs)),
    clientSpellingSizes: (session) =>
      within(session, () => readClientSpellingSizes(driver, session)),
    answers: (query) => findAnswers(driver, query),
    holders: (query) => findHolders(driver, query),
    head: (session, hash) => within(session, () => readHead(driver, session, hash)),
    turns: (session, limit) =>
      within(session, async () =>
        (
          await all(
            "SELECT * FROM turns WHERE session = ? ORDER BY number DESC LIMIT ?",
            session,
            limit,
          )
        ).map(readTurn),
      ),
    edits: (session) => within(session, () => readEdits(driver, session)),
    archived: async (tenant, handle) => {
      const row = await first("SELECT * FROM archive WHERE handle = ?", handle);
      const isOwn = tenant === undefined || row?.["tenant"] === tenant;
      return row !== undefined && isOwn ? readArchived(row) : undefined;
    },
    reference: async (tenant, name) => {
      const row = await first("SELECT * FROM refs WHERE tenant = ? AND name = ?", tenant, name);
      if (row === undefined || !isSealed("refs", row)) return undefined;
      return { name, session: textOf(row, "session"), seq: Number(row["seq"]) };
    },
    errors: (query) => readErrors(driver, query),
    ...workInSql(driver),
    events: (query) => readEvents(driver, query),
    figures: () => readFigures(driver),
    holdings: (sessions) => readHoldings(driver, sessions),
    ...throughDriver(driver),
  };
}

/** What only the database itself can do. */
function throughDriver(driver: SqlDriver): StoreRepair & Pick<Store, "size" | "forget" | "close"> {
  return {
    putAside: (session) => driver.putAside(session),
    check: () => driver.check(),
    rebuild: () => driver.rebuild(),
    size: () => driver.size(),
    forget: (order) => driver.forget(order),
    close: () => driver.close(),
  };
}

/** If a row cannot be read, reports damage to the session being read, because the session id in the row may itself be damaged. */
async function within<T>(session: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!PlimsollError.is(error) || error.code !== "STORE_CORRUPT") throw error;
    if (error.fields["session"] === session) throw error;
    throw new PlimsollError("STORE_CORRUPT", error.message, {
      cause: error,
      fields: { ...error.fields, session },
    });
  }
}

async function readClientSpellingSizes(
  driver: SqlDriver,
  session: string,
): Promise<ReadonlyMap<number, number>> {
  const rows = await driver.query({
    sql: `SELECT ${[...sealedColumns.wordings, "seal"].join(", ")} FROM wordings WHERE session = ?`,
    values: [session],
  });
  return new Map(
    rows
      .map((row) => checkSeal("wordings", row))
      .map((row) => [Number(row["seq"]), Number(row["bytes"])]),
  );
}

async function readHead(
  driver: SqlDriver,
  session: string,
  hash: string,
): Promise<Uint8Array | undefined> {
  const [row] = await driver.query({
    sql: "SELECT * FROM heads WHERE session = ? AND hash = ?",
    values: [session, hash],
  });
  if (row === undefined) return undefined;
  const name = `head ${hash} of ${session}`;
  if (row["codec"] !== "blocks") return unpackBody({ ...bodyOf(row), hash, name, session });
  const bytes = await readBlocks(driver, session, row["body"] as Uint8Array);
  return unpackBody({ codec: "raw", bytes, hash, name, session });
}

async function readBlocks(
  driver: SqlDriver,
  session: string,
  list: Uint8Array,
): Promise<Uint8Array> {
  const ids = splitIds(list);
  const blocks = new Map<string, Uint8Array>();
  for (let start = 0; start < ids.length; start += valuesPerQuery) {
    const some = ids.slice(start, start + valuesPerQuery);
    const rows = await driver.query({
      sql: `SELECT id, codec, body FROM blocks WHERE session = ? AND id IN (${marks(some)})`,
      values: [session, ...some],
    });
    for (const row of rows) {
      const id = row["id"] as Uint8Array;
      blocks.set(nameOfBlock(id), await unpackBlock(bodyOf(row)));
    }
  }
  return new Uint8Array(
    Buffer.concat(ids.map((id) => blocks.get(nameOfBlock(id)) ?? new Uint8Array())),
  );
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
  return whole({
    session: record,
    branches: branches.map(readBranch),
    nodes: await readNodes(driver, id),
    edits: await readEdits(driver, id),
    memories: await readMemories(driver, id),
  });
}

async function readMemories(driver: SqlDriver, session: string): Promise<Memories> {
  const rows = await driver.query({
    sql: "SELECT * FROM memories WHERE session = ? ORDER BY number",
    values: [session],
  });
  return new Map(
    sealedOnly("memories", rows).map((row) => [
      textOf(row, "name"),
      unpackRecord<object>(row["memory"] as Uint8Array),
    ]),
  );
}

async function readNodes(driver: SqlDriver, session: string): Promise<readonly NodeRecord[]> {
  const nodes: NodeRecord[] = [];
  const readFrom = (after: number): Promise<readonly SqlRow[]> =>
    driver.query({
      sql: `SELECT ${sealedOf("messages")} FROM messages WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?`,
      values: [session, after, nodesPerQuery],
      sealed: { table: "messages", columns: nodeColumns },
    });
  let rows = await readFrom(0);
  while (rows.length > 0) {
    const isLast = rows.length < nodesPerQuery;
    const next = isLast ? [] : readFrom(Number(rows.at(-1)?.["seq"]));
    for (const row of rows) nodes.push(readNode(row));
    rows = await next;
  }
  return nodes;
}

function sealedOf(table: SealedTable): string {
  return [...sealedColumns[table], "seal"].join(", ");
}

/**
 * Throws if rows are missing, because a damaged page may hide them. Messages must be numbered from 1 without gaps, and every
 * branch must end with one of them.
 */
function whole(snapshot: SessionSnapshot): SessionSnapshot {
  const { session, nodes, branches } = snapshot;
  const isNumbered = nodes.every(({ seq }, index) => seq === index + 1);
  const isEnded = branches.every(({ tipSeq }) => (tipSeq ?? 0) <= nodes.length);
  const hasBranch = nodes.length === 0 || branches.length > 0;
  if (isNumbered && isEnded && hasBranch) return snapshot;
  throw spoiltRow("messages", session.id);
}

async function readMessages(
  driver: SqlDriver,
  session: string,
  page: Page,
): Promise<readonly MessageRecord[]> {
  const rows = await driver.query({
    sql: `SELECT ${sealedOf("messages")}, body FROM messages WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?`,
    values: [session, page.after ?? 0, page.limit],
    sealed: { table: "messages", columns: [...nodeColumns, "codec", "body"] },
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
  for (let start = 0; start < seqs.length; start += valuesPerQuery) {
    const some = seqs.slice(start, start + valuesPerQuery);
    const rows = await driver.query({
      sql: `SELECT ${sealedOf(table)}, body FROM ${table}
        WHERE session = ? AND seq IN (${marks(some)})`,
      values: [session, ...some],
      sealed: { table, columns: ["seq", "hash", "codec", "body"] },
    });
    for (const row of rows) bodies.set(Number(row["seq"]), await bodyOfMessage(session, row));
  }
  return bodies;
}

/** Maximum number of talks (hashes over conversations) in one statement. */
const talksPerQuery = 32;

/** Searches for each talk separately. Otherwise a talk with thousands of matches could hide a talk that only this session has. */
async function findAnswers(
  driver: SqlDriver,
  { tenant, wire, talks, limit }: TalkQuery,
): Promise<readonly TalkMatch[]> {
  const one = `SELECT * FROM (SELECT m.session, m.seq, m.talk FROM messages m JOIN sessions s ON s.id = m.session
    WHERE m.tenant = ? AND m.talk = ? AND m.source = 'answer' AND s.wire = ? AND s.client_key IS NULL
    ORDER BY m.rowid DESC LIMIT ?)`;
  for (let start = 0; start < talks.length; start += talksPerQuery) {
    const some = talks.slice(start, start + talksPerQuery);
    const rows = await driver.query({
      sql: some.map(() => one).join(" UNION ALL "),
      values: some.flatMap((talk) => [tenant, talk, wire, limit]),
    });
    if (rows.length === 0) continue;
    const matches = rows.map((row) => ({
      session: textOf(row, "session"),
      seq: Number(row["seq"]),
      talk: textOf(row, "talk"),
    }));
    return some.flatMap((talk) => matches.filter((match) => match.talk === talk));
  }
  return [];
}

async function findHolders(
  driver: SqlDriver,
  { tenant, wire, talks, limit }: TalkQuery,
): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const talk of talks) {
    const rows = await driver.query({
      sql: `SELECT DISTINCT m.session FROM messages m JOIN sessions s ON s.id = m.session
        WHERE m.tenant = ? AND m.talk = ? AND s.wire = ? LIMIT ?`,
      values: [tenant, talk, wire, limit],
    });
    for (const row of rows) found.add(textOf(row, "session"));
  }
  return [...found];
}

async function readEdits(driver: SqlDriver, session: string): Promise<readonly Edit[]> {
  const rows = await driver.query({
    sql: "SELECT * FROM edits WHERE session = ? ORDER BY seq",
    values: [session],
  });
  return rows.map(readEdit);
}

async function readErrors(driver: SqlDriver, query: ErrorQuery): Promise<readonly ErrorRecord[]> {
  const { where, values } = conditionsOf(query, []);
  const rows = await driver.query({
    sql: `SELECT * FROM errors ${where} ORDER BY number DESC LIMIT ?`,
    values: [...values, query.limit],
  });
  return sealedOnly("errors", rows).map((row) => readRecord<ErrorRecord>("errors", row, "record"));
}

/** Conditions for tenant and session, if the query names them. */
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
    sql: `SELECT * FROM events ${where} ORDER BY seq LIMIT ?`,
    values: [...values, query.limit],
  });
  return sealedOnly("events", rows).map((row) => ({
    seq: Number(row["seq"]),
    tenant: textOf(row, "tenant"),
    event: readRecord<PlimsollEvent>("events", row, "event"),
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

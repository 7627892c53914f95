/** Finds and lists sessions. */

import { isSealed, type SealedTable, type SqlRow, type SqlValue } from "./seal.ts";
import { readSession, type SqlStatement } from "./sql-rows.ts";
import type { BeginningQuery, SessionQuery, SessionRecord, SessionSummary } from "./store.ts";

export interface SqlReader {
  query(statement: SqlStatement): Promise<readonly SqlRow[]>;
}

/**
 * Returns the rows that match their seals. Lists leave out all other rows, so that one damaged row does not make the whole list
 * fail.
 */
export function sealedOnly(table: SealedTable, rows: readonly SqlRow[]): readonly SqlRow[] {
  return rows.filter((row) => isSealed(table, row));
}

/** Maximum number of sessions with the same client name to return. */
const namesakes = 8;

export async function readNamed(
  driver: SqlReader,
  wire: string,
  clientKey: string,
): Promise<readonly SessionRecord[]> {
  const sql = `SELECT * FROM sessions WHERE wire = ? AND client_key = ? ORDER BY updated_at DESC LIMIT ${namesakes}`;
  const rows = await driver.query({ sql, values: [wire, clientKey] });
  return rows.flatMap((row) => readSession(row) ?? []);
}

export async function readBeginning(
  driver: SqlReader,
  prefix: string,
  { tenant, limit }: BeginningQuery,
): Promise<readonly SessionRecord[]> {
  // The ids are ASCII, so every id with this beginning is below the beginning with the last character after it.
  const rows = await driver.query({
    sql: `SELECT * FROM sessions WHERE id >= ? AND id < ?
      ${tenant === undefined ? "" : "AND tenant = ?"} ORDER BY id LIMIT ?`,
    values: [prefix, `${prefix}\u{7f}`, ...(tenant === undefined ? [] : [tenant]), limit],
  });
  return sealedOnly("sessions", rows).flatMap((row) => readSession(row) ?? []);
}

/** The session with the newest turn. If no session has a turn, the session with the latest `updatedAt`. */
export async function readNewest(
  driver: SqlReader,
  tenant: string | undefined,
): Promise<SessionRecord | undefined> {
  const rows = await driver.query({
    sql: `SELECT s.* FROM turns t JOIN sessions s ON s.id = t.session
      ${tenant === undefined ? "" : "WHERE s.tenant = ?"} ORDER BY t.number DESC LIMIT 1`,
    values: tenant === undefined ? [] : [tenant],
  });
  const [row] = sealedOnly("sessions", rows);
  if (row !== undefined) return readSession(row);
  const [newest] = await readSessions(driver, {
    limit: 1,
    ...(tenant === undefined ? {} : { tenant }),
  });
  return newest;
}

export async function readSessions(
  driver: SqlReader,
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
  return sealedOnly("sessions", rows).flatMap((row) => {
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

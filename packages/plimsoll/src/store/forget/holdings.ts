/** Reads how much a SQL store has of some sessions. Its statements also run inside the transaction that deletes them. */

import type { Holding } from "./forgetting.ts";

export interface HoldingStatement {
  readonly sql: string;
  readonly values: readonly string[];
}

export type HoldingRow = Readonly<Record<string, unknown>>;

interface Reader {
  query(statement: HoldingStatement): Promise<readonly HoldingRow[]>;
}

/** The column with most of the bytes of a row, by table. Events and errors are left out, because no index finds them quickly. */
const weighed = {
  messages: "body",
  blocks: "body",
  heads: "body",
  wordings: "body",
  turns: "record",
  edits: "edit",
  archive: "source",
  memories: "memory",
} as const;
type Weighed = keyof typeof weighed;
const weighedTables = Object.keys(weighed) as readonly Weighed[];

/** Maximum number of sessions per query, so that other questions to the database wait only for a moment. */
export const sessionsPerQuery = 100;

export async function readHoldings(
  driver: Reader,
  sessions: readonly string[],
): Promise<readonly Holding[]> {
  const found: Holding[] = [];
  for (let start = 0; start < sessions.length; start += sessionsPerQuery) {
    const statements = holdingStatements(sessions.slice(start, start + sessionsPerQuery));
    const results = await Promise.all(statements.map((statement) => driver.query(statement)));
    found.push(...holdingsIn(results));
  }
  return found;
}

/** The statements whose results `holdingsIn` reads. */
export function holdingStatements(ids: readonly string[]): readonly HoldingStatement[] {
  const marks = ids.map(() => "?").join(", ");
  const sql = `SELECT id, tenant, updated_at FROM sessions WHERE id IN (${marks}) ORDER BY id`;
  const weights = weighedTables.map(
    (table) =>
      `SELECT session, count(*) AS rows_there, coalesce(sum(length(${weighed[table]})), 0) AS bytes_there
        FROM ${table} WHERE session IN (${marks}) GROUP BY session`,
  );
  return [sql, ...weights].map((one) => ({ sql: one, values: ids }));
}

export function holdingsIn([
  sessions = [],
  ...weights
]: readonly (readonly HoldingRow[])[]): readonly Holding[] {
  const figures = weights.map((rows) => new Map(rows.map((row) => [String(row["session"]), row])));
  const countIn = (table: Weighed, id: string): number =>
    Number(figures[weighedTables.indexOf(table)]?.get(id)?.["rows_there"] ?? 0);
  return sessions.map((row) => {
    const id = String(row["id"]);
    return {
      session: id,
      tenant: String(row["tenant"]),
      updatedAt: Number(row["updated_at"]),
      messages: countIn("messages", id),
      archiveEntries: countIn("archive", id),
      bytes: figures.reduce((sum, rows) => sum + Number(rows.get(id)?.["bytes_there"] ?? 0), 0),
    };
  });
}

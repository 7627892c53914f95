/**
 * Step 3: every row is sealed; answers can be found by what was said before them; messages know their branch. Rows of
 * earlier versions get all of it here, from what they say.
 */

import type { Database } from "better-sqlite3";
import { answerKeyOf, chainRoot, nextChain } from "./chain.ts";
import { unpackRecord } from "./record.ts";
import { type SealedTable, sealedColumns, sealOf } from "./seal.ts";
import type { SqlRow } from "./sql-rows.ts";
import type { TurnRecord } from "./store.ts";

export const statements3: readonly string[] = [
  ...(Object.keys(sealedColumns) as SealedTable[]).map(
    (table) => `ALTER TABLE ${table} ADD COLUMN seal BLOB`,
  ),
  "ALTER TABLE messages ADD COLUMN branch TEXT",
  "ALTER TABLE messages ADD COLUMN answer_key TEXT",
  "ALTER TABLE branches ADD COLUMN left_branch TEXT",
  "DROP INDEX messages_by_chain",
  "DROP INDEX messages_by_loose_chain",
  "CREATE INDEX messages_by_answer ON messages (tenant, answer_key) WHERE answer_key IS NOT NULL",
  // Not WITHOUT ROWID: there a block of a kilobyte would take a page of its own.
  `CREATE TABLE blocks (
    number INTEGER PRIMARY KEY, session TEXT NOT NULL, id BLOB NOT NULL, codec TEXT NOT NULL, body BLOB NOT NULL,
    UNIQUE (session, id))`,
];

/** So many rows are in memory at once. */
const rowsPerStep = 500;

/** Contract: inside the transaction of the step; the database is not in use by anybody else. */
export function fillStep3(database: Database): void {
  const branchOfTurn = readBranches(database);
  const wireOf = new Map(
    (database.prepare("SELECT id, wire FROM sessions").all() as SqlRow[]).map((row) => [
      String(row["id"]),
      String(row["wire"]),
    ]),
  );
  const talks = new Talks();
  forEachRow(database, "messages", (row) => {
    const branch = branchOfTurn.get(`${row["session"]}\0${row["turn"]}`) ?? null;
    const answerKey = talks.add(row, wireOf.get(String(row["session"])) ?? "");
    return { branch, answer_key: answerKey };
  });
  for (const table of [
    "branches",
    "wordings",
    "turns",
    "edits",
    "archive",
    "refs",
    "errors",
    "events",
  ] as const)
    forEachRow(database, table, () => ({}));
  const seal = database.prepare("UPDATE sessions SET seal = ? WHERE id = ?");
  for (const row of database.prepare("SELECT * FROM sessions").all() as SqlRow[])
    seal.run(sealOf("sessions", row), row["id"]);
}

function readBranches(database: Database): ReadonlyMap<string, string> {
  const branches = new Map<string, string>();
  for (const row of database.prepare("SELECT session, id, record FROM turns").iterate()) {
    const { session, id, record } = row as { session: string; id: string; record: Uint8Array };
    const turn = readableTurn(record);
    if (turn !== undefined) branches.set(`${session}\0${id}`, turn.branch);
  }
  return branches;
}

/** A turn that cannot be read tells nothing: its messages have no branch then. */
function readableTurn(record: Uint8Array): TurnRecord | undefined {
  try {
    return unpackRecord<TurnRecord>(record);
  } catch {
    return undefined;
  }
}

/** Every row once, in the order in which they were written, with what it gains and its seal. */
function forEachRow(database: Database, table: SealedTable, gain: (row: SqlRow) => SqlRow): void {
  // Under a name of its own: where it is the primary key, its column would have that name.
  const columns = ["rowid AS row_number", ...sealedColumns[table]].join(", ");
  const page = database.prepare(
    `SELECT ${columns} FROM ${table} WHERE rowid > ? ORDER BY rowid LIMIT ${rowsPerStep}`,
  );
  let last = 0;
  for (;;) {
    const rows = page.all(last) as SqlRow[];
    for (const row of rows) {
      const gained = gain(row);
      const names = Object.keys(gained);
      const changes = [...names, "seal"].map((name) => `${name} = ?`).join(", ");
      database
        .prepare(`UPDATE ${table} SET ${changes} WHERE rowid = ?`)
        .run(...Object.values(gained), sealOf(table, { ...row, ...gained }), row["row_number"]);
      last = Number(row["row_number"]);
    }
    if (rows.length < rowsPerStep) return;
  }
}

interface Said {
  /** Hash over everything that was said up to here. */
  readonly talk: string;
  /** The same up to the request that this answers, where it is an answer. */
  readonly before: string;
  readonly isLeading: boolean;
}

/** Messages come in the order of their numbers, a parent before its children. */
class Talks {
  readonly #said = new Map<string, Said>();

  add(row: SqlRow, wire: string): string | null {
    const parent = this.#said.get(`${row["session"]}\0${row["parent"]}`);
    const root = chainRoot(wire);
    const isLeading = row["role"] === "system" && (parent === undefined || parent.isLeading);
    const identity = String(row["identity"]);
    const before = row["source"] === "answer" ? (parent?.before ?? root) : root;
    const talk = isLeading ? root : nextChain(parent?.talk ?? root, identity);
    const isAnswer = row["source"] === "answer";
    this.#said.set(`${row["session"]}\0${row["seq"]}`, {
      talk,
      before: isAnswer ? before : talk,
      isLeading,
    });
    return isAnswer ? answerKeyOf(before, identity) : null;
  }
}

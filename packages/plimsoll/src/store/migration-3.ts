/**
 * Migration 3: every row gets a seal. Every message also gets its branch, and a hash of the conversation up to that message, by
 * which the message can be found. For rows of earlier versions, these values are computed from their content.
 */

import type { Database } from "better-sqlite3";
import { chainRoot, nextChain } from "./chain.ts";
import { unpackRecord } from "./record.ts";
import { type SealedTable, type SqlRow, sealedColumns, sealOf } from "./seal.ts";
import type { TurnRecord } from "./store.ts";

/** All tables of this schema version, except tables whose rows are identified by their own hash. */
const sealedTables: readonly SealedTable[] = [
  "sessions",
  "branches",
  "messages",
  "wordings",
  "turns",
  "edits",
  "archive",
  "refs",
  "errors",
  "events",
];

export const statements3: readonly string[] = [
  ...sealedTables.map((table) => `ALTER TABLE ${table} ADD COLUMN seal BLOB`),
  "ALTER TABLE messages ADD COLUMN branch TEXT",
  "ALTER TABLE messages ADD COLUMN talk TEXT",
  "ALTER TABLE branches ADD COLUMN left_branch TEXT",
  "DROP INDEX messages_by_chain",
  "DROP INDEX messages_by_loose_chain",
  "CREATE INDEX sessions_by_name ON sessions (wire, client_key) WHERE client_key IS NOT NULL",
  "CREATE INDEX messages_by_talk ON messages (tenant, talk) WHERE talk IS NOT NULL",
  // Not WITHOUT ROWID, because a block of a kilobyte would then take a whole page.
  `CREATE TABLE blocks (
    number INTEGER PRIMARY KEY, session TEXT NOT NULL, id BLOB NOT NULL, codec TEXT NOT NULL, body BLOB NOT NULL,
    UNIQUE (session, id))`,
];

/** Maximum number of rows in memory at a time. */
const rowsPerStep = 500;

/** Contract: called inside the migration's transaction, while nobody else uses the database. */
export function fillStep3(database: Database): void {
  const branchOfTurn = readBranches(database);
  const isOnPath = readPaths(database);
  const wireOf = new Map(
    (database.prepare("SELECT id, wire FROM sessions").all() as SqlRow[]).map((row) => [
      String(row["id"]),
      String(row["wire"]),
    ]),
  );
  const talks = new Talks();
  forEachRow(database, "messages", (row) => {
    const branch = branchOfTurn.get(`${row["session"]}\0${row["turn"]}`) ?? null;
    // Earlier versions put several people's conversations on one branch. Only messages on the path to the branch's end certainly
    // belong to the branch.
    const isOwn = branch !== null && isOnPath(String(row["session"]), branch, Number(row["seq"]));
    const talk = talks.add(row, wireOf.get(String(row["session"])) ?? "");
    return { branch: isOwn ? branch : null, talk };
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

/** Returns a function that tells whether a message is on the path to the end of a branch. */
function readPaths(database: Database): (session: string, branch: string, seq: number) => boolean {
  const parents = new Map<string, number | null>();
  for (const row of database.prepare("SELECT session, seq, parent FROM messages").iterate()) {
    const { session, seq, parent } = row as { session: string; seq: number; parent: number | null };
    parents.set(`${session}\0${seq}`, parent);
  }
  const paths = new Map<string, ReadonlySet<number>>();
  const branches = database.prepare("SELECT session, id, tip_seq FROM branches").all() as SqlRow[];
  for (const row of branches) {
    const path = new Set<number>();
    for (let at = row["tip_seq"] as number | null | undefined; at != null && !path.has(at); ) {
      path.add(at);
      at = parents.get(`${row["session"]}\0${at}`);
    }
    paths.set(`${row["session"]}\0${row["id"]}`, path);
  }
  return (session, branch, seq) => paths.get(`${session}\0${branch}`)?.has(seq) === true;
}

/** If a turn cannot be read, its messages get no branch. */
function readableTurn(record: Uint8Array): TurnRecord | undefined {
  try {
    return unpackRecord<TurnRecord>(record);
  } catch {
    return undefined;
  }
}

/** Visits every row of a table once, in the order in which the rows were written, and writes the added columns and the seal. */
function forEachRow(database: Database, table: SealedTable, gain: (row: SqlRow) => SqlRow): void {
  // `rowid` needs an alias: in a table with an integer primary key, SQLite would name the column after that key.
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

interface MessageState {
  /** Hash over the conversation up to this message. */
  readonly talk: string;
  readonly isLeading: boolean;
}

/**
 * Computes the field `talk` of each message. Contract: messages are added in the order of their numbers, a parent before its children. In
 * newer versions, this hash covers the essences of the messages, which only a wire can compute. Here it covers their identities. A
 * request is looked up by both kinds (`session/identify/place-request.ts`).
 */
class Talks {
  readonly #states = new Map<string, MessageState>();

  add(row: SqlRow, wire: string): string | null {
    const parent = this.#states.get(`${row["session"]}\0${row["parent"]}`);
    const root = chainRoot(wire);
    const isLeading = row["role"] === "system" && (parent === undefined || parent.isLeading);
    const talk = isLeading ? root : nextChain(parent?.talk ?? root, String(row["identity"]));
    this.#states.set(`${row["session"]}\0${row["seq"]}`, { talk, isLeading });
    return isLeading || row["source"] === "inner" ? null : talk;
  }
}

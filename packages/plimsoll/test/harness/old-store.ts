/** A data folder of the first version. This file has its own copy of that schema, because a released schema never changes. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";

const SCHEMA = `
  CREATE TABLE sessions (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, wire TEXT NOT NULL, agent TEXT, client_key TEXT,
    created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL) WITHOUT ROWID;
  CREATE UNIQUE INDEX sessions_by_client_key ON sessions (tenant, wire, client_key);
  CREATE TABLE branches (
    number INTEGER PRIMARY KEY, session TEXT NOT NULL, id TEXT NOT NULL, agent TEXT,
    relation TEXT NOT NULL, fork_seq BIGINT, tip_seq BIGINT, counters BLOB, created_at BIGINT NOT NULL,
    UNIQUE (session, id));
  CREATE TABLE messages (
    session TEXT NOT NULL, seq BIGINT NOT NULL, parent BIGINT, tenant TEXT NOT NULL,
    role TEXT NOT NULL, source TEXT NOT NULL, turn TEXT NOT NULL, identity TEXT NOT NULL,
    chain TEXT NOT NULL, loose_chain TEXT, hash TEXT NOT NULL, bytes BIGINT NOT NULL,
    tokens BIGINT NOT NULL, certainty TEXT NOT NULL, is_complete INTEGER NOT NULL,
    at BIGINT NOT NULL, codec TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (session, seq));
  CREATE INDEX messages_by_chain ON messages (tenant, chain);
  CREATE INDEX messages_by_loose_chain ON messages (tenant, loose_chain) WHERE loose_chain IS NOT NULL;
  CREATE TABLE heads (
    session TEXT NOT NULL, hash TEXT NOT NULL, codec TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (session, hash)) WITHOUT ROWID;
  CREATE TABLE turns (
    number INTEGER PRIMARY KEY, session TEXT NOT NULL, id TEXT NOT NULL, record BLOB NOT NULL,
    UNIQUE (session, id));
  CREATE TABLE edits (
    session TEXT NOT NULL, seq BIGINT NOT NULL, branch TEXT NOT NULL, at BIGINT NOT NULL,
    edit BLOB NOT NULL, PRIMARY KEY (session, seq));
  CREATE TABLE archive (
    handle TEXT PRIMARY KEY, tenant TEXT NOT NULL, session TEXT NOT NULL, hash TEXT NOT NULL,
    bytes BIGINT NOT NULL, at BIGINT NOT NULL, codec TEXT NOT NULL, body BLOB NOT NULL);
  CREATE INDEX archive_by_session ON archive (session);
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY, tenant TEXT NOT NULL, session TEXT NOT NULL,
    at BIGINT NOT NULL, event BLOB NOT NULL);`;

export const OLD_KEY = "old-key-0123456789-0123456789-0123456789-ab";

interface OldRow {
  readonly session: string;
  readonly seq: number;
  readonly body: string;
}

/** The contents, large enough for several pages. */
export const oldRows: readonly OldRow[] = Array.from({ length: 20 }, (_, index) => ({
  session: `ses_${index % 4}`,
  seq: Math.floor(index / 4) + 1,
  body: JSON.stringify({ role: "user", content: `${index} `.repeat(400) }),
})).sort((one, other) => one.session.localeCompare(other.session) || one.seq - other.seq);

export function makeOldFolder(data: string): void {
  mkdirSync(data, { recursive: true, mode: 0o700 });
  for (const name of ["key", "token"]) writeFileSync(join(data, name), OLD_KEY, { mode: 0o600 });
  const database = new Database(join(data, "plimsoll.db"));
  database.pragma("journal_mode = WAL");
  database.exec(SCHEMA);
  const addSession = database.prepare(
    "INSERT INTO sessions VALUES (?, 'tenant', 'anthropic', NULL, NULL, 1, 1)",
  );
  for (const id of new Set(oldRows.map(({ session }) => session))) addSession.run(id);
  const addMessage = database.prepare(
    `INSERT INTO messages VALUES (?, ?, NULL, 'tenant', 'user', 'request', 'turn', 'identity',
      'chain', NULL, 'hash', ?, 1, 'exact', 1, 1, 'none', ?)`,
  );
  for (const { session, seq, body } of oldRows)
    addMessage.run(session, seq, body.length, Buffer.from(body));
  database.pragma("user_version = 1");
  database.close();
}

/** Reads the contents from a database. Throws if the database is damaged. */
export function rowsOf(file: string): readonly OldRow[] {
  const database = new Database(file, { fileMustExist: true });
  try {
    const found = database.pragma("quick_check", { simple: true });
    if (found !== "ok") throw new Error(`${file}: ${found}`);
    return database
      .prepare<[], { session: string; seq: number; body: Buffer }>(
        "SELECT session, seq, body FROM messages ORDER BY session, seq",
      )
      .all()
      .map(({ session, seq, body }) => ({ session, seq, body: body.toString("utf8") }));
  } finally {
    database.close();
  }
}

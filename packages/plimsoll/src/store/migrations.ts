/** The schema as numbered steps. Never change a released step. Add a new one. */

import type { Database } from "better-sqlite3";
import { fillStep3, statements3 } from "./migration-3.ts";
import { fillStep5, statements5 } from "./migration-5.ts";

export interface Migration {
  readonly version: number;
  readonly statements: readonly string[];
  /** Work that SQL statements cannot do. It runs after the statements, in the same transaction. */
  readonly run?: (database: Database) => void;
}

/** Bodies are bytes, never text, because NUL and lone surrogates occur in real conversations. */
export const migrations: readonly Migration[] = [
  {
    version: 1,
    statements: [
      `CREATE TABLE sessions (
        id TEXT PRIMARY KEY, tenant TEXT NOT NULL, wire TEXT NOT NULL, agent TEXT, client_key TEXT,
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL) WITHOUT ROWID`,
      "CREATE UNIQUE INDEX sessions_by_client_key ON sessions (tenant, wire, client_key)",
      `CREATE TABLE branches (
        number INTEGER PRIMARY KEY, session TEXT NOT NULL, id TEXT NOT NULL, agent TEXT,
        relation TEXT NOT NULL, fork_seq BIGINT, tip_seq BIGINT, counters BLOB, created_at BIGINT NOT NULL,
        UNIQUE (session, id))`,
      `CREATE TABLE messages (
        session TEXT NOT NULL, seq BIGINT NOT NULL, parent BIGINT, tenant TEXT NOT NULL,
        role TEXT NOT NULL, source TEXT NOT NULL, turn TEXT NOT NULL, identity TEXT NOT NULL,
        chain TEXT NOT NULL, loose_chain TEXT, hash TEXT NOT NULL, bytes BIGINT NOT NULL,
        tokens BIGINT NOT NULL, certainty TEXT NOT NULL, is_complete INTEGER NOT NULL,
        at BIGINT NOT NULL, codec TEXT NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (session, seq))`,
      "CREATE INDEX messages_by_chain ON messages (tenant, chain)",
      "CREATE INDEX messages_by_loose_chain ON messages (tenant, loose_chain) WHERE loose_chain IS NOT NULL",
      `CREATE TABLE heads (
        session TEXT NOT NULL, hash TEXT NOT NULL, codec TEXT NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (session, hash)) WITHOUT ROWID`,
      `CREATE TABLE turns (
        number INTEGER PRIMARY KEY, session TEXT NOT NULL, id TEXT NOT NULL, record BLOB NOT NULL,
        UNIQUE (session, id))`,
      `CREATE TABLE edits (
        session TEXT NOT NULL, seq BIGINT NOT NULL, branch TEXT NOT NULL, at BIGINT NOT NULL,
        edit BLOB NOT NULL, PRIMARY KEY (session, seq))`,
      `CREATE TABLE archive (
        handle TEXT PRIMARY KEY, tenant TEXT NOT NULL, session TEXT NOT NULL, hash TEXT NOT NULL,
        bytes BIGINT NOT NULL, at BIGINT NOT NULL, codec TEXT NOT NULL, body BLOB NOT NULL)`,
      "CREATE INDEX archive_by_session ON archive (session)",
      `CREATE TABLE events (
        seq INTEGER PRIMARY KEY, tenant TEXT NOT NULL, session TEXT NOT NULL,
        at BIGINT NOT NULL, event BLOB NOT NULL)`,
    ],
  },
  {
    version: 2,
    statements: [
      // Nothing ever wrote to the first archive table. Content that left the window is stored only in the log.
      "DROP TABLE archive",
      `CREATE TABLE archive (
        handle TEXT PRIMARY KEY, tenant TEXT NOT NULL, session TEXT NOT NULL,
        bytes BIGINT NOT NULL, at BIGINT NOT NULL, source BLOB NOT NULL)`,
      "CREATE INDEX archive_by_session ON archive (session)",
      `CREATE TABLE wordings (
        session TEXT NOT NULL, seq BIGINT NOT NULL, hash TEXT NOT NULL, bytes BIGINT NOT NULL,
        codec TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (session, seq))`,
      `CREATE TABLE refs (
        tenant TEXT NOT NULL, name TEXT NOT NULL, session TEXT NOT NULL, seq BIGINT NOT NULL,
        PRIMARY KEY (tenant, name))`,
      `CREATE TABLE errors (
        number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, session TEXT NOT NULL, record BLOB NOT NULL)`,
      "CREATE INDEX errors_by_session ON errors (session)",
    ],
  },
  { version: 3, statements: statements3, run: fillStep3 },
  {
    version: 4,
    statements: [
      `CREATE TABLE memories (
        number INTEGER PRIMARY KEY, session TEXT NOT NULL, name TEXT NOT NULL, memory BLOB NOT NULL, seal BLOB,
        UNIQUE (session, name))`,
    ],
  },
  { version: 5, statements: statements5, run: fillStep5 },
  {
    // The ids of deleted sessions. No process can write such a session again.
    version: 6,
    statements: [
      `CREATE TABLE forgotten (
        number INTEGER PRIMARY KEY, session TEXT NOT NULL UNIQUE, at BIGINT NOT NULL, is_done INTEGER NOT NULL)`,
      // Every commit of a session begins with its row in this table.
      `CREATE TRIGGER sessions_stay_forgotten BEFORE INSERT ON sessions
        WHEN EXISTS (SELECT 1 FROM forgotten WHERE session = NEW.id)
        BEGIN SELECT RAISE(ABORT, 'the session was deleted'); END`,
    ],
  },
  {
    // Tasks and tickets. Each change of an item is a row of its own, so no row ever changes.
    version: 7,
    statements: [
      `CREATE TABLE work (
        number INTEGER PRIMARY KEY, kind TEXT NOT NULL, item BIGINT NOT NULL, revision BIGINT NOT NULL,
        tenant TEXT NOT NULL, session TEXT NOT NULL, record BLOB NOT NULL, seal BLOB,
        UNIQUE (kind, item, revision))`,
      "CREATE INDEX work_by_session ON work (session)",
      `CREATE TRIGGER work_stays_forgotten BEFORE INSERT ON work
        WHEN EXISTS (SELECT 1 FROM forgotten WHERE session = NEW.session)
        BEGIN SELECT RAISE(ABORT, 'the session was deleted'); END`,
    ],
  },
];

export const schemaVersion: number = migrations.at(-1)?.version ?? 0;

/** Migration 6: the ids of deleted sessions. No process can write such a session again. */

export const statements6: readonly string[] = [
  `CREATE TABLE forgotten (
    number INTEGER PRIMARY KEY, session TEXT NOT NULL UNIQUE, at BIGINT NOT NULL, is_done INTEGER NOT NULL)`,
  // Every commit of a session begins with its row in this table.
  `CREATE TRIGGER sessions_stay_forgotten BEFORE INSERT ON sessions
    WHEN EXISTS (SELECT 1 FROM forgotten WHERE session = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'the session was deleted'); END`,
];

/** All tables of the SQL store with rows of a session, and the column that contains the session's id. */

export const sessionColumn = {
  sessions: "id",
  branches: "session",
  messages: "session",
  blocks: "session",
  heads: "session",
  turns: "session",
  edits: "session",
  archive: "session",
  wordings: "session",
  refs: "session",
  errors: "session",
  events: "session",
  memories: "session",
  work: "session",
} as const;

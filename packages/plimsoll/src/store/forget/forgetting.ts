/** Deleting sessions from a store: how much the store contains of them, and what was deleted. */

/** Maximum number of deleted sessions whose ids are kept. By then, no process has the first of them in memory any more. */
export const keptIds = 100_000;

/** How many rows and bytes of one session a store contains. */
export interface Holding {
  readonly session: string;
  readonly tenant: string;
  readonly updatedAt: number;
  readonly messages: number;
  readonly archiveEntries: number;
  /** Bytes of all its messages, preambles, edits, turns, memories and handles, as they are stored. */
  readonly bytes: number;
}

export interface ForgetOrder {
  readonly sessions: readonly string[];
  /** The time of the request, in milliseconds since 1970. */
  readonly at: number;
  /** Also deletes every file that was put aside or backed up, whatever sessions are in it. */
  readonly isEverything?: boolean;
  /** A larger database is not written anew, so that other requests do not wait. Undefined: there is no such bound. */
  readonly mostBytes?: number;
}

export interface Forgotten {
  /** Each deleted session, with the rows and bytes that the database contained. */
  readonly gone: readonly Holding[];
  /** Sessions of which only another file had something: a database that was put aside, or a backup. */
  readonly goneAside: readonly string[];
  /** Sessions that were deleted before, and of which some file still had something. */
  readonly resumed: readonly string[];
  /** What is left to do, one sentence each. Empty if nothing of the sessions is left in any file. */
  readonly unfinished: readonly string[];
}

export interface StoreForgetting {
  /** How much the store contains of each of these sessions. Sessions that are not in the store are left out. */
  holdings(sessions: readonly string[]): Promise<readonly Holding[]>;
  /** Bytes of the whole database, without its free pages. */
  size(): Promise<number>;
  /**
   * Deletes all that belongs to these sessions, and finishes earlier deletions that were interrupted. Contract: if it rejects,
   * nothing was deleted. If it resolves, `commit` rejects with STORE_CONFLICT when it writes such a session, so that no process
   * brings it back.
   */
  forget(order: ForgetOrder): Promise<Forgotten>;
}

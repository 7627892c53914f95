/** The records that Plimsoll stores, and the interface of every store. Every store passes store.test.ts. */

import type { Edit } from "../message/edit.ts";
import type { ErrorCode } from "../message/error.ts";
import type {
  MeasurementSummary,
  Outcome,
  PlimsollEvent,
  Relation,
  TurnStatus,
} from "../message/event.ts";
import type { OutputSize, Role, Usage } from "../message/message.ts";
import type { Task } from "../work/task.ts";
import type { Ticket } from "../work/ticket.ts";
import type { StoreForgetting } from "./forget/forgetting.ts";

export interface SessionRecord {
  readonly id: string;
  readonly tenant: string;
  readonly wire: string;
  readonly agent?: string;
  /** The client's own name for the conversation. Unique within a tenant and wire. */
  readonly clientKey?: string;
  /** The user's first words. Absent in sessions of earlier versions, and if the user said nothing. */
  readonly title?: string;
  /** Name of the program that sent the first request, if Plimsoll knows it. */
  readonly client?: string;
  /** The folder in which the agent works, if the client says it. */
  readonly folder?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/**
 * The size of a conversation after its last turn, and figures about the provider's way of counting. Earlier versions stored more.
 */
export interface Counters {
  /** Tokens of the conversation. Includes the tool schemas if the provider has reported usage. */
  readonly current: number;
  /** Tokens of the tool schemas. */
  readonly schema: number;
  /** Only in records of earlier versions: the cost of voluntary compactions that savings do not cover yet, in US dollars. */
  readonly debtUsd?: number;
  /** The provider's count compared with Plimsoll's count, for the target of the last request. */
  readonly calibration?: {
    readonly target: string;
    readonly factor: number;
    readonly samples: number;
    /** A separate factor for each part of a request. Absent in records of older versions. */
    readonly factors?: {
      readonly system: number;
      readonly tools: number;
      readonly conversation: number;
    };
    /** The highest factor so far for text that was added to a conversation. */
    readonly steepest?: number;
  };
}

/** A pointer into the session's tree of messages, like a branch in git. */
export interface BranchRecord {
  readonly id: string;
  readonly agent?: string;
  readonly relation: Relation;
  /**
   * The branch that the client abandoned when it rewound the conversation. Lookups from this branch still find messages of the
   * abandoned branch.
   */
  readonly left?: string;
  /**
   * The last message that this branch shares with the branch it was forked from. Null if this branch shares no message with
   * another.
   */
  readonly forkSeq: number | null;
  readonly tipSeq: number | null;
  readonly counters?: Counters;
  readonly createdAt: number;
}

/**
 * The origin of a message. request: the client sent it. answer: the model wrote it. inner: it passed between the model and
 * Plimsoll, and the client does not know it. echo: the client sent back an answer, or a part of one, in a different place; the
 * answer itself is already in the log.
 */
export type Source = "request" | "answer" | "inner" | "echo";

/** A message in the tree, without its bytes. */
export interface NodeRecord {
  readonly seq: number;
  readonly parent: number | null;
  readonly role: Role;
  readonly source: Source;
  readonly turn: string;
  /**
   * The branch on which the message was first sent. Absent in some of the oldest records, because their turns do not name a
   * branch.
   */
  readonly branch?: string;
  /** Hash over the conversation up to this message, by which Plimsoll recognises a request that continues it (`Link.talk`). */
  readonly talk?: string;
  /** Hash of the canonical content. */
  readonly identity: string;
  /** Hash over the identities from the root to this message. Equal chains mean equal histories. */
  readonly chain: string;
  /** Like `chain`, but ignores digits in the leading system prompt. Absent if it equals `chain`. */
  readonly looseChain?: string;
  /** SHA-256 of the bytes, checked on every read. */
  readonly hash: string;
  readonly bytes: number;
  readonly tokens: number;
  readonly certainty: MeasurementSummary["certainty"];
  /** False for an answer that was cut off. */
  readonly isComplete: boolean;
  readonly at: number;
}

export interface MessageRecord extends NodeRecord {
  readonly body: Uint8Array;
}

export interface TurnRecord {
  readonly id: string;
  readonly branch: string;
  readonly relation: Relation;
  /** The last message of the request. The answer is its child. */
  readonly requestTip: number | null;
  /** Hash of the preamble: system prompt and tools. */
  readonly head?: string;
  /** Name of the provider. Absent in the oldest records. */
  readonly provider?: string;
  readonly model: string;
  readonly outcome: Outcome;
  readonly status: TurnStatus;
  /** The measurement of the request as it was sent. */
  readonly measurement: MeasurementSummary;
  /** Tokens by the provider's count, before and after Plimsoll's edits. Absent in the oldest records. */
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  readonly limit: number;
  /**
   * Tokens that no compaction can remove. Set only if the limit was raised for them, and then fullness is measured without them.
   */
  readonly headTokens?: number;
  /** The limit that the window alone would give. Present only if a lower limit of the user applies. */
  readonly windowLimit?: number;
  readonly window: number;
  /**
   * The maximum answer length that the client asked for, and the shorter one that Plimsoll sent. Set only if there was no room
   * for the first.
   */
  readonly shortened?: { readonly asked: OutputSize; readonly sent: OutputSize };
  /** True if the size of the window is unknown and Plimsoll assumes one. */
  readonly isWindowGuess?: true;
  /** The priority that the client asked for. */
  readonly priority?: 1 | 2 | 3;
  readonly usage?: Usage;
  /**
   * Tokens that the last round read from the cache. Set only if the turn had several rounds, because `usage` is then the sum of
   * all rounds.
   */
  readonly cachedTokens?: number;
  readonly stopReason?: string;
  readonly error?: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

/**
 * A handle, and the place of its content in the log. Content that left the window stays in the log, so nothing is stored twice.
 */
export interface ArchiveRecord {
  readonly handle: string;
  readonly tenant: string;
  readonly session: string;
  /** Size of the content. */
  readonly bytes: number;
  readonly at: number;
  readonly source: ArchiveSource;
}

export type ArchiveSource =
  /** Whole messages, as a JSON array. Each run has its first and last message number, and the size of these messages in bytes. */
  | {
      readonly kind: "messages";
      readonly runs: readonly (readonly [first: number, last: number, bytes: number])[];
    }
  | {
      readonly kind: "part";
      readonly seq: number;
      readonly part: number;
      readonly inner?: number;
    };

/**
 * A provider's name for an answer, or for a message of an answer. A later request may contain this name instead of the content.
 */
export interface ReferenceRecord {
  readonly name: string;
  readonly session: string;
  /** Number of the answer's last message. If the name is for a single message, the number of that message. */
  readonly seq: number;
}

export interface ErrorRecord {
  readonly session: string;
  readonly code: ErrorCode;
  readonly message: string;
  readonly at: number;
  readonly fields?: Readonly<Record<string, string | number | boolean>>;
}

export interface StoredEvent {
  readonly seq: number;
  readonly tenant: string;
  readonly event: PlimsollEvent;
}

/** One thing to write. Messages, edits, turns and archive entries are only ever added, never changed. */
export type Write =
  | { readonly kind: "session"; readonly session: SessionRecord }
  | { readonly kind: "branch"; readonly session: string; readonly branch: BranchRecord }
  | {
      readonly kind: "message";
      readonly session: string;
      readonly tenant: string;
      readonly node: NodeRecord;
      readonly body: StoredBody;
    }
  /** System prompt and tools, as a list of blocks. Each block was stored before, or is stored in the same commit. */
  | {
      readonly kind: "head";
      readonly session: string;
      /** SHA-256 of the whole text. */
      readonly hash: string;
      readonly blocks: Uint8Array;
    }
  | {
      readonly kind: "block";
      readonly session: string;
      readonly id: Uint8Array;
      readonly body: StoredBody;
    }
  | { readonly kind: "turn"; readonly session: string; readonly turn: TurnRecord }
  /** Replaces the memory of this name. A null value deletes it. */
  | {
      readonly kind: "memory";
      readonly session: string;
      readonly name: string;
      readonly memory: object | null;
    }
  | { readonly kind: "edit"; readonly session: string; readonly edit: Edit }
  | { readonly kind: "archive"; readonly entry: ArchiveRecord }
  | {
      readonly kind: "wording";
      readonly session: string;
      readonly seq: number;
      readonly hash: string;
      readonly bytes: number;
      readonly body: StoredBody;
    }
  | { readonly kind: "reference"; readonly tenant: string; readonly reference: ReferenceRecord }
  | { readonly kind: "error"; readonly tenant: string; readonly error: ErrorRecord }
  | { readonly kind: "event"; readonly tenant: string; readonly event: PlimsollEvent }
  | WorkWrite;

/** The kinds of work items, and their types. */
export interface WorkItems {
  readonly task: Task;
  readonly ticket: Ticket;
}

export type WorkKind = keyof WorkItems;

/** One revision of a work item. */
export type WorkWrite = {
  readonly [K in WorkKind]: {
    readonly kind: "work";
    readonly of: K;
    readonly tenant: string;
    readonly item: WorkItems[K];
  };
}[WorkKind];

/** Bytes as they are stored. `packBody` makes them, outside any transaction. */
export interface StoredBody {
  readonly codec: "raw" | "deflate" | "zstd";
  readonly bytes: Uint8Array;
}

export interface SessionSummary extends SessionRecord {
  readonly branches: number;
  readonly messages: number;
  readonly turns: number;
}

/** Everything needed to continue a session, except the bodies. */
export interface SessionSnapshot {
  readonly session: SessionRecord;
  readonly branches: readonly BranchRecord[];
  readonly nodes: readonly NodeRecord[];
  /** All edits, in the order in which they were made. */
  readonly edits: readonly Edit[];
  readonly memories: Memories;
}

/**
 * The memories of a session, by the id of a branch, or "" for the session as a whole. Damaged memories are left out, because the
 * conversation is complete without them.
 */
export type Memories = ReadonlyMap<string, object>;

export interface Page {
  readonly after?: number;
  readonly limit: number;
}

/**
 * Contract: `commit` is one durable transaction. If its promise resolves, everything is on disk; if it rejects, nothing is. It
 * rejects with STORE_CONFLICT if one of its records already exists. Reads check hashes and seals. If the data is damaged, they
 * reject with STORE_CORRUPT (`fields.session` names the session). Damaged events, errors, names and list entries are left out.
 * If `tenant` is undefined, the caller is the owner, who sees everything.
 */
export interface Store
  extends SessionReads,
    MessageReads,
    RecordReads,
    WorkReads,
    StoreRepair,
    StoreForgetting {
  readonly kind: string;
  commit(writes: readonly Write[]): Promise<CommitReceipt>;
  close(): Promise<void>;
}

export interface SessionReads {
  session(id: string): Promise<SessionRecord | undefined>;
  /** Sessions of all tenants whose client uses this name, at most a few of them. */
  sessionsNamed(wire: string, clientKey: string): Promise<readonly SessionRecord[]>;
  sessionByClientKey(
    tenant: string,
    wire: string,
    clientKey: string,
  ): Promise<SessionRecord | undefined>;
  /** Sessions whose id begins with this text, in the order of their ids. */
  sessionsBeginning(prefix: string, query: BeginningQuery): Promise<readonly SessionRecord[]>;
  /** The session that was written to last, by the order of turns and not by any clock. */
  newestSession(tenant?: string): Promise<SessionRecord | undefined>;
  /** A page of sessions, newest first. `before` is the `updatedAt` and id of the last session of the previous page. */
  sessions(query: SessionQuery): Promise<readonly SessionSummary[]>;
  snapshot(id: string): Promise<SessionSnapshot | undefined>;
  /** The memories of a session. For "", the memories that belong to no session. */
  memories(session: string): Promise<Memories>;
}

export interface MessageReads {
  messages(session: string, page: Page): Promise<readonly MessageRecord[]>;
  bodies(session: string, seqs: readonly number[]): Promise<ReadonlyMap<number, Uint8Array>>;
  /**
   * Answers as the client sent them back. They are stored only if the client's spelling differs from the provider's and the
   * answer was cut.
   */
  clientSpellings(
    session: string,
    seqs: readonly number[],
  ): Promise<ReadonlyMap<number, Uint8Array>>;
  /** Size in bytes of each client spelling, by message number. */
  clientSpellingSizes(session: string): Promise<ReadonlyMap<number, number>>;
  /**
   * Answers with one of these talks (`NodeRecord.talk`), in sessions to which no client gave a name. Ordered by talk as in the
   * query, then newest first.
   */
  answers(query: TalkQuery): Promise<readonly TalkMatch[]>;
  /** Sessions of a tenant that contain one of these talks, whether or not a client gave them a name. */
  holders(query: TalkQuery): Promise<readonly string[]>;
  head(session: string, hash: string): Promise<Uint8Array | undefined>;
}

export interface RecordReads {
  /** The newest turns of a session, newest first. */
  turns(session: string, limit: number): Promise<readonly TurnRecord[]>;
  /** All edits of a session, in the order in which they were made. */
  edits(session: string): Promise<readonly Edit[]>;
  archived(tenant: string | undefined, handle: string): Promise<ArchiveRecord | undefined>;
  reference(tenant: string, name: string): Promise<ReferenceRecord | undefined>;
  /** The errors that match the query, newest first. */
  errors(query: ErrorQuery): Promise<readonly ErrorRecord[]>;
  events(query: EventQuery): Promise<readonly StoredEvent[]>;
  figures(): Promise<StoreFigures>;
}

export interface WorkReads {
  /** The newest revision of an item. */
  workItem<K extends WorkKind>(kind: K, id: string): Promise<OwnedItem<K> | undefined>;
  /** The newest revision of each item, newest item first. */
  workItems<K extends WorkKind>(kind: K, query: WorkQuery): Promise<readonly OwnedItem<K>[]>;
}

export interface OwnedItem<K extends WorkKind> {
  readonly tenant: string;
  readonly item: WorkItems[K];
}

export interface WorkQuery {
  readonly tenant: string | undefined;
  /** Only items with a lower number. */
  readonly before?: number | undefined;
  readonly limit: number;
}

export interface StoreRepair {
  /**
   * Moves all data of a session, as it is, out of the store into a file next to it, so that the client can start over. Returns
   * the path of that file.
   */
  putAside(session: string): Promise<string>;
  /** Problems of the database as a whole, one sentence each. Empty if there are no problems. */
  check(): Promise<readonly string[]>;
  /** Puts the whole database aside and creates a new one from all of its intact sessions. */
  rebuild(): Promise<Rebuilt>;
}

export interface Rebuilt {
  /** Path of the old database. */
  readonly aside: string;
  readonly kept: number;
  /** Sessions that could not be read completely. */
  readonly lost: readonly string[];
}

export interface CommitReceipt {
  /** The numbers of the written events, in order. */
  readonly events: readonly number[];
}

export interface BeginningQuery {
  readonly tenant: string | undefined;
  readonly limit: number;
}

export interface SessionQuery {
  readonly tenant?: string;
  readonly before?: { readonly updatedAt: number; readonly id: string };
  readonly limit: number;
}

export interface TalkQuery {
  readonly tenant: string;
  readonly wire: string;
  readonly talks: readonly string[];
  /** Maximum number of matches for each of the hashes in `talks`. */
  readonly limit: number;
}

export interface TalkMatch {
  readonly session: string;
  readonly seq: number;
  readonly talk: string;
}

export interface ErrorQuery {
  readonly tenant?: string;
  readonly session?: string;
  readonly limit: number;
}

export interface EventQuery {
  readonly tenant?: string;
  readonly session?: string;
  readonly after: number;
  readonly limit: number;
}

export interface StoreFigures {
  readonly sessions: number;
  readonly messages: number;
  readonly archiveBytes: number;
}

/** An answer as the client sent it back. It is stored if the answer is cut, so that the exact text is not lost. */
export interface ClientSpelling {
  readonly seq: number;
  readonly hash: string;
  readonly bytes: Uint8Array;
}

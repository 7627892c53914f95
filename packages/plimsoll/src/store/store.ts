/** What is kept, and the one interface through which it is kept. Every store passes store.test.ts. */

import type { Counters } from "../message/counters.ts";
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

export interface SessionRecord {
  readonly id: string;
  readonly tenant: string;
  readonly wire: string;
  readonly agent?: string;
  /** The client's own name for the conversation; unique within a tenant and wire. */
  readonly clientKey?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A pointer into the session's tree of messages, like a branch in git. */
export interface BranchRecord {
  readonly id: string;
  readonly agent?: string;
  readonly relation: Relation;
  /** The branch that its client left behind when it rewound the conversation: what was said there is still its own. */
  readonly left?: string;
  /** The last message shared with the branch it came from; null for a root of its own. */
  readonly forkSeq: number | null;
  readonly tipSeq: number | null;
  readonly counters?: Counters;
  readonly createdAt: number;
}

/**
 * Where a message came from. inner: said between the model and Plimsoll, and unknown to the client. echo: an answer, or a part
 * of one, that the client sends back in another place than it was given; the answer itself is in the log.
 */
export type Source = "request" | "answer" | "inner" | "echo";

/** A message in the tree, without its bytes. */
export interface NodeRecord {
  readonly seq: number;
  readonly parent: number | null;
  readonly role: Role;
  /** request: as a client sent it; answer: as it was answered; inner: of a round that the client does not know of. */
  readonly source: Source;
  readonly turn: string;
  /** The branch on which it was said first. Absent in the oldest records, where no turn told. */
  readonly branch?: string;
  /** Hash over what was said up to here, by which a request that goes on from here is recognised (`Link.talk`). */
  readonly talk?: string;
  /** Hash of the canonical content. */
  readonly identity: string;
  /** Hash over the identities from the root to here: equal chains are equal histories. */
  readonly chain: string;
  /** The same, with digits in the leading system prompt left out of account. Absent: equal to `chain`. */
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
  /** The last message of the request; the answer is a child of it. */
  readonly requestTip: number | null;
  /** Hash of the head: system prompt and tools. */
  readonly head?: string;
  /** Absent in the oldest records. */
  readonly provider?: string;
  readonly model: string;
  readonly outcome: Outcome;
  readonly status: TurnStatus;
  /** Of what was sent. */
  readonly measurement: MeasurementSummary;
  /** As the provider would count: what the client sent, and what went out. Absent in the oldest records. */
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  readonly limit: number;
  /** What no compaction takes out, where the limit gave way to that: how full it is, is the share of the room beside it. */
  readonly headTokens?: number;
  readonly window: number;
  /** How long the answer might be, where there was no room for what the client asked for. */
  readonly shortened?: { readonly asked: OutputSize; readonly sent: OutputSize };
  /** Nobody has said how large the window is: it is the usual one. */
  readonly isWindowGuess?: true;
  /** As the client asked for. */
  readonly priority?: 1 | 2 | 3;
  readonly usage?: Usage;
  /** What its last round read from the cache, where it had several: `usage` is the sum of all. */
  readonly cachedTokens?: number;
  readonly stopReason?: string;
  readonly error?: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** What left the window is still in the log; the archive says where, so nothing is stored twice. */
export interface ArchiveRecord {
  readonly handle: string;
  readonly tenant: string;
  readonly session: string;
  /** Of the content. */
  readonly bytes: number;
  readonly at: number;
  readonly source: ArchiveSource;
}

export type ArchiveSource =
  /** Whole messages, as a JSON array. Each run is a first and last number and the bytes between them. */
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

/** A name that a provider gave to an answer or to a message of it: later requests may say no more than that. */
export interface ReferenceRecord {
  readonly name: string;
  readonly session: string;
  /** The last message of the answer, or the message itself. */
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

/** One thing to write. Messages, edits, turns and archive entries are only ever added. */
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
  /** System prompt and tools, as a list of blocks that were stored before or are stored with it. */
  | {
      readonly kind: "head";
      readonly session: string;
      /** SHA-256 of the whole. */
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
  /** In the place of what was remembered under this name; null: it is forgotten. */
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
  | { readonly kind: "event"; readonly tenant: string; readonly event: PlimsollEvent };

/** Bytes as they lie in the store. Made by `packBody`, outside any transaction. */
export interface StoredBody {
  readonly codec: "raw" | "deflate" | "zstd";
  readonly bytes: Uint8Array;
}

export interface SessionSummary extends SessionRecord {
  readonly branches: number;
  readonly messages: number;
  readonly turns: number;
}

/** Everything needed to go on with a session, without the bodies. */
export interface SessionSnapshot {
  readonly session: SessionRecord;
  readonly branches: readonly BranchRecord[];
  readonly nodes: readonly NodeRecord[];
  /** In their order. */
  readonly edits: readonly Edit[];
  readonly memories: Memories;
}

/**
 * What a session remembers from turn to turn, by the id of a branch, or "" for the session as a whole. A memory that was spoilt
 * is left out: the conversation is whole without it.
 */
export type Memories = ReadonlyMap<string, object>;

export interface Page {
  readonly after?: number;
  readonly limit: number;
}

/**
 * Contract: `commit` is one durable transaction; when its promise resolves everything is on disk, when
 * it rejects nothing is: with STORE_CONFLICT when something of it is already there. Reads check hashes and seals, and reject
 * with STORE_CORRUPT (`fields.session` says whose row it is) rather than give what was not written; spoilt events, errors,
 * names and list entries are left out.
 * `tenant` undefined means the owner, who sees all.
 */
export interface Store extends SessionReads, MessageReads, RecordReads, StoreRepair {
  readonly kind: string;
  commit(writes: readonly Write[]): Promise<CommitReceipt>;
  close(): Promise<void>;
}

export interface SessionReads {
  session(id: string): Promise<SessionRecord | undefined>;
  /** Sessions of any tenant whose client calls them so; at most a few. */
  sessionsNamed(wire: string, clientKey: string): Promise<readonly SessionRecord[]>;
  sessionByClientKey(
    tenant: string,
    wire: string,
    clientKey: string,
  ): Promise<SessionRecord | undefined>;
  /** The session that was written to last, by the order of turns and not by any clock. */
  newestSession(tenant?: string): Promise<SessionRecord | undefined>;
  /** Newest first. `before` is the `updatedAt` and id of the last one seen. */
  sessions(query: SessionQuery): Promise<readonly SessionSummary[]>;
  snapshot(id: string): Promise<SessionSnapshot | undefined>;
  /** What is remembered under "" belongs to no session. */
  memories(session: string): Promise<Memories>;
}

export interface MessageReads {
  messages(session: string, page: Page): Promise<readonly MessageRecord[]>;
  bodies(session: string, seqs: readonly number[]): Promise<ReadonlyMap<number, Uint8Array>>;
  /** Answers in the words in which the client sent them back, where they differ from the provider's and were cut. */
  clientSpellings(
    session: string,
    seqs: readonly number[],
  ): Promise<ReadonlyMap<number, Uint8Array>>;
  /** How many bytes each of them has. */
  clientSpellingSizes(session: string): Promise<ReadonlyMap<number, number>>;
  /** Answers behind which the same was said as in one of these talks: those of the first talk first, the newest before others. */
  answers(query: TalkQuery): Promise<readonly TalkMatch[]>;
  /** Sessions of a tenant in which one of these was said, also those that their clients have a name for. */
  holders(query: TalkQuery): Promise<readonly string[]>;
  head(session: string, hash: string): Promise<Uint8Array | undefined>;
}

export interface RecordReads {
  /** Last stored first. */
  turns(session: string, limit: number): Promise<readonly TurnRecord[]>;
  /** In their order. */
  edits(session: string): Promise<readonly Edit[]>;
  archived(tenant: string | undefined, handle: string): Promise<ArchiveRecord | undefined>;
  reference(tenant: string, name: string): Promise<ReferenceRecord | undefined>;
  /** Last first. */
  errors(query: ErrorQuery): Promise<readonly ErrorRecord[]>;
  events(query: EventQuery): Promise<readonly StoredEvent[]>;
  figures(): Promise<StoreFigures>;
}

export interface StoreRepair {
  /**
   * Moves everything of a session, as it is, out of the store into a file beside it, so that its client can begin anew.
   * Gives the name of that file.
   */
  putAside(session: string): Promise<string>;
  /** What is wrong with the database as a whole, a sentence each; empty when it is well. */
  check(): Promise<readonly string[]>;
  /** Puts the whole database aside and makes a new one of all sessions in it that are whole. */
  rebuild(): Promise<Rebuilt>;
}

export interface Rebuilt {
  /** Where the old database is now. */
  readonly aside: string;
  readonly kept: number;
  /** Sessions of which something could not be read. */
  readonly lost: readonly string[];
}

export interface CommitReceipt {
  /** The numbers that the written events got, in order. */
  readonly events: readonly number[];
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
  /** For each talk. */
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

/** An answer in the words in which the client sent it back: what is cut is kept exactly as it stood there. */
export interface ClientSpelling {
  readonly seq: number;
  readonly hash: string;
  readonly bytes: Uint8Array;
}

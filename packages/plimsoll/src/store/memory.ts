/** A store in memory, for tests and for agents that need no history. Its content is lost when the process ends. */

import type { Edit } from "../message/edit.ts";
import { PlimsollError } from "../message/error.ts";
import { nameOfBlock, splitIds } from "./blocks.ts";
import { unpackBlock, unpackBody } from "./body.ts";
import { forgetInMemory, holdingsInMemory, sizeOfMemory } from "./forget/memory-forget.ts";
import type {
  ArchiveRecord,
  BranchRecord,
  ErrorRecord,
  MessageReads,
  NodeRecord,
  RecordReads,
  ReferenceRecord,
  SessionReads,
  SessionRecord,
  SessionSummary,
  Store,
  StoredBody,
  StoredEvent,
  TurnRecord,
  WorkWrite,
  Write,
} from "./store.ts";
import { workInMemory } from "./work-reads.ts";

interface KeptMessage {
  readonly node: NodeRecord;
  readonly body: StoredBody;
}

interface Kept {
  session: SessionRecord;
  readonly branches: Map<string, BranchRecord>;
  readonly nodes: Map<number, KeptMessage>;
  readonly heads: Map<string, Uint8Array>;
  readonly blocks: Map<string, StoredBody>;
  readonly turns: Map<string, TurnRecord>;
  /** The number of the session's last turn, counted over all sessions. 0 if the session has no turn yet. */
  lastTurn: number;
  readonly edits: Map<number, Edit>;
  readonly clientSpellings: Map<number, Extract<Write, { kind: "wording" }>>;
}

interface Memory {
  /** The memories by session, and then by name. Memories that belong to no session have the session "". */
  readonly memories: Map<string, Map<string, object>>;
  readonly sessions: Map<string, Kept>;
  readonly archive: Map<string, ArchiveRecord>;
  readonly references: Map<string, ReferenceRecord>;
  readonly errors: { readonly tenant: string; readonly error: ErrorRecord }[];
  readonly talks: Map<string, { readonly session: string; readonly seq: number }[]>;
  readonly events: StoredEvent[];
  /** The newest revision of each work item, by id. */
  readonly work: Map<string, WorkWrite>;
  /** The ids of deleted sessions. */
  readonly forgotten: Set<string>;
  lastEvent: number;
  lastTurn: number;
  isClosed: boolean;
}

/** Maximum number of events to keep, as in the SQL stores. */
const keptEvents = 100_000;
const keptErrors = 10_000;

export function createMemoryStore(): Store {
  const memory: Memory = {
    memories: new Map(),
    sessions: new Map(),
    archive: new Map(),
    references: new Map(),
    errors: [],
    talks: new Map(),
    events: [],
    work: new Map(),
    forgotten: new Set(),
    lastEvent: 0,
    lastTurn: 0,
    isClosed: false,
  };
  return {
    kind: "memory",
    commit: async (writes) => {
      if (memory.isClosed) throw new PlimsollError("STORE_FAILED", "The store is closed.");
      for (const write of writes) refuseIfTaken(memory, write);
      return { events: writes.flatMap((write) => apply(memory, write)) };
    },
    putAside: async (session) => {
      memory.sessions.delete(session);
      memory.memories.delete(session);
      return "nowhere, because this store is only in memory";
    },
    check: async () => [],
    holdings: async (sessions) => holdingsInMemory(memory, sessions),
    size: async () => sizeOfMemory(memory),
    forget: async (order) => forgetInMemory(memory, order),
    rebuild: async () => ({ aside: "", kept: memory.sessions.size, lost: [] }),
    close: async () => {
      memory.isClosed = true;
    },
    ...sessionReads(memory),
    ...messageReads(memory),
    ...otherReads(memory),
    ...workInMemory(memory.work),
  };
}

function sessionReads(memory: Memory): SessionReads {
  return {
    session: async (id) => memory.sessions.get(id)?.session,
    sessionByClientKey: async (tenant, wire, clientKey) =>
      sessionsOf(memory).find(
        (session) =>
          session.tenant === tenant && session.wire === wire && session.clientKey === clientKey,
      ),
    sessionsNamed: async (wire, clientKey) =>
      sessionsOf(memory)
        .filter((session) => session.wire === wire && session.clientKey === clientKey)
        .sort((one, other) => other.updatedAt - one.updatedAt)
        .slice(0, 8),
    sessionsBeginning: async (prefix, { tenant, limit }) =>
      sessionsOf(memory)
        .filter(({ id }) => id.startsWith(prefix))
        .filter((session) => tenant === undefined || session.tenant === tenant)
        .sort((one, other) => (one.id < other.id ? -1 : 1))
        .slice(0, limit),
    newestSession: async (tenant) =>
      [...memory.sessions.values()]
        .filter(({ session }) => tenant === undefined || session.tenant === tenant)
        .sort(
          (one, other) =>
            other.lastTurn - one.lastTurn || (isEarlier(one.session, other.session) ? 1 : -1),
        )
        .map(({ session }) => session)[0],
    sessions: async ({ tenant, before, limit }) =>
      sessionsOf(memory)
        .filter((session) => tenant === undefined || session.tenant === tenant)
        .filter((session) => before === undefined || isEarlier(session, before))
        .sort((left, right) => (isEarlier(left, right) ? 1 : -1))
        .slice(0, limit)
        .map((session) => summary(session, memory.sessions.get(session.id))),
    snapshot: async (id) => {
      const found = memory.sessions.get(id);
      if (found === undefined) return undefined;
      const { session, branches } = found;
      return {
        session,
        branches: [...branches.values()],
        nodes: nodesOf(found).map(({ node }) => node),
        edits: editsOf(found),
        memories: new Map(memory.memories.get(id)),
      };
    },
    memories: async (session) => new Map(memory.memories.get(session)),
  };
}

function messageReads(memory: Memory): MessageReads {
  const read = (session: string, { node, body }: KeptMessage): Promise<Uint8Array> =>
    unpackBody({ ...body, hash: node.hash, name: `message ${node.seq} of ${session}`, session });
  return {
    messages: async (session, { after = 0, limit }) => {
      const found = memory.sessions.get(session);
      const page = found === undefined ? [] : nodesOf(found).filter(({ node }) => node.seq > after);
      return Promise.all(
        page
          .slice(0, limit)
          .map(async (kept) => ({ ...kept.node, body: await read(session, kept) })),
      );
    },
    bodies: async (session, seqs) => {
      const bodies = new Map<number, Uint8Array>();
      for (const seq of seqs) {
        const kept = memory.sessions.get(session)?.nodes.get(seq);
        if (kept !== undefined) bodies.set(seq, await read(session, kept));
      }
      return bodies;
    },
    clientSpellings: async (session, seqs) => {
      const clientSpellings = new Map<number, Uint8Array>();
      for (const seq of seqs) {
        const kept = memory.sessions.get(session)?.clientSpellings.get(seq);
        if (kept === undefined) continue;
        const name = `wording ${seq} of ${session}`;
        clientSpellings.set(
          seq,
          await unpackBody({ ...kept.body, hash: kept.hash, name, session }),
        );
      }
      return clientSpellings;
    },
    clientSpellingSizes: async (session) => {
      const kept = memory.sessions.get(session)?.clientSpellings ?? new Map();
      return new Map([...kept].map(([seq, { bytes }]) => [seq, bytes]));
    },
    answers: async ({ tenant, wire, talks, limit }) =>
      talks.flatMap((talk) =>
        (memory.talks.get(`${tenant}\0${talk}`) ?? [])
          .filter(({ session, seq }) => {
            const kept = memory.sessions.get(session);
            const isAnswer = kept?.nodes.get(seq)?.node.source === "answer";
            return isAnswer && kept?.session.wire === wire && kept.session.clientKey === undefined;
          })
          .map((place) => ({ ...place, talk }))
          .reverse()
          .slice(0, limit),
      ),
    holders: async ({ tenant, wire, talks, limit }) => [
      ...new Set(
        talks.flatMap((talk) =>
          (memory.talks.get(`${tenant}\0${talk}`) ?? [])
            .map(({ session }) => session)
            .filter((session) => memory.sessions.get(session)?.session.wire === wire)
            .slice(0, limit),
        ),
      ),
    ],
    head: async (session, hash) => {
      const kept = memory.sessions.get(session);
      const list = kept?.heads.get(hash);
      if (kept === undefined || list === undefined) return undefined;
      const blocks = splitIds(list).map((id) => kept.blocks.get(nameOfBlock(id)));
      const unpacked = await Promise.all(
        blocks.map((block) => (block === undefined ? new Uint8Array() : unpackBlock(block))),
      );
      const name = `head ${hash} of ${session}`;
      const bytes = new Uint8Array(Buffer.concat(unpacked));
      return unpackBody({ codec: "raw", bytes, hash, name, session });
    },
  };
}

function otherReads(memory: Memory): RecordReads {
  return {
    turns: async (session, limit) =>
      [...(memory.sessions.get(session)?.turns.values() ?? [])].reverse().slice(0, limit),
    edits: async (session) => editsOf(memory.sessions.get(session)),
    archived: async (tenant, handle) => {
      const found = memory.archive.get(handle);
      return tenant === undefined || found?.tenant === tenant ? found : undefined;
    },
    reference: async (tenant, name) => memory.references.get(`${tenant}\0${name}`),
    errors: async (query) =>
      memory.errors
        .filter(({ tenant }) => query.tenant === undefined || tenant === query.tenant)
        .map(({ error }) => error)
        .filter(({ session }) => query.session === undefined || session === query.session)
        .reverse()
        .slice(0, query.limit),
    events: async (query) =>
      memory.events
        .filter(({ seq }) => seq > query.after)
        .filter(({ tenant }) => query.tenant === undefined || tenant === query.tenant)
        .filter(({ event }) => query.session === undefined || event.session === query.session)
        .slice(0, query.limit),
    figures: async () => ({
      sessions: memory.sessions.size,
      messages: [...memory.sessions.values()].reduce((sum, { nodes }) => sum + nodes.size, 0),
      archiveBytes: [...memory.archive.values()].reduce((sum, { bytes }) => sum + bytes, 0),
    }),
  };
}

/**
 * Throws if a record already exists. This check runs for all writes before the first is applied, so that a commit writes
 * everything or nothing.
 */
function refuseIfTaken(memory: Memory, write: Write): void {
  const isTaken =
    (write.kind === "message" && memory.sessions.get(write.session)?.nodes.has(write.node.seq)) ||
    (write.kind === "turn" && memory.sessions.get(write.session)?.turns.has(write.turn.id)) ||
    (write.kind === "edit" && memory.sessions.get(write.session)?.edits.has(write.edit.seq)) ||
    (write.kind === "work" &&
      (memory.work.get(write.item.id)?.item.revision ?? 0) >= write.item.revision);
  const session = write.kind === "session" ? write.session.id : undefined;
  const owner = write.kind === "work" ? write.item.session : session;
  if (owner !== undefined && memory.forgotten.has(owner))
    throw new PlimsollError("STORE_CONFLICT", "This session was deleted.");
  if (isTaken) throw new PlimsollError("STORE_CONFLICT", `This ${write.kind} is already stored.`);
}

/** Returns the number of the event if the write is an event. */
function apply(memory: Memory, write: Write): readonly number[] {
  switch (write.kind) {
    case "event": {
      const seq = ++memory.lastEvent;
      memory.events.push({ seq, tenant: write.tenant, event: write.event });
      if (memory.events.length > keptEvents) memory.events.shift();
      return [seq];
    }
    case "archive":
      setIfAbsent(memory.archive, write.entry.handle, write.entry);
      return [];
    case "reference":
      setIfAbsent(memory.references, `${write.tenant}\0${write.reference.name}`, write.reference);
      return [];
    case "work":
      memory.work.set(write.item.id, write);
      return [];
    case "memory":
      remember(memory.memories, write);
      return [];
    case "error":
      memory.errors.push(write);
      if (memory.errors.length > keptErrors) memory.errors.shift();
      return [];
    case "session": {
      const known = memory.sessions.get(write.session.id);
      if (known === undefined) memory.sessions.set(write.session.id, emptySession(write.session));
      else known.session = write.session;
      return [];
    }
    default: {
      const kept = memory.sessions.get(write.session);
      if (kept !== undefined) applyToSession(memory, kept, write);
      return [];
    }
  }
}

function setIfAbsent<K, V>(map: Map<K, V>, key: K, value: V): void {
  if (!map.has(key)) map.set(key, value);
}

function remember(
  memories: Memory["memories"],
  { session, name, memory }: Extract<Write, { kind: "memory" }>,
): void {
  const ofSession = memories.get(session) ?? new Map<string, object>();
  memories.set(session, ofSession);
  if (memory === null) ofSession.delete(name);
  else ofSession.set(name, memory);
}

function applyToSession(
  memory: Memory,
  kept: Kept,
  write: Exclude<
    Write,
    { kind: "event" | "archive" | "reference" | "error" | "session" | "memory" | "work" }
  >,
): void {
  switch (write.kind) {
    case "branch":
      kept.branches.set(write.branch.id, write.branch);
      return;
    case "message":
      kept.nodes.set(write.node.seq, { node: write.node, body: write.body });
      if (write.node.talk !== undefined) {
        const key = `${write.tenant}\0${write.node.talk}`;
        const known = memory.talks.get(key) ?? [];
        memory.talks.set(key, [...known, { session: write.session, seq: write.node.seq }]);
      }
      return;
    case "head":
      setIfAbsent(kept.heads, write.hash, write.blocks);
      return;
    case "block":
      setIfAbsent(kept.blocks, nameOfBlock(write.id), write.body);
      return;
    case "turn":
      kept.turns.set(write.turn.id, write.turn);
      kept.lastTurn = ++memory.lastTurn;
      return;
    case "edit":
      kept.edits.set(write.edit.seq, write.edit);
      return;
    case "wording":
      if (!kept.clientSpellings.has(write.seq)) kept.clientSpellings.set(write.seq, write);
      return;
  }
}

function emptySession(session: SessionRecord): Kept {
  return {
    session,
    branches: new Map(),
    nodes: new Map(),
    heads: new Map(),
    blocks: new Map(),
    turns: new Map(),
    lastTurn: 0,
    edits: new Map(),
    clientSpellings: new Map(),
  };
}

function sessionsOf(memory: Memory): SessionRecord[] {
  return [...memory.sessions.values()].map(({ session }) => session);
}

function nodesOf(kept: Kept): readonly KeptMessage[] {
  return [...kept.nodes.values()].sort((left, right) => left.node.seq - right.node.seq);
}

function editsOf(kept: Kept | undefined): readonly Edit[] {
  return [...(kept?.edits.values() ?? [])].sort((left, right) => left.seq - right.seq);
}

function isEarlier(
  left: { readonly updatedAt: number; readonly id: string },
  right: { readonly updatedAt: number; readonly id: string },
): boolean {
  return (
    left.updatedAt < right.updatedAt || (left.updatedAt === right.updatedAt && left.id < right.id)
  );
}

function summary(session: SessionRecord, kept: Kept | undefined): SessionSummary {
  return {
    ...session,
    branches: kept?.branches.size ?? 0,
    messages: kept?.nodes.size ?? 0,
    turns: kept?.turns.size ?? 0,
  };
}

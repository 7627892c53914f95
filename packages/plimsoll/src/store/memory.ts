/** A store that keeps nothing beyond the process: for tests, and for agents that need no yesterday. */

import { PlimsollError } from "../message/error.ts";
import { unpackBody } from "./body.ts";
import type {
  ArchiveRecord,
  BranchRecord,
  Counters,
  EditRecord,
  NodeRecord,
  SessionRecord,
  SessionSummary,
  Store,
  StoredBody,
  StoredEvent,
  TurnRecord,
  Write,
} from "./store.ts";

interface Kept {
  session: SessionRecord;
  readonly branches: Map<string, BranchRecord>;
  readonly counters: Map<string, Counters>;
  readonly nodes: Map<number, { readonly node: NodeRecord; readonly body: StoredBody }>;
  readonly heads: Map<string, StoredBody>;
  readonly turns: Map<string, TurnRecord>;
  readonly edits: Map<number, EditRecord>;
}

interface Memory {
  readonly sessions: Map<string, Kept>;
  readonly archive: Map<string, { readonly entry: ArchiveRecord; readonly body: StoredBody }>;
  readonly chains: Map<string, { readonly session: string; readonly seq: number }[]>;
  readonly events: StoredEvent[];
  lastEvent: number;
  isClosed: boolean;
}

const keptEvents = 10_000;

export function createMemoryStore(): Store {
  const memory: Memory = {
    sessions: new Map(),
    archive: new Map(),
    chains: new Map(),
    events: [],
    lastEvent: 0,
    isClosed: false,
  };
  const kept = (id: string): Kept | undefined => memory.sessions.get(id);

  return {
    kind: "memory",
    commit: async (writes) => {
      if (memory.isClosed) throw new PlimsollError("STORE_FAILED", "The store is closed.");
      for (const write of writes) refuseIfTaken(memory, write);
      return { events: writes.flatMap((write) => apply(memory, write)) };
    },
    session: async (id) => kept(id)?.session,
    sessionByClientKey: async (tenant, clientKey) =>
      sessionsOf(memory).find(
        (session) => session.tenant === tenant && session.clientKey === clientKey,
      ),
    sessions: async ({ tenant, before, limit }) =>
      sessionsOf(memory)
        .filter((session) => tenant === undefined || session.tenant === tenant)
        .filter((session) => before === undefined || isEarlier(session, before))
        .sort((left, right) => (isEarlier(left, right) ? 1 : -1))
        .slice(0, limit)
        .map((session) => summary(session, kept(session.id))),
    snapshot: async (id) => {
      const found = kept(id);
      return (
        found && {
          session: found.session,
          branches: [...found.branches.values()],
          nodes: nodesOf(found).map(({ node }) => node),
        }
      );
    },
    messages: async (session, { after = 0, limit }) => {
      const found = kept(session);
      const page = found === undefined ? [] : nodesOf(found).filter(({ node }) => node.seq > after);
      return Promise.all(
        page.slice(0, limit).map(async ({ node, body }) => ({
          ...node,
          body: await unpackBody({
            ...body,
            hash: node.hash,
            name: `message ${node.seq} of ${session}`,
          }),
        })),
      );
    },
    bodies: async (session, seqs) => {
      const bodies = new Map<number, Uint8Array>();
      for (const seq of seqs) {
        const found = kept(session)?.nodes.get(seq);
        if (found === undefined) continue;
        const name = `message ${seq} of ${session}`;
        bodies.set(seq, await unpackBody({ ...found.body, hash: found.node.hash, name }));
      }
      return bodies;
    },
    findChains: async (tenant, chains) =>
      chains.flatMap((chain) =>
        (memory.chains.get(`${tenant}\0${chain}`) ?? []).flatMap(({ session, seq }) => {
          const node = kept(session)?.nodes.get(seq)?.node;
          if (node === undefined) return [];
          const { looseChain } = node;
          return [
            {
              session,
              seq,
              chain: node.chain,
              ...(looseChain === undefined ? {} : { looseChain }),
            },
          ];
        }),
      ),
    head: async (session, hash) => {
      const body = kept(session)?.heads.get(hash);
      return body && unpackBody({ ...body, hash, name: `head ${hash} of ${session}` });
    },
    turns: async (session, limit) =>
      [...(kept(session)?.turns.values() ?? [])]
        .sort((left, right) => right.startedAt - left.startedAt || (left.id < right.id ? 1 : -1))
        .slice(0, limit),
    counters: async (session, branch) => kept(session)?.counters.get(branch),
    edits: async (session) =>
      [...(kept(session)?.edits.values() ?? [])].sort((left, right) => left.seq - right.seq),
    archived: async (tenant, handle) => {
      const found = memory.archive.get(handle);
      if (found === undefined || (tenant !== undefined && found.entry.tenant !== tenant))
        return undefined;
      const { entry, body } = found;
      return { ...entry, body: await unpackBody({ ...body, hash: entry.hash, name: handle }) };
    },
    events: async (query) =>
      memory.events
        .filter(({ seq }) => seq > query.after)
        .filter(({ tenant }) => query.tenant === undefined || tenant === query.tenant)
        .filter(({ event }) => query.session === undefined || event.session === query.session)
        .slice(0, query.limit),
    figures: async () => ({
      sessions: memory.sessions.size,
      messages: [...memory.sessions.values()].reduce((sum, { nodes }) => sum + nodes.size, 0),
      archiveBytes: [...memory.archive.values()].reduce((sum, { entry }) => sum + entry.bytes, 0),
    }),
    close: async () => {
      memory.isClosed = true;
    },
  };
}

/** Checked for all writes before the first is applied: everything or nothing. */
function refuseIfTaken(memory: Memory, write: Write): void {
  const isTaken =
    (write.kind === "message" && memory.sessions.get(write.session)?.nodes.has(write.node.seq)) ||
    (write.kind === "turn" && memory.sessions.get(write.session)?.turns.has(write.turn.id)) ||
    (write.kind === "edit" && memory.sessions.get(write.session)?.edits.has(write.edit.seq));
  if (isTaken)
    throw new PlimsollError(
      "STORE_FAILED",
      `The store failed: this ${write.kind} is already there.`,
    );
}

/** Gives the number of the event, if the write was one. */
function apply(memory: Memory, write: Write): readonly number[] {
  if (write.kind === "event") {
    const seq = ++memory.lastEvent;
    memory.events.push({ seq, tenant: write.tenant, event: write.event });
    if (memory.events.length > keptEvents) memory.events.shift();
    return [seq];
  }
  if (write.kind === "archive") {
    if (!memory.archive.has(write.entry.handle)) memory.archive.set(write.entry.handle, write);
    return [];
  }
  if (write.kind === "session") {
    const known = memory.sessions.get(write.session.id);
    if (known === undefined) memory.sessions.set(write.session.id, emptySession(write.session));
    else known.session = { ...known.session, updatedAt: write.session.updatedAt };
    return [];
  }
  const kept = memory.sessions.get(write.session);
  if (kept !== undefined) applyToSession(memory, kept, write);
  return [];
}

function applyToSession(
  memory: Memory,
  kept: Kept,
  write: Exclude<Write, { kind: "event" | "archive" | "session" }>,
): void {
  switch (write.kind) {
    case "branch": {
      const known = kept.branches.get(write.branch.id);
      kept.branches.set(
        write.branch.id,
        known ? { ...known, tipSeq: write.branch.tipSeq } : write.branch,
      );
      return;
    }
    case "message":
      kept.nodes.set(write.node.seq, { node: write.node, body: write.body });
      for (const chain of [write.node.chain, write.node.looseChain]) {
        if (chain === undefined) continue;
        const key = `${write.tenant}\0${chain}`;
        const known = memory.chains.get(key) ?? [];
        memory.chains.set(key, [...known, { session: write.session, seq: write.node.seq }]);
      }
      return;
    case "head":
      if (!kept.heads.has(write.hash)) kept.heads.set(write.hash, write.body);
      return;
    case "turn":
      kept.turns.set(write.turn.id, write.turn);
      return;
    case "counters":
      kept.counters.set(write.branch, write.counters);
      return;
    case "edit":
      kept.edits.set(write.edit.seq, write.edit);
      return;
  }
}

function emptySession(session: SessionRecord): Kept {
  return {
    session,
    branches: new Map(),
    counters: new Map(),
    nodes: new Map(),
    heads: new Map(),
    turns: new Map(),
    edits: new Map(),
  };
}

function sessionsOf(memory: Memory): SessionRecord[] {
  return [...memory.sessions.values()].map(({ session }) => session);
}

function nodesOf(kept: Kept): readonly { readonly node: NodeRecord; readonly body: StoredBody }[] {
  return [...kept.nodes.values()].sort((left, right) => left.node.seq - right.node.seq);
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

/** Finds the session of a request: by name, or by the history that it shares; in memory, then in the store. */

import type { SessionRecord, Store } from "../store/store.ts";
import { continuesSession, type RequestShape, type SessionHints } from "./identify.ts";
import { newId } from "./ids.ts";
import { emptyLog, type Link, restoreLog, type SessionLog } from "./log.ts";
import { createSessionShelf, type SessionShelf } from "./session-shelf.ts";

export interface SessionCache {
  /** Contract: calls for one client key, or for one tenant without any, must not overlap. */
  find(query: SessionLookup): Promise<{ readonly log: SessionLog; readonly isNew: boolean }>;
  byId(id: string): Promise<SessionLog | undefined>;
  /** The session that a request continues; undefined when it would be a new one. */
  lookup(query: SessionLookup): Promise<SessionLog | undefined>;
  create(record: Omit<SessionRecord, "id" | "createdAt" | "updatedAt">): SessionLog;
  /** Tells the cache that messages were added, so that they can be found by their history. */
  noteChains(log: SessionLog, links: readonly Pick<Link, "chain" | "looseChain">[]): void;
  /** The next request for this session reads it from the store. */
  forget(log: SessionLog): void;
}

export interface SessionLookup {
  readonly tenant: string;
  readonly wire: string;
  readonly request: RequestShape;
  readonly hints: SessionHints;
}

const shelfLimits = { maxSessions: 2000, maxChains: 1_000_000 };
/** Of the sessions that share a beginning, only so many are looked into. */
const maxCandidates = 16;
/** A session that shares none of the newest messages with the request is not the one it continues. */
const maxChainsAsked = 128;

export function createSessionCache(store: Store, now: () => number): SessionCache {
  const shelf = createSessionShelf(shelfLimits);
  const byId = (id: string): Promise<SessionLog | undefined> => loadSession(shelf, store, id);
  const create: SessionCache["create"] = (record) => {
    const at = now();
    const log = emptyLog({ ...record, id: newId("ses"), createdAt: at, updatedAt: at });
    shelf.put(log);
    return log;
  };
  const lookup: SessionCache["lookup"] = async (query) => {
    const { tenant, wire, hints } = query;
    const { clientKey, sessionId } = hints;
    const named = sessionId === undefined ? undefined : await byId(sessionId);
    if (named?.record.tenant === tenant && named.record.wire === wire) return named;
    return clientKey === undefined
      ? findByHistory(shelf, store, query)
      : findByClientKey(shelf, store, { tenant, clientKey, wire });
  };
  return {
    byId,
    create,
    noteChains: shelf.noteChains,
    forget: shelf.remove,
    lookup,
    find: async (query) => {
      const { tenant, wire, hints } = query;
      const { clientKey, agent } = hints;
      const known = await lookup(query);
      if (known !== undefined) return { log: known, isNew: false };
      const log = create({
        tenant,
        wire,
        ...(agent === undefined ? {} : { agent }),
        ...(clientKey === undefined ? {} : { clientKey }),
      });
      return { log, isNew: true };
    },
  };
}

async function loadSession(
  shelf: SessionShelf,
  store: Store,
  id: string,
): Promise<SessionLog | undefined> {
  const held = shelf.get(id);
  if (held !== undefined) return held;
  const snapshot = await store.snapshot(id);
  // Another caller may have loaded it while this one waited: there must be only one of it.
  const meanwhile = shelf.get(id);
  if (meanwhile !== undefined || snapshot === undefined) return meanwhile;
  const log = restoreLog(snapshot);
  shelf.put(log);
  return log;
}

interface NamedLookup {
  readonly tenant: string;
  readonly clientKey: string;
  readonly wire: string;
}

async function findByClientKey(
  shelf: SessionShelf,
  store: Store,
  { tenant, clientKey, wire }: NamedLookup,
): Promise<SessionLog | undefined> {
  const id =
    shelf.byClientKey(tenant, wire, clientKey) ??
    (await store.sessionByClientKey(tenant, wire, clientKey))?.id;
  return id === undefined ? undefined : loadSession(shelf, store, id);
}

async function findByHistory(
  shelf: SessionShelf,
  store: Store,
  { tenant, wire, request }: SessionLookup,
): Promise<SessionLog | undefined> {
  const firstThatFits = async (ids: Iterable<string>): Promise<SessionLog | undefined> => {
    for (const id of ids) {
      const log = await loadSession(shelf, store, id);
      const isCandidate = log?.record.wire === wire && log.record.clientKey === undefined;
      if (isCandidate && continuesSession(log, request)) return log;
    }
    return undefined;
  };
  const strict = request.links.map(({ chain }) => chain);
  const loose = request.links.map(({ looseChain }) => looseChain);
  const isDated = strict.at(-1) !== loose.at(-1);
  for (const chains of isDated ? [strict, loose] : [strict]) {
    const held = await firstThatFits(shelf.byChains(tenant, chains, maxCandidates));
    if (held !== undefined) return held;
    // A conversation that has no answer in it yet is not worth a look at the disk.
    if (!request.roles.includes("assistant")) continue;
    const stored = await firstThatFits(await candidatesStored(store, tenant, chains));
    if (stored !== undefined) return stored;
  }
  return undefined;
}

async function candidatesStored(
  store: Store,
  tenant: string,
  chains: readonly string[],
): Promise<Iterable<string>> {
  const matches = await store.findChains(tenant, chains.slice(-maxChainsAsked));
  const depth = new Map(chains.map((chain, index) => [chain, index]));
  const depthOf = (match: (typeof matches)[number]): number =>
    depth.get(match.chain) ?? depth.get(match.looseChain ?? "") ?? 0;
  const deepestFirst = matches.toSorted((left, right) => depthOf(right) - depthOf(left));
  return new Set(deepestFirst.map(({ session }) => session).slice(0, maxCandidates));
}

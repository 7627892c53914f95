/** The sessions held in memory: found by name or by history, loaded from the store, and let go again. */

import type { SessionRecord, Store } from "../store/store.ts";
import { continuesSession, type RequestShape, type SessionHints } from "./identify.ts";
import { newId } from "./ids.ts";
import { emptyLog, type Link, restoreLog, type SessionLog } from "./log.ts";

export interface SessionCache {
  /** Contract: calls for one tenant must not overlap. */
  find(query: SessionLookup): Promise<{ readonly log: SessionLog; readonly isNew: boolean }>;
  byId(id: string): Promise<SessionLog | undefined>;
  create(record: Omit<SessionRecord, "id" | "createdAt" | "updatedAt">): SessionLog;
  /** Tells the cache that messages were added, so that they can be found by their history. */
  noteChains(log: SessionLog, links: readonly Pick<Link, "chain" | "looseChain">[]): void;
}

export interface SessionLookup {
  readonly tenant: string;
  readonly wire: string;
  readonly request: RequestShape;
  readonly hints: SessionHints;
}

const maxSessions = 2000;
const maxNodes = 1_000_000;
/** Of the sessions that share a beginning, only so many are looked into. */
const maxCandidates = 16;
/** A session that shares none of the newest messages with the request is not the one it continues. */
const maxChainsAsked = 128;

interface Held {
  readonly log: SessionLog;
  readonly chains: Set<string>;
}

export function createSessionCache(store: Store, now: () => number): SessionCache {
  /** In order of use: the first is the one to let go. */
  const held = new Map<string, Held>();
  const idsByChain = new Map<string, Set<string>>();
  const idByClientKey = new Map<string, string>();
  let nodeCount = 0;

  const hold = (log: SessionLog): SessionLog => {
    const { id, tenant, clientKey } = log.record;
    held.set(id, { log, chains: new Set() });
    if (clientKey !== undefined) idByClientKey.set(`${tenant}\0${clientKey}`, id);
    noteChains(
      log,
      [...log.nodes.values()].map(({ chain, looseChain = chain }) => ({ chain, looseChain })),
    );
    letGo();
    return log;
  };

  const noteChains: SessionCache["noteChains"] = (log, links) => {
    const entry = held.get(log.record.id);
    if (entry === undefined) return;
    for (const chain of links.flatMap(({ chain, looseChain }) => [chain, looseChain])) {
      const key = `${log.record.tenant}\0${chain}`;
      if (entry.chains.has(key)) continue;
      entry.chains.add(key);
      nodeCount++;
      const ids = idsByChain.get(key) ?? new Set();
      idsByChain.set(key, ids.add(log.record.id));
    }
  };

  const letGo = (): void => {
    for (const [id, { log, chains }] of held) {
      if (held.size <= maxSessions && nodeCount <= maxNodes) return;
      const isBusy =
        log.unsaved.length > 0 || [...log.branches.values()].some(({ inFlight }) => inFlight > 0);
      if (isBusy || held.size === 1) continue;
      held.delete(id);
      idByClientKey.delete(`${log.record.tenant}\0${log.record.clientKey}`);
      nodeCount -= chains.size;
      for (const key of chains) {
        const ids = idsByChain.get(key);
        ids?.delete(id);
        if (ids?.size === 0) idsByChain.delete(key);
      }
    }
  };

  const byId = async (id: string): Promise<SessionLog | undefined> => {
    const entry = held.get(id);
    if (entry !== undefined) {
      held.delete(id);
      held.set(id, entry);
      return entry.log;
    }
    const snapshot = await store.snapshot(id);
    // Another caller may have loaded it while this one waited: there must be only one of it.
    return held.get(id)?.log ?? (snapshot && hold(restoreLog(snapshot)));
  };

  const byClientKey = async (
    tenant: string,
    clientKey: string,
  ): Promise<SessionLog | undefined> => {
    const id = idByClientKey.get(`${tenant}\0${clientKey}`);
    if (id !== undefined) return byId(id);
    const record = await store.sessionByClientKey(tenant, clientKey);
    return record && byId(record.id);
  };

  const byHistory = async ({
    tenant,
    wire,
    request,
  }: SessionLookup): Promise<SessionLog | undefined> => {
    const firstThatFits = async (ids: Iterable<string>): Promise<SessionLog | undefined> => {
      for (const id of ids) {
        const log = await byId(id);
        const isAnonymous = log?.record.clientKey === undefined;
        if (log?.record.wire === wire && isAnonymous && continuesSession(log, request)) return log;
      }
      return undefined;
    };
    const strict = request.links.map(({ chain }) => chain);
    const loose = request.links.map(({ looseChain }) => looseChain);
    const isDated = strict.at(-1) !== loose.at(-1);
    for (const chains of isDated ? [strict, loose] : [strict]) {
      const held = await firstThatFits(candidatesHeld(tenant, chains));
      if (held !== undefined) return held;
      // A conversation that has no answer in it yet is not worth a look at the disk.
      if (!request.roles.includes("assistant")) continue;
      const stored = await firstThatFits(await candidatesStored(tenant, chains));
      if (stored !== undefined) return stored;
    }
    return undefined;
  };

  /** Sessions that share most with the request first; of equals, the newest first. */
  const candidatesHeld = (tenant: string, chains: readonly string[]): Iterable<string> => {
    const found = new Set<string>();
    for (const chain of chains.toReversed()) {
      const ids = idsByChain.get(`${tenant}\0${chain}`);
      for (const id of [...(ids ?? [])].reverse()) {
        if (found.size < maxCandidates) found.add(id);
      }
    }
    return found;
  };

  const candidatesStored = async (
    tenant: string,
    chains: readonly string[],
  ): Promise<Iterable<string>> => {
    const matches = await store.findChains(tenant, chains.slice(-maxChainsAsked));
    const depth = new Map(chains.map((chain, index) => [chain, index]));
    const depthOf = (match: (typeof matches)[number]): number =>
      depth.get(match.chain) ?? depth.get(match.looseChain ?? "") ?? 0;
    const deepestFirst = matches.toSorted((left, right) => depthOf(right) - depthOf(left));
    return new Set(deepestFirst.map(({ session }) => session).slice(0, maxCandidates));
  };

  const create: SessionCache["create"] = (record) => {
    const at = now();
    return hold(emptyLog({ ...record, id: newId("ses"), createdAt: at, updatedAt: at }));
  };

  return {
    byId,
    create,
    noteChains,
    find: async (query) => {
      const { tenant, wire, hints } = query;
      const { clientKey, sessionId } = hints;
      const named = sessionId === undefined ? undefined : await byId(sessionId);
      if (named?.record.tenant === tenant) return { log: named, isNew: false };
      const known = await (clientKey === undefined
        ? byHistory(query)
        : byClientKey(tenant, clientKey));
      if (known !== undefined) return { log: known, isNew: false };
      const log = create({
        tenant,
        wire,
        ...(hints.agent === undefined ? {} : { agent: hints.agent }),
        ...(clientKey === undefined ? {} : { clientKey }),
      });
      return { log, isNew: true };
    },
  };
}

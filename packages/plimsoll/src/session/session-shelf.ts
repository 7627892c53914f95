/** The sessions that are in memory, by id, by the client's name and by history; the least used are let go. */

import type { Link, SessionLog } from "./log.ts";

export interface SessionShelf {
  put(log: SessionLog): void;
  get(id: string): SessionLog | undefined;
  byClientKey(tenant: string, wire: string, clientKey: string): string | undefined;
  /** Ids of sessions that hold one of these chains, those of the last chain first; of equals, the newest first. */
  byChains(tenant: string, chains: readonly string[], max: number): ReadonlySet<string>;
  noteChains(log: SessionLog, links: readonly Pick<Link, "chain" | "looseChain">[]): void;
  remove(log: SessionLog): void;
}

export interface ShelfLimits {
  readonly maxSessions: number;
  /** Messages of all sessions together. */
  readonly maxChains: number;
}

interface Held {
  readonly log: SessionLog;
  readonly chains: Set<string>;
}

const keyOf = (...names: readonly string[]): string => names.join("\0");

export function createSessionShelf(limits: ShelfLimits): SessionShelf {
  /** In order of use: the first is the one to let go. */
  const held = new Map<string, Held>();
  const idsByChain = new Map<string, Set<string>>();
  const idByClientKey = new Map<string, string>();
  let chainCount = 0;

  const noteChains: SessionShelf["noteChains"] = (log, links) => {
    const entry = held.get(log.record.id);
    if (entry === undefined) return;
    for (const chain of links.flatMap((link) => [link.chain, link.looseChain])) {
      const key = keyOf(log.record.tenant, chain);
      if (entry.chains.has(key)) continue;
      entry.chains.add(key);
      chainCount++;
      idsByChain.set(key, (idsByChain.get(key) ?? new Set()).add(log.record.id));
    }
  };

  const remove = (id: string, { log, chains }: Held): void => {
    held.delete(id);
    const { tenant, wire, clientKey } = log.record;
    idByClientKey.delete(keyOf(tenant, wire, clientKey ?? ""));
    chainCount -= chains.size;
    for (const key of chains) {
      const ids = idsByChain.get(key);
      ids?.delete(id);
      if (ids?.size === 0) idsByChain.delete(key);
    }
  };

  /** Not at once: whoever was given a session must first have marked it as busy. */
  const letGoSoon = (): void => {
    if (isFull()) setImmediate(letGo);
  };
  const isFull = (): boolean => held.size > limits.maxSessions || chainCount > limits.maxChains;
  const letGo = (): void => {
    for (const [id, entry] of held) {
      if (!isFull()) return;
      if (!isBusy(entry.log)) remove(id, entry);
    }
  };

  return {
    noteChains,
    put: (log) => {
      const { id, tenant, wire, clientKey } = log.record;
      held.set(id, { log, chains: new Set() });
      if (clientKey !== undefined) idByClientKey.set(keyOf(tenant, wire, clientKey), id);
      const nodes = [...log.nodes.values()];
      noteChains(
        log,
        nodes.map(({ chain, looseChain = chain }) => ({ chain, looseChain })),
      );
      letGoSoon();
    },
    remove: (log) => {
      const entry = held.get(log.record.id);
      if (entry?.log === log) remove(log.record.id, entry);
    },
    get: (id) => {
      const entry = held.get(id);
      if (entry === undefined) return undefined;
      held.delete(id);
      held.set(id, entry);
      return entry.log;
    },
    byClientKey: (tenant, wire, clientKey) => idByClientKey.get(keyOf(tenant, wire, clientKey)),
    byChains: (tenant, chains, max) => {
      const found = new Set<string>();
      for (const chain of chains.toReversed()) {
        const ids = idsByChain.get(keyOf(tenant, chain));
        for (const id of [...(ids ?? [])].reverse()) if (found.size < max) found.add(id);
        if (found.size >= max) break;
      }
      return found;
    },
  };
}

/** What runs or is not stored yet is nowhere else. */
function isBusy({ unsaved, isSaving, branches }: SessionLog): boolean {
  return (
    unsaved.length > 0 || isSaving || [...branches.values()].some(({ inFlight }) => inFlight > 0)
  );
}

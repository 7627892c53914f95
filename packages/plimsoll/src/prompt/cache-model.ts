/**
 * Simulates a provider's prompt cache. Computes how many tokens of a request the provider would have read from its cache, and how
 * many it would have written.
 */

import type { BilledTokens } from "./bill.ts";
import type { CacheRule } from "./price-rows.ts";

/** A part of a request that the cache compares as a whole. */
export interface CacheBlock {
  /** A key that is equal for equal bytes, ignoring cache marks. */
  readonly key: string;
  readonly tokens: number;
}

export interface CacheMark {
  /** Index of the block after which the mark is set. */
  readonly block: number;
  readonly isLong?: boolean;
}

/** A request in the order in which the provider reads it: tools, system prompt, messages. */
export interface CacheRequest {
  readonly blocks: readonly CacheBlock[];
  readonly marks?: readonly CacheMark[];
}

export type InputTokens = Omit<BilledTokens, "output">;

export interface CacheModel {
  /** Contract: `atSeconds` never decreases from call to call. */
  take(request: CacheRequest, atSeconds: number): InputTokens;
}

export function openCacheModel(rule: CacheRule): CacheModel {
  switch (rule.kind) {
    case "marks":
      return marked(rule);
    case "automatic":
      return automatic(rule);
    case "unknown":
      return { take: ({ blocks }) => freshOnly(tokensOf(blocks)) };
  }
}

/** Tokens of the longest common beginning of two requests, in whole blocks. */
export function commonPrefixTokens(
  one: readonly CacheBlock[],
  other: readonly CacheBlock[],
): number {
  const end = one.findIndex(({ key }, index) => key !== other[index]?.key);
  return tokensOf(end === -1 ? one : one.slice(0, end));
}

export function tokensOf(blocks: readonly CacheBlock[]): number {
  return blocks.reduce((sum, { tokens }) => sum + tokens, 0);
}

function freshOnly(fresh: number): InputTokens {
  return { fresh, cacheRead: 0, cacheWrite: 0 };
}

/** A beginning of a request, which is all blocks up to a certain block, and its number of tokens. */
interface Place {
  /** A number that is the same for equal beginnings. */
  readonly id: number;
  readonly tokens: number;
}

/**
 * Maximum number of beginnings in memory. If there are more, the simulation forgets all of them. A provider may forget its cache
 * at any time, too.
 */
const maxPlaces = 500_000;

/** Gives every beginning its own number. The beginnings form a tree in which each block is an edge. */
class Places {
  readonly #next = new Map<string, number>();

  /** Returns one place per block. If there would be too many places, it first calls `onForget` and forgets all of them. */
  of(blocks: readonly CacheBlock[], onForget: () => void): readonly Place[] {
    if (this.#next.size + blocks.length > maxPlaces) {
      this.#next.clear();
      onForget();
    }
    let id = 0;
    let tokens = 0;
    return blocks.map((block) => {
      const edge = `${id} ${block.key}`;
      id = this.#next.get(edge) ?? this.#next.size + 1;
      this.#next.set(edge, id);
      tokens += block.tokens;
      return { id, tokens };
    });
  }
}

interface Entry {
  readonly until: number;
  readonly seconds: number;
}

/**
 * Simulates a cache with marks. An entry exists wherever an earlier request had a mark. A mark finds the nearest entry within
 * `lookbackBlocks`.
 */
function marked(rule: Extract<CacheRule, { readonly kind: "marks" }>): CacheModel {
  const places = new Places();
  const entries = new Map<number, Entry>();

  const isAlive = (place: Place, at: number): boolean =>
    (entries.get(place.id)?.until ?? Number.NEGATIVE_INFINITY) >= at;

  /** Searches for an entry, from the mark backwards. If an entry is found, its lifetime starts again. */
  const find = (path: readonly Place[], mark: CacheMark, at: number): number => {
    const from = Math.max(0, mark.block - rule.lookbackBlocks + 1);
    const found = path
      .slice(from, mark.block + 1)
      .findLast((place) => place.tokens >= rule.minTokens && isAlive(place, at));
    const entry = found && entries.get(found.id);
    if (found === undefined || entry === undefined) return 0;
    entries.set(found.id, { ...entry, until: at + entry.seconds });
    return found.tokens;
  };

  const write = (path: readonly Place[], mark: CacheMark, at: number): number => {
    const place = path[mark.block];
    if (place === undefined || place.tokens < rule.minTokens) return 0;
    const wanted = mark.isLong === true ? rule.longTtlSeconds : rule.ttlSeconds;
    const seconds = Math.max(
      wanted,
      isAlive(place, at) ? (entries.get(place.id)?.seconds ?? 0) : 0,
    );
    entries.set(place.id, { until: at + seconds, seconds });
    return place.tokens;
  };

  return {
    take: ({ blocks, marks = [] }, at) => {
      const path = places.of(blocks, () => entries.clear());
      const total = path.at(-1)?.tokens ?? 0;
      // A provider would refuse a request with more marks than the maximum. The simulation uses only the last marks, because they
      // matter most for a conversation.
      const valid = marks
        .filter(({ block }) => block >= 0 && block < blocks.length)
        .toSorted((one, other) => one.block - other.block)
        .slice(-rule.maxMarks);
      const cacheRead = Math.max(0, ...valid.map((mark) => find(path, mark, at)));
      const written = valid.map((mark) => ({ mark, end: write(path, mark, at) }));
      const end = Math.max(cacheRead, ...written.map((one) => one.end));
      const longEnds = written.flatMap((one) => (one.mark.isLong === true ? [one.end] : []));
      const longEnd = Math.max(cacheRead, ...longEnds);
      const long = longEnd > cacheRead ? { cacheWriteLong: longEnd - cacheRead } : {};
      return { fresh: total - end, cacheRead, cacheWrite: end - longEnd, ...long };
    },
  };
}

/**
 * Simulates an automatic cache. Every beginning of an earlier request is an entry until it expires. Reads and writes are counted
 * in steps of `stepTokens`.
 */
function automatic(rule: Extract<CacheRule, { readonly kind: "automatic" }>): CacheModel {
  const places = new Places();
  const until = new Map<number, number>();
  const stepped = (tokens: number): number =>
    tokens < rule.minTokens ? 0 : Math.floor(tokens / rule.stepTokens) * rule.stepTokens;

  return {
    take: ({ blocks }, at) => {
      const path = places.of(blocks, () => until.clear());
      const total = path.at(-1)?.tokens ?? 0;
      const known = path.findLast(({ id }) => (until.get(id) ?? Number.NEGATIVE_INFINITY) >= at);
      const cacheRead = stepped(known?.tokens ?? 0);
      for (const { id } of path) until.set(id, at + rule.ttlSeconds);
      const cacheWrite = rule.hasWritePrice ? Math.max(0, stepped(total) - cacheRead) : 0;
      return { fresh: total - cacheRead - cacheWrite, cacheRead, cacheWrite };
    },
  };
}

/**
 * Byte-pair merging in linearithmic time, over the rank tables of gpt-tokenizer.
 *
 * The merge loops of gpt-tokenizer and of tiktoken are quadratic in the length of one piece ('a' x 40,000
 * takes seconds). Here the next merge comes from a heap, with the same order (lowest rank, then leftmost),
 * so the counts are the same.
 */

/** Index is the rank. Tokens that are no valid UTF-8 are given as bytes. */
export type RankTable = readonly (string | readonly number[])[];

/** Lets other work run between two steps of something long. */
export type Pause = () => Promise<void>;

export interface Vocabulary {
  /** Keys are tokens with one character per byte. */
  readonly rankOfBytes: ReadonlyMap<string, number>;
  readonly bytesOfRank: readonly string[];
  /** The tokens that are text beyond ASCII, as text. */
  readonly wideTokens: ReadonlySet<string>;
}

/** A running sum, added to in place: there is one piece for every two or three characters. */
export interface Tally {
  tokens: number;
  /** How often a piece had to be cut inside what the tokenizer sees as one. */
  cuts: number;
}

export type CountPiece = (piece: string, tally: Tally) => void;

/** A longer piece is merged window by window: it bounds memory, and keeps the heap in the processor's cache. */
const windowBytes = 4096;
/** The callers cut text into chunks of this many characters; each is at most three bytes of UTF-8. */
export const maxPieceChars: number = 65_536;
const tokensPerStep = 20_000;
const asciiText = /^\p{ASCII}*$/u;

export async function buildVocabulary(table: RankTable, pause?: Pause): Promise<Vocabulary> {
  const rankOfBytes = new Map<string, number>();
  const bytesOfRank: string[] = [];
  const wideTokens = new Set<string>();
  const encoder = new TextEncoder();
  for (const [rank, token] of table.entries()) {
    const isWide = typeof token === "string" && !asciiText.test(token);
    if (isWide) wideTokens.add(token);
    const bytes = isWide ? [...encoder.encode(token)] : token;
    const key = typeof bytes === "string" ? bytes : String.fromCharCode(...bytes);
    rankOfBytes.set(key, rank);
    bytesOfRank.push(key);
    if (pause !== undefined && rank % tokensPerStep === tokensPerStep - 1) await pause();
  }
  return { rankOfBytes, bytesOfRank, wideTokens };
}

/** Contract: pieces have at most `maxPieceChars` characters. Not re-entrant: the scratch memory is shared. */
export function createPieceCounter(vocabulary: Vocabulary): CountPiece {
  const bytes = new Uint8Array(maxPieceChars * 3 + 1);
  const encoder = new TextEncoder();
  const merge = createMerge(vocabulary, bytes);

  const readBytes = (piece: string): number => {
    for (let index = 0; index < piece.length; index++) {
      const code = piece.charCodeAt(index);
      if (code > 127) return encoder.encodeInto(piece, bytes).written;
      bytes[index] = code;
    }
    return piece.length;
  };

  const isToken = (piece: string, isAscii: boolean): boolean =>
    isAscii ? vocabulary.rankOfBytes.has(piece) : vocabulary.wideTokens.has(piece);

  return (piece, tally) => {
    const size = readBytes(piece);
    // One byte is always a token, and two bytes merge into theirs.
    if (size === 1 || (size > 2 && isToken(piece, size === piece.length))) {
      tally.tokens += 1;
      return;
    }
    for (let start = 0; start < size; start += windowBytes) {
      tally.tokens += merge(start, Math.min(windowBytes, size - start));
      if (start > 0) tally.cuts += 1;
    }
  };
}

const noMerge = 0x7fffffff;
/** Above every position in a window, so that rank x positions + position sorts by rank, then by position. */
const positions = windowBytes;

/** Merges `size` bytes from `start` as far as the vocabulary allows, and says into how many parts. */
function createMerge(
  vocabulary: Vocabulary,
  bytes: Uint8Array,
): (start: number, size: number) => number {
  const ranksOf = (length: number, token: (index: number) => string): Int32Array =>
    Int32Array.from({ length }, (_, index) => vocabulary.rankOfBytes.get(token(index)) ?? noMerge);
  const pairRank = createPairRanks(vocabulary);
  const heap = createHeap(windowBytes * 3);
  const rankOfByte = ranksOf(256, (byte) => String.fromCharCode(byte));
  const rankOfTwoBytes = ranksOf(65_536, (pair) => String.fromCharCode(pair >> 8, pair & 255));
  // A doubly linked list over byte positions: each part starts at one and knows its neighbours.
  const rank = new Int32Array(windowBytes);
  const next = new Int32Array(windowBytes);
  const previous = new Int32Array(windowBytes);
  // The rank of a part merged with the next one. An entry of the heap counts only while it agrees with this.
  const mergedRank = new Int32Array(windowBytes);

  const offer = (at: number, merged: number): void => {
    mergedRank[at] = merged;
    if (merged !== noMerge) heap.push(merged * positions + at);
  };

  const offerAgain = (at: number, size: number): void => {
    const after = next[at] as number;
    offer(at, after < size ? pairRank(rank[at] as number, rank[after] as number) : noMerge);
  };

  const mergeAt = (at: number, size: number): void => {
    const swallowed = next[at] as number;
    const after = next[swallowed] as number;
    const before = previous[at] as number;
    rank[at] = mergedRank[at] as number;
    mergedRank[swallowed] = noMerge;
    next[at] = after;
    if (after < size) previous[after] = at;
    offerAgain(at, size);
    if (before >= 0) offerAgain(before, size);
  };

  return (start, size) => {
    for (let at = 0; at < size; at++) {
      const byte = bytes[start + at] as number;
      const pair = (byte << 8) | (bytes[start + at + 1] as number);
      rank[at] = rankOfByte[byte] as number;
      next[at] = at + 1;
      previous[at] = at - 1;
      offer(at, at + 1 < size ? (rankOfTwoBytes[pair] as number) : noMerge);
    }
    let parts = size;
    while (heap.size() > 0) {
      const entry = heap.pop();
      const merged = Math.floor(entry / positions);
      const at = entry - merged * positions;
      if (mergedRank[at] !== merged) continue;
      mergeAt(at, size);
      parts -= 1;
    }
    return parts;
  };
}

const pairCacheBits = 18;

/** The rank of two neighbours as one token. Direct-mapped: a collision only costs another look-up. */
function createPairRanks(vocabulary: Vocabulary): (left: number, right: number) => number {
  const slots = 1 << pairCacheBits;
  const lefts = new Int32Array(slots).fill(-1);
  const rights = new Int32Array(slots);
  const ranks = new Int32Array(slots);
  return (left, right) => {
    const hash = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
    const slot = hash >>> (32 - pairCacheBits);
    if (lefts[slot] === left && rights[slot] === right) return ranks[slot] as number;
    const bytes = `${vocabulary.bytesOfRank[left]}${vocabulary.bytesOfRank[right]}`;
    const rank = vocabulary.rankOfBytes.get(bytes) ?? noMerge;
    lefts[slot] = left;
    rights[slot] = right;
    ranks[slot] = rank;
    return rank;
  };
}

interface Heap {
  size(): number;
  push(value: number): void;
  pop(): number;
}

/** A binary heap of numbers, smallest first. Every byte is offered once and every merge offers two more. */
function createHeap(capacity: number): Heap {
  const values = new Float64Array(capacity);
  let size = 0;
  const push = (value: number): void => {
    let at = size;
    size += 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = values[parent] as number;
      if (above <= value) break;
      values[at] = above;
      at = parent;
    }
    values[at] = value;
  };
  const pop = (): number => {
    const top = values[0] as number;
    size -= 1;
    const value = values[size] as number;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      const right = child + 1;
      const least =
        right < size && (values[right] as number) < (values[child] as number) ? right : child;
      const below = values[least] as number;
      if (below >= value) break;
      values[at] = below;
      at = least;
    }
    values[at] = value;
    return top;
  };
  return { size: () => size, push, pop };
}

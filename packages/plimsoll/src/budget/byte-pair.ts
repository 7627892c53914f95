/**
 * Byte-pair merging in O(n log n) time, with the rank tables of gpt-tokenizer.
 *
 * The merge loops of gpt-tokenizer and tiktoken are quadratic in the length of one piece (40,000 times the letter "a" takes
 * seconds). Here a heap gives the next merge, in the same order as theirs (lowest rank first, then leftmost), so the counts are
 * the same.
 */

/** All tokens of a vocabulary. The index of a token is its rank. A token that is not valid UTF-8 is an array of bytes. */
export type RankTable = readonly (string | readonly number[])[];

/** Lets other work run between two steps of a long task. */
export type Pause = () => Promise<void>;

export interface Vocabulary {
  /** The rank of each token. Each key is a token as a string that has one character for each byte of the token. */
  readonly rankOfBytes: ReadonlyMap<string, number>;
  readonly bytesOfRank: readonly string[];
  /** The tokens that are valid text and contain characters outside ASCII. */
  readonly wideTokens: ReadonlySet<string>;
}

/** A running sum. It is updated in place for speed, because a text has about one piece for every two or three characters. */
export interface PieceCount {
  tokens: number;
  /** Number of times that a piece was cut although the tokenizer would keep it together. */
  cuts: number;
}

export type CountPiece = (piece: string, pieceCount: PieceCount) => void;

/**
 * Pieces longer than this are merged in blocks of this many bytes. This bounds memory and keeps the heap in the processor's
 * cache.
 */
const windowBytes = 4096;
/** Callers cut text into chunks of at most this many characters. Each character is at most three bytes of UTF-8. */
export const maxPieceChars: number = 65_536;
const tokensPerStep = 20_000;
const asciiText = /^\p{ASCII}*$/u;

export async function buildVocabulary(table: RankTable, pause?: Pause): Promise<Vocabulary> {
  const rankOfBytes = new Map<string, number>();
  const bytesOfRank: string[] = [];
  const wideTokens = new Set<string>();
  for (const [rank, token] of table.entries()) {
    const key = byteKey(token);
    if (typeof token === "string" && key !== token) wideTokens.add(token);
    rankOfBytes.set(key, rank);
    bytesOfRank.push(key);
    if (pause !== undefined && rank % tokensPerStep === tokensPerStep - 1) await pause();
  }
  return { rankOfBytes, bytesOfRank, wideTokens };
}

/** The token as a string that has one character for each byte of the token. */
function byteKey(token: RankTable[number]): string {
  if (typeof token !== "string") return String.fromCharCode(...token);
  return asciiText.test(token) ? token : Buffer.from(token).toString("latin1");
}

/** Contract: pieces have at most `maxPieceChars` characters. Not re-entrant, because the scratch memory is shared. */
export function createPieceCounter(vocabulary: Vocabulary): CountPiece {
  const bytes = new Uint8Array(maxPieceChars * 3 + 1);
  const encoder = new TextEncoder();
  const filter = createFilter(vocabulary);
  const merge = createMerge(vocabulary, filter, bytes);

  /**
   * Copies the piece into `bytes`, and returns its size and its hash. The hash is correct only for ASCII pieces, and only used
   * for them.
   */
  const readBytes = (piece: string): { readonly size: number; readonly hash: number } => {
    let hash = 0;
    for (let index = 0; index < piece.length; index++) {
      const code = piece.charCodeAt(index);
      if (code > 127) return { size: encoder.encodeInto(piece, bytes).written, hash };
      bytes[index] = code;
      hash = nextHash(hash, code);
    }
    return { size: piece.length, hash };
  };

  return (piece, pieceCount) => {
    const { size, hash } = readBytes(piece);
    const isAscii = size === piece.length;
    const isToken = isAscii
      ? filter.mayHold(hash) && vocabulary.rankOfBytes.has(piece)
      : vocabulary.wideTokens.has(piece);
    if (isToken) {
      pieceCount.tokens += 1;
      return;
    }
    for (let start = 0; start < size; start += windowBytes) {
      pieceCount.tokens += merge(start, Math.min(windowBytes, size - start));
      if (start > 0) pieceCount.cuts += 1;
    }
  };
}

const hashBase = 0x01000193;
const nextHash = (hash: number, byte: number): number => (Math.imul(hash, hashBase) + byte + 1) | 0;
const filterBits = 22;

interface TokenFilter {
  /** Returns false only if no token has this hash. If it returns true, the caller must look the token up. */
  mayHold(hash: number): boolean;
  /** Computes the hash of two joined tokens from their two hashes. */
  joinedHash(left: number, right: number): number;
}

/** Nine of ten byte strings that are looked up are not tokens. This filter rejects them faster than the large map. */
function createFilter({ bytesOfRank }: Vocabulary): TokenFilter {
  const bits = new Uint32Array(2 ** filterBits / 32);
  const hashOfRank = new Int32Array(bytesOfRank.length);
  const powerOfRank = new Int32Array(bytesOfRank.length);
  const slotOf = (hash: number): number => Math.imul(hash, 0x9e3779b1) >>> (32 - filterBits);
  for (const [rank, token] of bytesOfRank.entries()) {
    let hash = 0;
    let power = 1;
    for (let index = 0; index < token.length; index++) {
      hash = nextHash(hash, token.charCodeAt(index));
      power = Math.imul(power, hashBase);
    }
    hashOfRank[rank] = hash;
    powerOfRank[rank] = power;
    const slot = slotOf(hash);
    bits[slot >> 5] = (bits[slot >> 5] as number) | (1 << (slot & 31));
  }
  return {
    mayHold: (hash) => {
      const slot = slotOf(hash);
      return ((bits[slot >> 5] as number) & (1 << (slot & 31))) !== 0;
    },
    joinedHash: (left, right) =>
      (Math.imul(hashOfRank[left] as number, powerOfRank[right] as number) +
        (hashOfRank[right] as number)) |
      0,
  };
}

const noMerge = 0x7fffffff;
/** Larger than every position in a window, so that `rank x positions + position` orders by rank, then by position. */
const positions = windowBytes;

/** Merges `size` bytes from `start` as far as the vocabulary allows, and returns the number of parts. */
function createMerge(
  vocabulary: Vocabulary,
  filter: TokenFilter,
  bytes: Uint8Array,
): (start: number, size: number) => number {
  const ranksOf = (length: number, token: (index: number) => string): Int32Array =>
    Int32Array.from({ length }, (_, index) => vocabulary.rankOfBytes.get(token(index)) ?? noMerge);
  const pairRank = createPairRanks(vocabulary, filter);
  const heap = createHeap(windowBytes * 3);
  const rankOfByte = ranksOf(256, (byte) => String.fromCharCode(byte));
  const rankOfTwoBytes = ranksOf(65_536, (pair) => String.fromCharCode(pair >> 8, pair & 255));
  // A doubly linked list over byte positions. Each part starts at a position and knows its neighbours.
  const rank = new Int32Array(windowBytes);
  const next = new Int32Array(windowBytes);
  const previous = new Int32Array(windowBytes);
  // For each part, the rank of the token that it forms with the next part. A heap entry with another rank is out of date.
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

const pairCacheBits = 16;

/**
 * Looks up the rank of the token that two neighbours form together. The cache is direct-mapped, so a collision only costs another
 * lookup.
 */
function createPairRanks(
  { rankOfBytes, bytesOfRank }: Vocabulary,
  filter: TokenFilter,
): (left: number, right: number) => number {
  const slots = 1 << pairCacheBits;
  const lefts = new Int32Array(slots).fill(-1);
  const rights = new Int32Array(slots);
  const ranks = new Int32Array(slots);
  return (left, right) => {
    const hash = filter.joinedHash(left, right);
    if (!filter.mayHold(hash)) return noMerge;
    const slot = Math.imul(hash, 0x85ebca6b) >>> (32 - pairCacheBits);
    if (lefts[slot] === left && rights[slot] === right) return ranks[slot] as number;
    const rank = rankOfBytes.get(`${bytesOfRank[left]}${bytesOfRank[right]}`) ?? noMerge;
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

/** A binary heap of numbers, smallest first. Every byte is pushed once, and every merge pushes two more entries. */
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

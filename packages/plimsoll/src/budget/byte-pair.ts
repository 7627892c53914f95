/**
 * Byte-pair merging in O(n log n) time.
 *
 * The merge loops of gpt-tokenizer and tiktoken are quadratic in the length of one piece (40,000 times the letter "a" takes
 * seconds). Here a heap gives the next merge, in the same order as theirs (lowest rank first, then leftmost), so the counts are
 * the same.
 */

/** All tokens of a vocabulary, in the order of their ranks: for each the number of its bytes in one byte, then the bytes. */
export type PackedTokens = Uint8Array;

/** Lets other work run between two steps of a long task. */
export type Pause = () => Promise<void>;

/**
 * The tokens in flat arrays and a hash table, without a string or object for each token: 200,000 of those would take 60 MB and a
 * quarter of a second to build.
 */
export interface Vocabulary {
  /** The rank of the token with these bytes, or `noToken`. `hash` is the hash of the bytes. */
  rankOf(hash: number, bytes: Uint8Array, start: number, size: number): number;
  /** The rank of the token that two tokens form together, or `noToken`. */
  rankOfPair(left: number, right: number): number;
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
/** Larger than every rank. */
const noToken = 0x7fffffff;

const hashBase = 0x01000193;
/** The hash of a byte string is a polynomial, so the hash of two joined tokens follows from their hashes. */
const nextHash = (hash: number, byte: number): number => (Math.imul(hash, hashBase) + byte + 1) | 0;

/** The tokens of a vocabulary by rank, and a hash table of their ranks. */
interface TokenTable {
  readonly packed: PackedTokens;
  /** Where the bytes of each token start in `packed`. */
  readonly starts: Int32Array;
  readonly hashes: Int32Array;
  /**
   * By rank: the base to the power of the token's size. The hash of two tokens in a row is the first one's hash times this
   * power of the second one, plus the second one's hash.
   */
  readonly powers: Int32Array;
  /** Open addressing, at most half full. An entry is a rank plus one, and 0 is an empty slot. */
  readonly slots: Int32Array;
  readonly slotBits: number;
}

const firstSlot = ({ slotBits }: TokenTable, hash: number): number =>
  Math.imul(hash, 0x9e3779b1) >>> (32 - slotBits);
const slotAfter = ({ slots }: TokenTable, slot: number): number => (slot + 1) & (slots.length - 1);

export async function buildVocabulary(packed: PackedTokens, pause?: Pause): Promise<Vocabulary> {
  const tokens = countTokens(packed);
  const slotBits = Math.ceil(Math.log2(tokens * 2));
  const table: TokenTable = {
    packed,
    starts: new Int32Array(tokens),
    hashes: new Int32Array(tokens),
    powers: new Int32Array(tokens),
    slots: new Int32Array(2 ** slotBits),
    slotBits,
  };
  let at = 0;
  for (let rank = 0; rank < tokens; rank++) {
    at = addToken(table, rank, at);
    if (pause !== undefined && rank % tokensPerStep === tokensPerStep - 1) await pause();
  }
  return createLookups(table);
}

function countTokens(packed: PackedTokens): number {
  let tokens = 0;
  for (let at = 0; at < packed.length; at += 1 + (packed[at] as number)) tokens++;
  return tokens;
}

/** Adds the token whose size is at `sizeAt`, and returns where the next token's size is. */
function addToken(table: TokenTable, rank: number, sizeAt: number): number {
  const { packed, slots } = table;
  const start = sizeAt + 1;
  const end = start + (packed[sizeAt] as number);
  let hash = 0;
  let power = 1;
  for (let at = start; at < end; at++) {
    hash = nextHash(hash, packed[at] as number);
    power = Math.imul(power, hashBase);
  }
  table.starts[rank] = start;
  table.hashes[rank] = hash;
  table.powers[rank] = power;
  let slot = firstSlot(table, hash);
  while (slots[slot] !== 0) slot = slotAfter(table, slot);
  slots[slot] = rank + 1;
  return end;
}

function createLookups(table: TokenTable): Vocabulary {
  const { packed, starts, hashes, powers, slots } = table;
  const sizeOf = (rank: number): number => packed[(starts[rank] as number) - 1] as number;
  const isAt = (place: number, other: Uint8Array, start: number, size: number): boolean => {
    for (let at = 0; at < size; at++) if (packed[place + at] !== other[start + at]) return false;
    return true;
  };
  const isPair = (rank: number, left: number, right: number): boolean => {
    const place = starts[rank] as number;
    const size = sizeOf(left);
    const sizeAfter = sizeOf(right);
    return (
      sizeOf(rank) === size + sizeAfter &&
      isAt(place, packed, starts[left] as number, size) &&
      isAt(place + size, packed, starts[right] as number, sizeAfter)
    );
  };
  return {
    rankOf: (hash, other, start, size) => {
      for (let slot = firstSlot(table, hash); slots[slot] !== 0; slot = slotAfter(table, slot)) {
        const rank = (slots[slot] as number) - 1;
        if (hashes[rank] !== hash || sizeOf(rank) !== size) continue;
        if (isAt(starts[rank] as number, other, start, size)) return rank;
      }
      return noToken;
    },
    rankOfPair: (left, right) => {
      const moved = Math.imul(hashes[left] as number, powers[right] as number);
      const hash = (moved + (hashes[right] as number)) | 0;
      for (let slot = firstSlot(table, hash); slots[slot] !== 0; slot = slotAfter(table, slot)) {
        const rank = (slots[slot] as number) - 1;
        if (hashes[rank] === hash && isPair(rank, left, right)) return rank;
      }
      return noToken;
    },
  };
}

/** Contract: pieces have at most `maxPieceChars` characters. Not re-entrant, because the scratch memory is shared. */
export function createPieceCounter(vocabulary: Vocabulary): CountPiece {
  const bytes = new Uint8Array(maxPieceChars * 3 + 1);
  const encoder = new TextEncoder();
  const merge = createMerge(vocabulary, bytes);

  /** Copies the piece into `bytes`, and returns its size. */
  const readBytes = (piece: string): number => {
    for (let index = 0; index < piece.length; index++) {
      const code = piece.charCodeAt(index);
      if (code > 127) return encoder.encodeInto(piece, bytes).written;
      bytes[index] = code;
    }
    return piece.length;
  };

  return (piece, pieceCount) => {
    const size = readBytes(piece);
    let hash = 0;
    for (let index = 0; index < size; index++) hash = nextHash(hash, bytes[index] as number);
    if (vocabulary.rankOf(hash, bytes, 0, size) !== noToken) {
      pieceCount.tokens += 1;
      return;
    }
    for (let start = 0; start < size; start += windowBytes) {
      pieceCount.tokens += merge(start, Math.min(windowBytes, size - start));
      if (start > 0) pieceCount.cuts += 1;
    }
  };
}

/** Larger than every position in a window, so that `rank x positions + position` orders by rank, then by position. */
const positions = windowBytes;

/** Merges `size` bytes from `start` as far as the vocabulary allows, and returns the number of parts. */
function createMerge(
  vocabulary: Vocabulary,
  bytes: Uint8Array,
): (start: number, size: number) => number {
  const heap = createHeap(windowBytes * 3);
  const rankOfByte = Int32Array.from({ length: 256 }, (_, byte) =>
    vocabulary.rankOf(nextHash(0, byte), Uint8Array.of(byte), 0, 1),
  );
  // A doubly linked list over byte positions. Each part starts at a position and knows its neighbours.
  const rank = new Int32Array(windowBytes);
  const next = new Int32Array(windowBytes);
  const previous = new Int32Array(windowBytes);
  // For each part, the rank of the token that it forms with the next part. A heap entry with another rank is out of date.
  const mergedRank = new Int32Array(windowBytes);

  const offer = (at: number, merged: number): void => {
    mergedRank[at] = merged;
    if (merged !== noToken) heap.push(merged * positions + at);
  };

  const offerAgain = (at: number, size: number): void => {
    const after = next[at] as number;
    offer(
      at,
      after < size ? vocabulary.rankOfPair(rank[at] as number, rank[after] as number) : noToken,
    );
  };

  const mergeAt = (at: number, size: number): void => {
    const swallowed = next[at] as number;
    const after = next[swallowed] as number;
    const before = previous[at] as number;
    rank[at] = mergedRank[at] as number;
    mergedRank[swallowed] = noToken;
    next[at] = after;
    if (after < size) previous[after] = at;
    offerAgain(at, size);
    if (before >= 0) offerAgain(before, size);
  };

  return (start, size) => {
    for (let at = 0; at < size; at++) {
      rank[at] = rankOfByte[bytes[start + at] as number] as number;
      next[at] = at + 1;
      previous[at] = at - 1;
    }
    for (let at = 0; at < size; at++) offerAgain(at, size);
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

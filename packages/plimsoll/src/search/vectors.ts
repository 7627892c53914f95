/**
 * Static word vectors, which show which words mean nearly the same. They are a table of signed bytes, which is read without
 * copying it.
 */

import { BoundedMap } from "../bounds/bounded-map.ts";
import { PlimsollError } from "../message/error.ts";

export interface Neighbour {
  readonly word: string;
  /** Cosine of the two words, from 0 to 1. */
  readonly similarity: number;
}

export interface WordVectors {
  readonly dimensions: number;
  readonly size: number;
  has(word: string): boolean;
  /** The frequency rank of a word. The most common word has rank 0. Undefined if the word is not in the table. */
  rank(word: string): number | undefined;
  /** The vector of a word, with unit length. */
  vector(word: string): Float32Array | undefined;
  /** The cosine of two words, from 0 to 1. It is 0 if one of them is unknown. */
  similarity(left: string, right: string): number;
  /** The most similar words, best first, without the word itself. The last 512 answers are cached. */
  nearest(word: string, count: number): readonly Neighbour[];
}

const magic = "PLW1";
const headBytes = 12;
/** Maximum number of cached answers. This is enough for the words of a few dozen long queries. */
const rememberedMax = 512;
/** Maximum number of neighbours of a word. Words that are less similar are not synonyms. */
const neighboursMax = 32;

interface Table {
  readonly size: number;
  /** Reading the words takes 65 ms at a start, and most processes never look for one. So they are read when one is first looked for. */
  readonly words: () => Words;
  readonly factors: Float32Array;
  readonly values: Int8Array;
  readonly dimensions: number;
}

interface Words {
  readonly list: readonly string[];
  readonly rows: ReadonlyMap<string, number>;
}

/** Contract: throws if the bytes are not such a table. Keeps a reference to the bytes and never writes to them. */
export function readWordVectors(bytes: Uint8Array): WordVectors {
  const table = readTable(bytes);
  const { size, dimensions } = table;
  const rowOf = (word: string): number | undefined => table.words().rows.get(word);
  const remembered = new BoundedMap<string, readonly Neighbour[]>({ entries: rememberedMax });

  const nearestOf = (word: string): readonly Neighbour[] => {
    const known = remembered.get(word);
    if (known !== undefined) return known;
    const row = rowOf(word);
    const found = row === undefined ? [] : findNearest(table, row);
    return remembered.set(word, found);
  };

  return {
    dimensions,
    size,
    has: (word) => rowOf(word) !== undefined,
    rank: rowOf,
    vector: (word) => {
      const row = rowOf(word);
      return row === undefined ? undefined : vectorOf(table, row);
    },
    similarity: (left, right) => {
      const [a, b] = [rowOf(left), rowOf(right)];
      return a === undefined || b === undefined ? 0 : cosineOfRows(table, a, b);
    },
    nearest: (word, count) => nearestOf(word).slice(0, Math.min(count, neighboursMax)),
  };
}

function readTable(bytes: Uint8Array): Table {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = bytes.length < headBytes ? 0 : view.getUint32(4, true);
  const dimensions = bytes.length < headBytes ? 0 : view.getUint32(8, true);
  const wordsStart = headBytes + size * 4 + size * dimensions;
  const words = bytes.subarray(Math.min(wordsStart, bytes.length));
  const isTable = new TextDecoder().decode(bytes.subarray(0, 4)) === magic;
  if (!isTable || wordsStart > bytes.length || countLineFeeds(words) !== size) {
    throw new PlimsollError(
      "INTERNAL",
      "The file with the word vectors is damaged. Run `node scripts/derive-vectors.mjs` to make it again, or delete it to work without word vectors.",
    );
  }
  const factors = new Float32Array(size);
  for (let row = 0; row < size; row++) factors[row] = view.getFloat32(headBytes + row * 4, true);
  const values = new Int8Array(
    bytes.buffer,
    bytes.byteOffset + headBytes + size * 4,
    size * dimensions,
  );
  let read: Words | undefined;
  return {
    size,
    words: () => {
      read ??= readWords(words);
      return read;
    },
    factors,
    values,
    dimensions,
  };
}

const lineFeed = 10;

function countLineFeeds(bytes: Uint8Array): number {
  let lines = 0;
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) lines++;
  return lines;
}

/** Each word is followed by a line feed. */
function readWords(bytes: Uint8Array): Words {
  const list = new TextDecoder().decode(bytes).split("\n");
  list.pop();
  return { list, rows: new Map(list.map((word, row) => [word, row])) };
}

function vectorOf(table: Table, row: number): Float32Array {
  const { dimensions, values, factors } = table;
  const start = row * dimensions;
  const factor = factors[row] ?? 0;
  return Float32Array.from(values.subarray(start, start + dimensions), (value) => value * factor);
}

function cosineOfRows(table: Table, left: number, right: number): number {
  const { dimensions, values, factors } = table;
  const [a, b] = [left * dimensions, right * dimensions];
  let sum = 0;
  for (let i = 0; i < dimensions; i++) sum += (values[a + i] ?? 0) * (values[b + i] ?? 0);
  return clamp(sum * (factors[left] ?? 0) * (factors[right] ?? 0));
}

function findNearest(table: Table, row: number): readonly Neighbour[] {
  const best: { row: number; similarity: number }[] = [];
  const { list } = table.words();
  let least = 0;
  for (let other = 0; other < table.size; other++) {
    const similarity = other === row ? 0 : cosineOfRows(table, row, other);
    if (similarity <= least) continue;
    best.push({ row: other, similarity });
    if (best.length < 2 * neighboursMax) continue;
    best.sort((x, y) => y.similarity - x.similarity || x.row - y.row);
    best.length = neighboursMax;
    least = best.at(-1)?.similarity ?? 0;
  }
  best.sort((x, y) => y.similarity - x.similarity || x.row - y.row);
  return best
    .slice(0, neighboursMax)
    .map(({ row: found, similarity }) => ({ word: list[found] ?? "", similarity }));
}

/**
 * The cosine of two vectors, with negative values set to 0. A text with a negative cosine is no less relevant than a text that
 * has nothing to do with the query.
 */
export function cosine(left: Float32Array, right: Float32Array): number {
  let dot = 0;
  let leftSquare = 0;
  let rightSquare = 0;
  for (let i = 0; i < left.length; i++) {
    const [a, b] = [left[i] ?? 0, right[i] ?? 0];
    dot += a * b;
    leftSquare += a * a;
    rightSquare += b * b;
  }
  const norm = Math.sqrt(leftSquare * rightSquare);
  return norm === 0 ? 0 : clamp(dot / norm);
}

function clamp(value: number): number {
  return Math.max(0, Math.min(1, value));
}

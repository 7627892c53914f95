/** The words of a catalogue and of its texts as rows of numbers, so that thousands are compared in a millisecond. */

import { BoundedMap } from "../bounds/bounded-map.ts";
import type { Synonyms } from "./expand.ts";
import type { Neighbour, WordVectors } from "./vectors.ts";

/** Below this, words are only of the same field. */
const leastSimilarity = 0.5;
const synonymsMax = 10;
/** Words of some dozen long queries. */
const rememberedMax = 1_024;

/** Vectors of unit length, one after the other. */
export interface Rows {
  readonly count: number;
  readonly values: Float32Array;
}

export function rowsOf(vectors: readonly Float32Array[], dimensions: number): Rows {
  const values = new Float32Array(vectors.length * dimensions);
  for (const [row, vector] of vectors.entries()) values.set(vector, row * dimensions);
  return { count: vectors.length, values };
}

/** Cosine of a vector of unit length with each row. */
export function cosines({ count, values }: Rows, vector: Float32Array): Float32Array {
  const found = new Float32Array(count);
  for (let row = 0, at = 0; row < count; row++) {
    let sum = 0;
    for (let i = 0; i < vector.length; i++, at++) sum += (values[at] ?? 0) * (vector[i] ?? 0);
    found[row] = sum;
  }
  return found;
}

/** Like `synonymsAmong`, for many queries to one set of words: takes the memory of its rows, and a fraction of the time. */
export function nearWords(vectors: WordVectors, words: Iterable<string>): Synonyms {
  const known = [...new Set(words)].filter((word) => vectors.has(word));
  const rows = rowsOf(
    known.map((word) => vectors.vector(word) ?? new Float32Array(vectors.dimensions)),
    vectors.dimensions,
  );
  const remembered = new BoundedMap<string, readonly Neighbour[]>({ entries: rememberedMax });
  return (word) => {
    const before = remembered.get(word);
    if (before !== undefined) return before;
    const vector = vectors.vector(word);
    const found = vector === undefined ? [] : nearest(known, cosines(rows, vector), word);
    return remembered.set(word, found);
  };
}

/** Of equals the one that came first, so that the same catalogue has the same synonyms. */
function nearest(
  words: readonly string[],
  similarities: Float32Array,
  self: string,
): readonly Neighbour[] {
  const near: Neighbour[] = [];
  for (const [row, similarity] of similarities.entries()) {
    const word = words[row];
    if (similarity >= leastSimilarity && word !== undefined && word !== self)
      near.push({ word, similarity: Math.min(1, similarity) });
  }
  return near.sort((a, b) => b.similarity - a.similarity).slice(0, synonymsMax);
}

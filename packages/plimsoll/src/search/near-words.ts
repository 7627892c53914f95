/** The words of a tool catalogue as rows of numbers, so that thousands of words can be compared in a millisecond. */

import { BoundedMap } from "../bounds/bounded-map.ts";
import type { Synonyms } from "./expand.ts";
import type { Neighbour, WordVectors } from "./vectors.ts";

/** Minimum similarity of synonyms. Less similar words merely belong to the same topic. */
const leastSimilarity = 0.5;
const synonymsMax = 10;
/** Maximum number of remembered words. This is enough for a few dozen long queries. */
const rememberedMax = 1_024;

/** Vectors of unit length in one array, one after another. */
export interface Rows {
  readonly count: number;
  readonly values: Float32Array;
}

export function rowsOf(vectors: readonly Float32Array[], dimensions: number): Rows {
  const values = new Float32Array(vectors.length * dimensions);
  for (const [row, vector] of vectors.entries()) values.set(vector, row * dimensions);
  return { count: vectors.length, values };
}

/** The cosine of a unit vector with each row. */
export function cosines({ count, values }: Rows, vector: Float32Array): Float32Array {
  const found = new Float32Array(count);
  for (let row = 0, at = 0; row < count; row++) {
    let sum = 0;
    for (let i = 0; i < vector.length; i++, at++) sum += (values[at] ?? 0) * (vector[i] ?? 0);
    found[row] = sum;
  }
  return found;
}

/**
 * Like `synonymsAmong`, but for many queries against one set of words. Needs more memory, for its rows, but only a fraction of
 * the time.
 */
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

/** If similarities are equal, the word that came first wins, so that the same catalogue always gives the same synonyms. */
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

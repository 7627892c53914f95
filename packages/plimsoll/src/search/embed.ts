/**
 * Turns texts into vectors. The static embedder needs no model: it averages the vectors of the words and gives rare words more
 * weight.
 */

import type { WordVectors } from "./vectors.ts";
import { plainWords } from "./words.ts";

export interface Embedder {
  readonly name: string;
  /** Contract: returns one vector per text, all of the same length. A text without known words gives a vector of zeros. */
  embed(texts: readonly string[]): Promise<readonly Float32Array[]>;
}

/** Smooth inverse frequency (Arora, Liang, Ma 2017): a word with this frequency has half of the full weight. */
const halfFrequency = 1e-3;
/** Zipf's law: the frequency of the word with rank r is about this value divided by r. */
const zipfShare = 0.1;

/** The mean of all word vectors was subtracted when the table was made, so this function does not subtract it. */
export function createStaticEmbedder(vectors: WordVectors): Embedder {
  return {
    name: "static",
    embed: (texts) => Promise.resolve(texts.map((text) => meanVector(vectors, text))),
  };
}

/** A vector of unit length, or all zeros if the text has no known words. */
export function meanVector(vectors: WordVectors, text: string): Float32Array {
  const sum = new Float32Array(vectors.dimensions);
  for (const word of plainWords(text)) {
    const [rank, vector] = [vectors.rank(word), vectors.vector(word)];
    if (rank === undefined || vector === undefined) continue;
    const weight = halfFrequency / (halfFrequency + zipfShare / (rank + 1));
    for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] ?? 0) + weight * (vector[i] ?? 0);
  }
  const length = Math.sqrt(sum.reduce((square, value) => square + value * value, 0));
  return length === 0 ? sum : sum.map((value) => value / length);
}

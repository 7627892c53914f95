/** Texts as vectors. The static embedder needs no model: the mean of its words, rare ones first. */

import type { WordVectors } from "./vectors.ts";
import { plainWords } from "./words.ts";

export interface Embedder {
  readonly name: string;
  /** Contract: one vector per text, all of the same length; a text that says nothing to it is all zeros. */
  embed(texts: readonly string[]): Promise<readonly Float32Array[]>;
}

/** Smooth inverse frequency (Arora, Liang, Ma 2017): a word as common as this counts half. */
const halfFrequency = 1e-3;
/** Zipf: the word of rank r has about this share of a text, divided by r. */
const zipfShare = 0.1;

/** The mean of all words was taken out of the table when it was made, so nothing is left to take out of a text. */
export function createStaticEmbedder(vectors: WordVectors): Embedder {
  return {
    name: "static",
    embed: (texts) => Promise.resolve(texts.map((text) => meanVector(vectors, text))),
  };
}

/** Unit length; all zeros for a text without known words. */
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

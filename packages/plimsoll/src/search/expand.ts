/** The terms of a query, and words of the archive that mean nearly the same. */

import { BoundedMap } from "../bounds/bounded-map.ts";
import type { Neighbour, WordVectors } from "./vectors.ts";
import { plainWords, termsOf } from "./words.ts";

/** Minimum similarity of synonyms. Less similar words merely belong to the same topic. */
const leastSimilarity = 0.5;
const synonymsMax = 10;
/** Maximum weight of a synonym compared with the word itself. A synonym is only a guess. */
const synonymWeight = 0.3;
/** Queries with more words than this get no synonyms, because they already express their meaning in several ways. */
const expandedWordsMax = 24;

/** Finds words of an archive that are similar to a word, best first. */
export type Synonyms = (word: string) => readonly Neighbour[];

/** `ignored` are words that do not matter here, such as the names of speakers that occur in every line. */
export function queryTerms(
  query: string,
  synonyms: Synonyms,
  ignored: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, number> {
  const words = [...new Set(plainWords(query))].filter((word) => !ignored.has(word));
  const ignoredTerms = new Set([...ignored].flatMap(termsOf));
  const weights = new Map<string, number>();
  const raise = (term: string, weight: number): void => {
    weights.set(term, Math.max(weights.get(term) ?? 0, weight));
  };
  for (const term of termsOf(query)) if (!ignoredTerms.has(term)) raise(term, 1);
  if (words.length > expandedWordsMax) return weights;
  for (const { word, similarity } of words.flatMap(synonyms)) {
    for (const term of termsOf(word)) raise(term, similarity * synonymWeight);
  }
  return weights;
}

/** Maximum number of remembered words. This is enough for the queries of one long conversation. */
const rememberedMax = 512;

/** Finds synonyms among the words of an archive. The synonyms of a word are looked up when they are first needed. */
export function synonymsAmong(vectors: WordVectors, words: Iterable<string>): Synonyms {
  const known = [...new Set(words)].filter((word) => vectors.has(word));
  const remembered = new BoundedMap<string, readonly Neighbour[]>({ entries: rememberedMax });
  return (word) => {
    const before = remembered.get(word);
    if (before !== undefined) return before;
    const found = vectors.has(word) ? nearestOf(vectors, word, known) : [];
    return remembered.set(word, found);
  };
}

function nearestOf(
  vectors: WordVectors,
  word: string,
  known: readonly string[],
): readonly Neighbour[] {
  return known
    .map((other) => ({ word: other, similarity: vectors.similarity(word, other) }))
    .filter((found) => found.similarity >= leastSimilarity && found.word !== word)
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, synonymsMax);
}

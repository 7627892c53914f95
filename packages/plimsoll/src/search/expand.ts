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

/** A term of a query, with the terms of similar words. */
export interface AskedTerm {
  readonly term: string;
  /** Terms of similar words, with their weights. The term itself has weight 1. */
  readonly similar: ReadonlyMap<string, number>;
}

/** `ignored` are words that do not matter here, such as the names of speakers that occur in every line. */
export function askedTerms(
  query: string,
  synonyms: Synonyms,
  ignored: ReadonlySet<string> = new Set(),
): readonly AskedTerm[] {
  const words = [...new Set(plainWords(query))].filter((word) => !ignored.has(word));
  const ignoredTerms = new Set([...ignored].flatMap(termsOf));
  const terms = new Map<string, Map<string, number>>();
  for (const term of termsOf(query)) if (!ignoredTerms.has(term)) terms.set(term, new Map());
  for (const word of words.length > expandedWordsMax ? [] : words) {
    const found = synonyms(word);
    for (const term of found.length === 0 ? [] : termsOf(word)) raise(terms.get(term), found);
  }
  return [...terms].map(([term, similar]) => ({ term, similar }));
}

function raise(similar: Map<string, number> | undefined, found: readonly Neighbour[]): void {
  for (const { word, similarity } of found)
    for (const term of termsOf(word))
      similar?.set(term, Math.max(similar.get(term) ?? 0, similarity * synonymWeight));
}

/** The terms of a query and of similar words, each with its weight. */
export function weightsOf(asked: readonly AskedTerm[]): ReadonlyMap<string, number> {
  const weights = new Map(asked.map(({ term }) => [term, 1]));
  for (const { similar } of asked)
    for (const [term, weight] of similar)
      weights.set(term, Math.max(weights.get(term) ?? 0, weight));
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

/** BM25F: ranks documents with weighted fields by the terms that they share with a query. */

import { termsOf } from "./words.ts";

/**
 * Limits the effect of repetition: a word that occurs three times does not make a text three times as relevant. The usual value,
 * from Robertson and others.
 */
const saturation = 1.2;
/** How strongly long documents are penalised: 0 = not at all, 1 = in proportion to their length. */
const lengthShare = 0.75;

export interface Field {
  readonly text: string;
  /** How often the text counts. 2 means that every word counts twice. */
  readonly weight?: number;
}

export interface Posting {
  readonly document: number;
  readonly frequency: number;
}

/** Contract: documents are numbered in the order in which they were added, and can be found as soon as they are added. */
export interface TermIndex {
  readonly size: number;
  add(fields: readonly Field[]): number;
  /** The score of every document, or 0 if it shares no term with the query. The values of `query` are term weights. */
  scores(query: ReadonlyMap<string, number>): Float64Array;
  /** How well a term distinguishes documents. 0 if no document contains it. */
  rarity(term: string): number;
  postings(term: string): readonly Posting[];
  terms(): Iterable<string>;
}

export function createTermIndex(): TermIndex {
  const postings = new Map<string, Posting[]>();
  const lengths: number[] = [];
  let totalLength = 0;

  const rarity = (term: string): number => {
    const holders = postings.get(term)?.length ?? 0;
    return holders === 0 ? 0 : rarityOf(holders, lengths.length);
  };

  return {
    get size() {
      return lengths.length;
    },
    add: (fields) => {
      const document = lengths.length;
      const frequencies = countTerms(fields);
      let length = 0;
      for (const [term, frequency] of frequencies) {
        length += frequency;
        const known = postings.get(term);
        if (known === undefined) postings.set(term, [{ document, frequency }]);
        else known.push({ document, frequency });
      }
      lengths.push(length);
      totalLength += length;
      return document;
    },
    scores: (query) => {
      const scores = new Float64Array(lengths.length);
      const meanLength = totalLength / Math.max(1, lengths.length);
      for (const [term, weight] of query) {
        const worth = rarity(term) * weight;
        for (const { document, frequency } of postings.get(term) ?? []) {
          const relative = (lengths[document] ?? 0) / meanLength;
          const norm = saturation * (1 - lengthShare + lengthShare * relative);
          scores[document] =
            (scores[document] ?? 0) + (worth * frequency * (saturation + 1)) / (frequency + norm);
        }
      }
      return scores;
    },
    rarity,
    postings: (term) => postings.get(term) ?? [],
    terms: () => postings.keys(),
  };
}

function rarityOf(holders: number, size: number): number {
  return Math.log(1 + (size - holders + 0.5) / (holders + 0.5));
}

/** The rarity of a term that only one of `size` documents contains. */
export function rarest(size: number): number {
  return rarityOf(1, size);
}

function countTerms(fields: readonly Field[]): ReadonlyMap<string, number> {
  const frequencies = new Map<string, number>();
  for (const { text, weight = 1 } of fields) {
    for (const term of termsOf(text)) frequencies.set(term, (frequencies.get(term) ?? 0) + weight);
  }
  return frequencies;
}

/** The documents with a score above 0, best first. If scores are equal, the earlier document comes first. */
export function ranked(scores: Float64Array, limit = Number.POSITIVE_INFINITY): readonly number[] {
  const found: number[] = [];
  scores.forEach((score, document) => {
    if (score > 0) found.push(document);
  });
  found.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  return found.slice(0, limit);
}

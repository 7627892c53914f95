/**
 * BM25F: ranks documents with weighted fields by the terms that they share with a query. Average lengths are computed separately
 * for each field, so the length of a name is compared with that of other names, and the length of a description with that of
 * other descriptions.
 */

import { termsOf } from "./words.ts";

/** How strongly the length of a field lowers the weight of each term in it, from 0 (not at all) to 1 (in proportion). */
const lengthShare = 0.75;

export interface IndexShape {
  /** The weight of each field. If the weight is 2, the text of the field is counted as if it occurred twice. */
  readonly weights: readonly number[];
  /** The larger this value, the more the later repetitions of a term still add to the score. */
  readonly saturation: number;
}

/**
 * For documents with one field. 1.2 is the usual value (Robertson and others): three occurrences of a word do not make a text
 * three times as relevant.
 */
const plainTexts: IndexShape = { weights: [1], saturation: 1.2 };

export interface Posting {
  readonly document: number;
  readonly field: number;
  readonly frequency: number;
}

export interface Holder {
  readonly document: number;
  /** Rarity of the term × its saturated frequency in the document. */
  readonly worth: number;
}

/** Contract: documents are numbered in the order in which they were given. */
export interface TermIndex {
  readonly size: number;
  /** The score of every document, 0 if it shares no term with the query. `query` maps each term to its weight. */
  scores(query: ReadonlyMap<string, number>): Float64Array;
  /** The documents that contain the term, in order. */
  holders(term: string): readonly Holder[];
  /** How well the term tells documents apart. 0 if no document contains it. */
  rarity(term: string): number;
  /** The places where the term occurs, ordered by document and field. */
  postings(term: string): readonly Posting[];
  terms(): Iterable<string>;
}

interface Entry {
  readonly postings: Posting[];
  /** Number of documents that contain the term. */
  documents: number;
}

/** A document is one text per field. */
export function buildTermIndex(
  documents: readonly (readonly string[])[],
  { weights, saturation }: IndexShape = plainTexts,
): TermIndex {
  const entries = new Map<string, Entry>();
  const lengths = documents.map((fields, document) =>
    fields.map((text, field) => addText(entries, text, { document, field })),
  );
  const factors = weights.map((weight, field) =>
    fieldFactors(
      lengths.map((own) => own[field] ?? 0),
      weight,
    ),
  );
  const size = documents.length;
  const rarity = (term: string): number => {
    const holders = entries.get(term)?.documents ?? 0;
    return holders === 0 ? 0 : rarityOf(holders, size);
  };
  const visitHolders = (term: string, visit: (document: number, worth: number) => void): void => {
    const { postings } = entries.get(term) ?? { postings: [] };
    const most = rarity(term) * (saturation + 1);
    let sum = 0;
    let before = -1;
    for (const { document, field, frequency } of postings) {
      if (document !== before && sum > 0) {
        visit(before, (most * sum) / (sum + saturation));
        sum = 0;
      }
      before = document;
      sum += frequency * (factors[field]?.[document] ?? 1);
    }
    if (sum > 0) visit(before, (most * sum) / (sum + saturation));
  };
  return {
    size,
    rarity,
    holders: (term) => {
      const holders: Holder[] = [];
      visitHolders(term, (document, worth) => holders.push({ document, worth }));
      return holders;
    },
    scores: (query) => {
      const scores = new Float64Array(size);
      for (const [term, weight] of query)
        visitHolders(term, (document, worth) => {
          scores[document] = (scores[document] ?? 0) + weight * worth;
        });
      return scores;
    },
    postings: (term) => entries.get(term)?.postings ?? [],
    terms: () => entries.keys(),
  };
}

/**
 * For each document, the weight of one occurrence of a term in this field. The weight is lower if the field is longer than
 * average.
 */
function fieldFactors(lengths: readonly number[], weight: number): Float64Array {
  const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length || 1;
  return Float64Array.from(
    lengths,
    (length) => weight / (1 - lengthShare + (lengthShare * length) / mean),
  );
}

/** Returns the number of terms. */
function addText(
  entries: Map<string, Entry>,
  text: string,
  place: { readonly document: number; readonly field: number },
): number {
  const terms = termsOf(text);
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  for (const [term, frequency] of counts) {
    const entry = entries.get(term) ?? { postings: [], documents: 0 };
    if (entry.documents === 0) entries.set(term, entry);
    if (entry.postings.at(-1)?.document !== place.document) entry.documents += 1;
    entry.postings.push({ ...place, frequency });
  }
  return terms.length;
}

function rarityOf(holders: number, size: number): number {
  return Math.log(1 + (size - holders + 0.5) / (holders + 0.5));
}

/** The rarity of a term that only one of `size` documents contains. */
export function rarest(size: number): number {
  return rarityOf(1, size);
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

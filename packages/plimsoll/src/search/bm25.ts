/**
 * BM25F: documents of weighted fields, ranked by the terms that they share with a query. Each field has a norm of its
 * own: the words of a name count among names, those of a description among descriptions.
 */

import { termsOf } from "./words.ts";

/** How far a long field must hold a term more often to count the same; 0 = not at all, 1 = in proportion. */
const lengthShare = 0.75;

export interface IndexShape {
  /** One per field: how often its text counts; 2 = as if it stood there twice. */
  readonly weights: readonly number[];
  /** How soon a term that occurs again counts less: large = late. */
  readonly saturation: number;
}

/** One field. A word that occurs three times does not make a text three times as relevant (Robertson and others' usual value). */
const plainTexts: IndexShape = { weights: [1], saturation: 1.2 };

export interface Posting {
  readonly document: number;
  readonly field: number;
  readonly frequency: number;
}

export interface Holder {
  readonly document: number;
  /** Rarity of the term × how much the document has of it. */
  readonly worth: number;
}

/** Contract: documents are numbered in the order in which they were given. */
export interface TermIndex {
  readonly size: number;
  /** The score of every document; 0 where no term is shared. A term's weight multiplies what it is worth. */
  scores(query: ReadonlyMap<string, number>): Float64Array;
  /** Who has a term, in the order of the documents. */
  holders(term: string): readonly Holder[];
  /** How much a term tells the documents apart: 0 when nobody has it. */
  rarity(term: string): number;
  /** Where a term stands, in the order of the documents and their fields. */
  postings(term: string): readonly Posting[];
  terms(): Iterable<string>;
}

interface Entry {
  readonly postings: Posting[];
  /** That have the term. */
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

/** What one occurrence of a term counts in a field of each document: by its weight, and by how long it is among its kind. */
function fieldFactors(lengths: readonly number[], weight: number): Float64Array {
  const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length || 1;
  return Float64Array.from(
    lengths,
    (length) => weight / (1 - lengthShare + (lengthShare * length) / mean),
  );
}

/** Gives the number of terms. */
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

/** The documents with a score above 0, best first; of equals the earlier one. */
export function ranked(scores: Float64Array, limit = Number.POSITIVE_INFINITY): readonly number[] {
  const found: number[] = [];
  scores.forEach((score, document) => {
    if (score > 0) found.push(document);
  });
  found.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  return found.slice(0, limit);
}

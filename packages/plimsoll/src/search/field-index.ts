/** BM25F with a norm per field: the words of a name count among names, those of a description among descriptions. */

import { termsOf } from "./words.ts";

/**
 * Above the usual 1.2, since a frequency here is already weighted: a word in the name and in the description shall be
 * worth more than one in the description only.
 */
const saturation = 2;
/** How far a long field must hold a term more often to count the same; 0 = not at all, 1 = in proportion. */
const lengthShare = 0.75;

interface Holder {
  readonly document: number;
  /** Rarity of the term × how much the document has of it. */
  readonly worth: number;
}

export interface FieldIndex {
  readonly size: number;
  /** Who has a term, in the order of the documents. */
  holders(term: string): readonly Holder[];
}

/** A document is one text per field; `weights` says how often the text of each field counts. */
export function buildFieldIndex(
  documents: readonly (readonly string[])[],
  weights: readonly number[],
): FieldIndex {
  const counted = documents.map((fields) => fields.map(countTerms));
  const means = weights.map(
    (_, field) => sum(counted.map((fields) => fields[field]?.length ?? 0)) / documents.length || 1,
  );
  const found = new Map<string, { document: number; frequency: number }[]>();
  for (const [document, fields] of counted.entries()) {
    for (const [term, frequency] of weigh(fields, weights, means)) {
      const known = found.get(term);
      if (known === undefined) found.set(term, [{ document, frequency }]);
      else known.push({ document, frequency });
    }
  }
  const holders = new Map<string, readonly Holder[]>();
  for (const [term, list] of found) {
    const rarity = Math.log(1 + (documents.length - list.length + 0.5) / (list.length + 0.5));
    const worthOf = (frequency: number): number =>
      (rarity * frequency * (saturation + 1)) / (frequency + saturation);
    holders.set(
      term,
      list.map(({ document, frequency }) => ({ document, worth: worthOf(frequency) })),
    );
  }
  return { size: documents.length, holders: (term) => holders.get(term) ?? [] };
}

interface CountedField {
  readonly length: number;
  readonly counts: ReadonlyMap<string, number>;
}

function countTerms(text: string): CountedField {
  const counts = new Map<string, number>();
  const terms = termsOf(text);
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return { length: terms.length, counts };
}

/** Frequencies over all fields, each by its weight and by how long it is among its kind. */
function weigh(
  fields: readonly CountedField[],
  weights: readonly number[],
  means: readonly number[],
): ReadonlyMap<string, number> {
  const frequencies = new Map<string, number>();
  for (const [field, { length, counts }] of fields.entries()) {
    const norm = 1 - lengthShare + (lengthShare * length) / (means[field] ?? 1);
    const factor = (weights[field] ?? 1) / norm;
    for (const [term, count] of counts)
      frequencies.set(term, (frequencies.get(term) ?? 0) + count * factor);
  }
  return frequencies;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

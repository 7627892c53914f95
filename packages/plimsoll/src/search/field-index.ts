/**
 * BM25F with length normalisation per field: the length of a name is compared with other names, that of a description with other
 * descriptions.
 */

import { termsOf } from "./words.ts";

/**
 * Higher than the usual 1.2 because frequencies are already weighted here. A word in both name and description should be worth
 * more than one in the description only.
 */
const saturation = 2;
/** How strongly long fields are penalised: 0 = not at all, 1 = in proportion to their length. */
const lengthShare = 0.75;

interface Holder {
  readonly document: number;
  /** Rarity of the term, multiplied by the saturated frequency of the term in this document. */
  readonly worth: number;
}

export interface FieldIndex {
  readonly size: number;
  /** The documents that contain a term, in their original order. */
  holders(term: string): readonly Holder[];
}

/** A document has one text per field. `weights` says how much the text of each field counts. */
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

/** Term frequencies over all fields. Each field counts by its weight and by its length relative to the mean for that field. */
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

/** Similarity of two texts by their terms, from 0 to 1. */

import { termsOf } from "../../search/words.ts";

/**
 * Cosine of the damped term frequencies, in which the tenth occurrence of a term adds far less than the first. 1 for two empty
 * texts.
 */
export function similarityOf(ones: readonly string[], others: readonly string[]): number {
  return cosineOf(frequencies(ones), frequencies(others));
}

/**
 * Share of the text's terms that also occur in the source. Invented content lowers this share. A text without terms has a share
 * of 1.
 */
export function shareFoundIn(text: string, source: string): number {
  const terms = new Set(termsOf(text));
  if (terms.size === 0) return 1;
  const known = new Set(termsOf(source));
  let found = 0;
  for (const term of terms) if (known.has(term)) found++;
  return found / terms.size;
}

function frequencies(texts: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts)
    for (const term of termsOf(text)) counts.set(term, (counts.get(term) ?? 0) + 1);
  return counts;
}

function cosineOf(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): number {
  if (one.size === 0 || other.size === 0) return one.size === other.size ? 1 : 0;
  let dot = 0;
  for (const [term, count] of one) dot += damped(count) * damped(other.get(term) ?? 0);
  return Math.min(1, dot / Math.sqrt(squares(one) * squares(other)));
}

function squares(counts: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const count of counts.values()) sum += damped(count) ** 2;
  return sum;
}

function damped(count: number): number {
  return Math.log1p(count);
}

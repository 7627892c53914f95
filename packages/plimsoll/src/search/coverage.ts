/** Coverage: how much of what a query asks for is in a passage. It does not depend on how good the other passages are. */

import { rarest, type TermIndex } from "./bm25.ts";
import type { AskedTerm } from "./expand.ts";
import { stem } from "./words.ts";

export interface Coverage {
  /**
   * For each passage, the share of the query's information that it contains, from 0 to 1. The information of a word is its rarity,
   * so a rare word counts more. A word that the archive does not have counts as much as the rarest word.
   */
  readonly of: Float64Array;
  /** The share of the query's information that the archive contains at all, in whatever passages. */
  readonly known: number;
  /** Number of words in the query, without words that say nothing about a topic. */
  readonly words: number;
  /** The information of the query, on the scale of rarities. */
  readonly information: number;
}

/** The shares of its words that a passage lends to the next passage, and to the previous one. */
const toNext = 0.4;
const toPrevious = 0.2;

/** Words that say what to do with the answer, and nothing about its topic. They are not missing if the archive lacks them. */
const askingWords = new Set(
  "describe discuss discussion explain mention said say summarise summarize summary talk tell told"
    .split(" ")
    .map(stem),
);

/**
 * Contract: the documents of `terms` are passages, in the order of the conversation. Passages that are left out cover nothing, and
 * the archive counts as if it did not have them.
 */
export function coverageOf(
  terms: TermIndex,
  asked: readonly AskedTerm[],
  isLeftOut: (passage: number) => boolean = () => false,
): Coverage {
  const most = rarest(terms.size);
  const of = new Float64Array(terms.size);
  let [all, known, words] = [0, 0, 0];
  for (const one of asked) {
    const rarity = terms.rarity(one.term);
    if (rarity === 0 && askingWords.has(one.term)) continue;
    const information = rarity === 0 ? most : rarity;
    const shares = sharesOf(terms, one, isLeftOut);
    words += 1;
    all += information;
    known += information * shares.most;
    addNear(of, shares.of, information);
  }
  if (all > 0) for (const [passage, sum] of of.entries()) of[passage] = sum / all;
  return { of, known: all === 0 ? 0 : known / all, words, information: all };
}

interface Shares {
  readonly of: ReadonlyMap<number, number>;
  readonly most: number;
}

/** For each passage that has the term, 1. For each passage that has a similar term, the weight of that term. */
function sharesOf(
  terms: TermIndex,
  { term, similar }: AskedTerm,
  isLeftOut: (passage: number) => boolean,
): Shares {
  const of = new Map<number, number>();
  let most = 0;
  for (const [name, weight] of [[term, 1] as const, ...similar]) {
    for (const { document } of terms.postings(name)) {
      if (isLeftOut(document)) continue;
      of.set(document, Math.max(of.get(document) ?? 0, weight));
      most = Math.max(most, weight);
    }
  }
  return { of, most };
}

function addNear(
  sums: Float64Array,
  shares: ReadonlyMap<number, number>,
  information: number,
): void {
  const near = new Map<number, number>();
  const lend = (passage: number, share: number): void => {
    if (passage >= 0 && passage < sums.length)
      near.set(passage, Math.min(1, (near.get(passage) ?? 0) + share));
  };
  for (const [passage, share] of shares) {
    lend(passage, share);
    lend(passage + 1, toNext * share);
    lend(passage - 1, toPrevious * share);
  }
  for (const [passage, share] of near) sums[passage] = (sums[passage] ?? 0) + information * share;
}

/** Decides where to put cache marks in a request. A request may have only a few marks, so the most important places get them. */

import type { CacheRule } from "./price-rows.ts";

/** A place that could be marked, and the number of tokens from the start of the request to the end of this place. */
export interface MarkPlace<Place> {
  readonly place: Place;
  readonly prefixTokens: number;
}

/**
 * Chooses the places to mark from a list ordered by importance. New and existing marks together never exceed the provider's
 * maximum. Places before the minimum length that the provider caches are left out. The result is empty if the provider does not
 * use marks.
 */
export function planMarks<Place>(
  places: readonly MarkPlace<Place>[],
  { rule, taken }: { readonly rule: CacheRule; readonly taken: number },
): readonly Place[] {
  if (rule.kind !== "marks") return [];
  return places
    .filter(({ prefixTokens }) => prefixTokens >= rule.minTokens)
    .slice(0, Math.max(0, rule.maxMarks - taken))
    .map(({ place }) => place);
}

/**
 * Plimsoll relies on only this share of the look-back blocks, because the provider may count as two blocks what Plimsoll counts
 * as one.
 */
const reachShare = 0.75;

/**
 * Whether a request needs another mark between its new blocks. From the last mark, the provider looks back over a fixed number of
 * blocks. If the request has more new blocks than that, the provider finds no cache entry.
 */
export function mustMarkBetween(newBlocks: number, rule: CacheRule): boolean {
  return rule.kind === "marks" && newBlocks > rule.lookbackBlocks * reachShare;
}

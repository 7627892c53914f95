/** Decides where to put cache marks in a request. There are few of them, so the places that matter most come first. */

import type { CacheRule } from "./price-rows.ts";

/** A place that could be marked, and the number of tokens from the start of the request to the end of this place. */
export interface MarkPlace<Place> {
  readonly place: Place;
  readonly prefixTokens: number;
}

/**
 * Chooses the places to mark from a list ordered by importance. Together with the marks already set they never exceed the
 * provider's maximum, and none is below the minimum length that the provider caches. Empty if the provider does not use marks.
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

/** Share of the look-back blocks that Plimsoll relies on, because the provider may count one of Plimsoll's blocks as two. */
const reachShare = 0.75;

/**
 * Whether a request needs another mark between its new blocks. From the last mark, the provider looks back over a fixed number
 * of blocks. If there are more new blocks than that, it finds no cache entry.
 */
export function mustMarkBetween(newBlocks: number, rule: CacheRule): boolean {
  return rule.kind === "marks" && newBlocks > rule.lookbackBlocks * reachShare;
}

/** Where a request is marked for the provider's cache: few places, those that a conversation lives by first. */

import type { CacheRule } from "./price-rows.ts";

/** A place that could be marked, and how much stands before its end. */
export interface MarkPlace<Place> {
  readonly place: Place;
  readonly prefixTokens: number;
}

/**
 * The places to mark, of those given in the order of their worth: together with those that are marked already never more than
 * the provider takes, and none below the length from which it caches at all. Nothing where requests are not marked.
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

/** Less than the provider looks back: what we count as one block may be two of its own. */
const reachShare = 0.75;

/** From the last mark on the provider looks back over so many blocks for what it knows: more, and it finds nothing. */
export function mustMarkBetween(newBlocks: number, rule: CacheRule): boolean {
  return rule.kind === "marks" && newBlocks > rule.lookbackBlocks * reachShare;
}

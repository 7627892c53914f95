/** Truncation to a number of tokens: the oldest whole units of the middle go until the rest fits. */

import type { Goal, VisibleConversation } from "../../message/strategy.ts";
import { fixedUnits } from "./fixed-units.ts";
import { rangesOf } from "./ranges.ts";
import type { TruncationRange } from "./truncation-range.ts";

/** What the notice in place of a cut costs, at most. */
const noticeTokens = 80;
/** A step that leaves more than this of the goal's double is not deep enough to be rare. */
const shallow = 1.6;

/**
 * The ranges to take out, in order. Always kept: the system prompt, the first question, the last words of the user,
 * the newest unit, what is pinned, what Plimsoll does not know. The first answer, the thinking with which an open loop
 * began, and what has the highest priority go only when nothing else is left, and only as far as the limit demands.
 */
export function cutToFit(
  conversation: VisibleConversation,
  goal: Goal,
): readonly TruncationRange[] {
  const { units, messages } = conversation;
  const isGone = units.map(() => false);
  const tokensOf = units.map(({ first, last }) =>
    messages.slice(first, last + 1).reduce((sum, { tokens }) => sum + tokens, 0),
  );
  let total = conversation.tokens;
  /** What the request comes to without this unit: a unit between two that are gone takes a notice with it. */
  const without = (index: number): number => {
    const neighbours = [isGone[index - 1], isGone[index + 1]].filter(Boolean).length;
    return total - (tokensOf[index] ?? 0) + noticeTokens * (1 - neighbours);
  };
  const take = (index: number): void => {
    total = without(index);
    isGone[index] = true;
  };
  const { isFixed, isDear, holdsUnknown } = fixedUnits(conversation);
  const oldestFirst = units
    .map((_, index) => index)
    .filter((index) => !isFixed(index) && !holdsUnknown(index));
  for (const index of oldestFirst.filter((unit) => !isDear(unit))) {
    if (total <= goal.tokens) break;
    // One unit more would take too much: what is left without it is a deep step already.
    if (without(index) < goal.floorTokens && total <= goal.tokens * shallow) break;
    take(index);
  }
  for (const index of oldestFirst.filter(isDear)) {
    if (total <= goal.limitTokens) break;
    take(index);
  }
  return rangesWithin(conversation, goal, isGone);
}

/** Ranges that are apart, unless there are so many that their notices no longer fit. */
function rangesWithin(
  conversation: VisibleConversation,
  { limitTokens }: Goal,
  isGone: readonly boolean[],
): readonly TruncationRange[] {
  const ranges = rangesOf(conversation, isGone, "apart");
  const cut = ranges
    .flatMap(({ first, last }) => conversation.messages.slice(first, last + 1))
    .reduce((sum, { tokens }) => sum + tokens, 0);
  const left = conversation.tokens - cut + noticeTokens * ranges.length;
  return left <= limitTokens ? ranges : rangesOf(conversation, isGone, "joined");
}

/** Truncation to a number of tokens: removes the oldest whole units from the middle until the conversation fits. */

import type { Goal, VisibleConversation } from "../../message/strategy.ts";
import { fixedUnits } from "./fixed-units.ts";
import { rangesOf } from "./ranges.ts";
import type { TruncationRange } from "./truncation-range.ts";

/** Upper bound for the tokens of the notice that replaces a cut. */
const noticeTokens = 80;
/**
 * Truncation may stop early once the remaining conversation is at most this many times the goal. A larger conversation would soon
 * overflow again.
 */
const shallow = 1.6;

/**
 * The ranges to remove, in order. These always stay: the system prompt, the first question, the user's last words, the newest
 * unit, pinned messages, and content Plimsoll does not understand. The first answer, the thinking that began an open loop of tool
 * calls, and units of the highest priority are removed last, and only until the request is within the limit.
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
  /** Tokens of the request without this unit. A new gap costs the tokens of one notice. Joining two gaps saves one notice. */
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
    // Removing one more unit would leave too little in the view, and enough is already removed.
    if (without(index) < goal.floorTokens && total <= goal.tokens * shallow) break;
    take(index);
  }
  for (const index of oldestFirst.filter(isDear)) {
    if (total <= goal.limitTokens) break;
    take(index);
  }
  return rangesWithin(conversation, goal, isGone);
}

/** Chooses ranges so that no two user messages become adjacent. If that removes too little, user messages may become adjacent. */
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

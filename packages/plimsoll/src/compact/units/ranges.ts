/** Turns a list of units to remove into ranges of messages, so that the provider accepts the remaining messages. */

import type { VisibleConversation } from "../../message/strategy.ts";
import { sideOf, type TruncationRange } from "./truncation-range.ts";

/**
 * Adjacent units become one range. Where roles must alternate, a cut must not make two messages of the user's side adjacent.
 * "joined" allows this for two user messages, because they can be joined into one.
 */
export function rangesOf(
  conversation: VisibleConversation,
  isGone: readonly boolean[],
  ofUser: "apart" | "joined",
): readonly TruncationRange[] {
  const { units } = conversation;
  const ranges: TruncationRange[] = [];
  for (let index = 0; index < units.length; index++) {
    if (isGone[index] !== true) continue;
    const from = index;
    while (isGone[index + 1] === true) index++;
    const kept = untorn(conversation, { from, until: index }, ofUser);
    const [first, last] = [units[kept?.from ?? -1]?.first, units[kept?.until ?? -1]?.last];
    if (first !== undefined && last !== undefined) ranges.push({ first, last });
  }
  return ranges;
}

interface UnitRange {
  readonly from: number;
  readonly until: number;
}

/**
 * Shrinks the range until the remaining messages are valid. Tries this from the end and from the beginning, and returns the range
 * with more tokens.
 */
function untorn(
  { units, messages, mustAlternate }: VisibleConversation,
  { from, until }: UnitRange,
  ofUser: "apart" | "joined",
): UnitRange | undefined {
  const isOfUser = (index: number): boolean => sideOf(messages[index]?.message.role) === "user";
  /** True if two messages of the user's side would become adjacent. Two user messages may be joined; tool results may not. */
  const isTorn = (start: number, end: number): boolean => {
    const [before, behind] = [(units[start]?.first ?? 0) - 1, (units[end]?.last ?? 0) + 1];
    const isJoined =
      ofUser === "joined" &&
      messages[before]?.message.role === "user" &&
      messages[behind]?.message.role === "user";
    return mustAlternate && isOfUser(before) && isOfUser(behind) && !isJoined;
  };
  const tokens = (start: number, end: number): number =>
    messages
      .slice(units[start]?.first, (units[end]?.last ?? -1) + 1)
      .reduce((sum, message) => sum + message.tokens, 0);
  let end = until;
  while (end >= from && isTorn(from, end)) end--;
  let start = from;
  while (start <= until && isTorn(start, until)) start++;
  const choices = [
    { from, until: end },
    { from: start, until },
  ].filter((choice) => choice.from <= choice.until);
  return choices.sort(
    (left, right) => tokens(right.from, right.until) - tokens(left.from, left.until),
  )[0];
}

/**
 * True if removing the range would make two answers adjacent where roles must alternate. The gap then needs a text in its place.
 */
export function isBetweenAnswers(
  { messages, mustAlternate }: Pick<VisibleConversation, "messages" | "mustAlternate">,
  { first, last }: TruncationRange,
): boolean {
  const isAnswer = (index: number): boolean => messages[index]?.message.role === "assistant";
  return mustAlternate && isAnswer(first - 1) && isAnswer(last + 1);
}

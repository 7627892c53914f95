/** From units that go to ranges that may go: a provider must take what is left. */

import type { VisibleConversation } from "../../message/strategy.ts";
import { sideOf, type TruncationRange } from "./truncation-range.ts";

/**
 * Neighbours that go become one range. Where roles must alternate, a cut puts no two of the user's side together, or
 * only such as can be joined into one message.
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

/** Of the units from one to another, as many as may go: less of the end or less of the beginning, whichever takes more. */
function untorn(
  { units, messages, mustAlternate }: VisibleConversation,
  { from, until }: UnitRange,
  ofUser: "apart" | "joined",
): UnitRange | undefined {
  const isOfUser = (index: number): boolean => sideOf(messages[index]?.message.role) === "user";
  /** Two messages of the user can be joined; results that stand apart cannot. */
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

/** Where roles must alternate, two answers must not meet: there a gap needs a text in its place. */
export function isBetweenAnswers(
  { messages, mustAlternate }: Pick<VisibleConversation, "messages" | "mustAlternate">,
  { first, last }: TruncationRange,
): boolean {
  const isAnswer = (index: number): boolean => messages[index]?.message.role === "assistant";
  return mustAlternate && isAnswer(first - 1) && isAnswer(last + 1);
}

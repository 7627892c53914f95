/** Truncation to a number of tokens: the oldest whole units of the middle go until the rest fits. */

import type { Message, Part } from "../message/message.ts";
import type { Unit } from "../message/unit.ts";
import type { Goal, SeenConversation } from "./strategy.ts";
import { isSpoken, sideOf, type TruncationRange } from "./truncate.ts";

/** What the notice in place of a cut costs, at most. */
const noticeTokens = 80;
/** A step that leaves more than this of the goal's double is not deep enough to be rare. */
const shallow = 1.6;

/**
 * The ranges to take out, in order. Always kept: the system prompt, the first question, the last words of the user,
 * the newest unit, what is pinned. The first answer, the thinking with which an open loop
 * began, and what has the highest priority go only when nothing else is left, and only as far as the limit demands.
 */
export function cutToFit(conversation: SeenConversation, goal: Goal): readonly TruncationRange[] {
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
  const { isFixed, isDear } = fixedUnits(conversation);
  const oldestFirst = units.map((_, index) => index).filter((index) => !isFixed(index));
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
  const ranges = rangesOf(conversation, isGone, "apart");
  const cut = ranges
    .flatMap(({ first, last }) => messages.slice(first, last + 1))
    .reduce((sum, { tokens }) => sum + tokens, 0);
  const left = conversation.tokens - cut + noticeTokens * ranges.length;
  return left <= goal.limitTokens ? ranges : rangesOf(conversation, isGone, "joined");
}

function fixedUnits({ units, messages, mustAlternate }: SeenConversation): {
  readonly isFixed: (index: number) => boolean;
  readonly isDear: (index: number) => boolean;
} {
  const said = (unit: Unit): readonly Message[] =>
    messages.slice(unit.first, unit.last + 1).map(({ message }) => message);
  const firstUser = units.findIndex((unit) => said(unit).some(isSpoken));
  const lastUser = units.findLastIndex((unit) => said(unit).some(isSpoken));
  /** In mid-conversation it stands behind the user and before an answer, and nowhere else. */
  const isInstruction = (index: number): boolean =>
    index > firstUser && messages[units[index]?.first ?? -1]?.message.role === "system";
  const isFixed = (index: number): boolean => {
    const unit = units[index];
    if (unit === undefined || index <= firstUser || index === lastUser) return true;
    if (index === units.length - 1) return true;
    if (mustAlternate && [index - 1, index + 1].some(isInstruction)) return true;
    return messages
      .slice(unit.first, unit.last + 1)
      .some(
        ({ isPinned, mayGiveWay, message }) =>
          (isPinned && mayGiveWay !== true) || isLoadBearing(message),
      );
  };
  // A user who speaks beside results does not end a loop of tool calls.
  const lastQuestion = units.findLastIndex(({ first, last }) =>
    messages
      .slice(first, last + 1)
      .some(({ message }) => isSpoken(message) && !message.parts.some(isResult)),
  );
  /** Providers may want an open loop of tool calls to begin with the thinking that it began with. */
  const isLoopStart = (index: number): boolean =>
    mustAlternate &&
    index === lastQuestion + 1 &&
    startsWithThinking(messages[units[index]?.first ?? -1]?.message);
  const isPinned = (index: number): boolean =>
    messages
      .slice(units[index]?.first, (units[index]?.last ?? -1) + 1)
      .some((message) => message.isPinned);
  const isDear = (index: number): boolean =>
    index === firstUser + 1 ||
    units[index]?.priority === 1 ||
    isLoopStart(index) ||
    isPinned(index);
  return { isFixed, isDear };
}

function isResult({ kind }: Part): boolean {
  return kind === "tool-result";
}

function startsWithThinking(message: Message | undefined): boolean {
  const first = message?.parts[0];
  return (
    first?.kind === "reasoning" || (first?.kind === "opaque" && first.type.includes("thinking"))
  );
}

/** Instructions in mid-conversation, and summaries that the provider itself put in place of what came before. */
function isLoadBearing({ role, parts }: Message): boolean {
  return (
    role === "system" ||
    parts.some((part) => part.kind === "opaque" && part.type.includes("compaction"))
  );
}

/**
 * Neighbours that go become one range. Where roles must alternate, a cut puts no two of the user's side together, or
 * only such as can be joined into one message.
 */
function rangesOf(
  conversation: SeenConversation,
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
  { units, messages, mustAlternate }: SeenConversation,
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

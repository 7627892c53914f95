/** The units that a strategy may remove as a whole. Units of the highest priority are listed separately. */

import type { CountTokens, Goal, VisibleConversation } from "../../message/strategy.ts";
import { fixedUnits } from "./fixed-units.ts";
import { noticeTokens, tokensOf } from "./notices.ts";
import { rangesOf } from "./ranges.ts";
import type { TruncationRange } from "./truncation-range.ts";

export interface MovableUnits {
  /** Indexes of the units of priority 2 and 3, in order. */
  readonly others: readonly number[];
  /** Indexes of the units of priority 1, which are removed last. */
  readonly important: readonly number[];
}

export function movableUnits(conversation: VisibleConversation): MovableUnits {
  const { units, messages } = conversation;
  const { isFixed, isLoopStart, holdsUnknown } = fixedUnits(conversation);
  const movable = units.flatMap(({ first, last }, index) => {
    const isPinned = messages.slice(first, last + 1).some((message) => message.isPinned);
    const mustBeThere = isFixed(index) || isLoopStart(index) || holdsUnknown(index);
    return mustBeThere || isPinned ? [] : [index];
  });
  const isImportant = (index: number): boolean => units[index]?.priority === 1;
  return {
    others: movable.filter((index) => !isImportant(index)),
    important: movable.filter(isImportant),
  };
}

export function unitTokens({ units, messages }: VisibleConversation, index: number): number {
  const unit = units[index];
  return unit === undefined ? 0 : tokensOf(messages.slice(unit.first, unit.last + 1));
}

/**
 * Once the messages that must stay are subtracted from the limit, Plimsoll's own text may take this share of the remaining room.
 */
const textShare = 0.5;

/** The tokens of everything that a strategy may remove, without Plimsoll's own text. */
export function movableTokens(conversation: VisibleConversation): number {
  const { others, important } = movableUnits(conversation);
  return [...others, ...important].reduce((sum, index) => sum + unitTokens(conversation, index), 0);
}

/**
 * Maximum number of tokens for a summary. If the messages that must stay nearly fill the window, the summary has to be short too.
 */
export function roomForText(
  conversation: VisibleConversation,
  { limitTokens }: Pick<Goal, "limitTokens">,
  count: CountTokens,
): number {
  const movable = movableTokens(conversation) + count(conversation.summary ?? "");
  const room = limitTokens - (conversation.tokens - movable);
  return Math.max(0, Math.floor(room * textShare) - noticeTokens);
}

export interface Taking extends Pick<Goal, "tokens">, Partial<Pick<Goal, "floorTokens">> {
  /** Tokens of the text that Plimsoll adds with this step. */
  readonly textTokens: number;
}

/**
 * A step may stop early once the remaining conversation is at most this many times the goal. A larger conversation would soon
 * overflow again.
 */
const shallow = 1.6;

/**
 * Takes units in the given order until the goal is met. Once enough is removed, skips every unit whose removal would leave too
 * little in the view.
 */
export function takenForGoal(
  conversation: VisibleConversation,
  order: readonly number[],
  { tokens, floorTokens = 0, textTokens }: Taking,
): ReadonlySet<number> {
  const taken = new Set<number>();
  let total = conversation.tokens + textTokens;
  for (const index of order) {
    if (total <= tokens) break;
    const rest = total - unitTokens(conversation, index);
    if (rest < floorTokens && total <= tokens * shallow) continue;
    taken.add(index);
    total = rest;
  }
  return taken;
}

export function rangesOfUnits(
  conversation: VisibleConversation,
  taken: ReadonlySet<number>,
): readonly TruncationRange[] {
  const isGone = conversation.units.map((_, index) => taken.has(index));
  return rangesOf(conversation, isGone, "joined");
}

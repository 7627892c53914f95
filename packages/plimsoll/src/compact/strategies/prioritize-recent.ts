/** Keeps the newest units, and older units that are relevant to the task. */

import type {
  CountTokens,
  Goal,
  Proposal,
  Strategy,
  VisibleConversation,
} from "../../message/strategy.ts";
import type { Relevance, RelevanceScale } from "../relevance/relevance.ts";
import {
  movableUnits,
  rangesOfUnits,
  roomForText,
  takenForGoal,
  unitTokens,
} from "../units/movable-units.ts";
import { gapMark, markTokens, noticeTokens, tokensIn } from "../units/notices.ts";
import { noticeWithNames } from "./antecedents.ts";

export interface PrioritizeRecentSettings {
  /** Units with a lower relevance may be removed. */
  readonly rel_threshold?: number | undefined;
  /** Share of the units, counted from the newest, that always stay. */
  readonly recent_bias?: number | undefined;
  /** Multiplies the relevance of units of priority 1. They are removed only if removing other units does not meet the limit. */
  readonly priority_boost?: number | undefined;
  /** How relevance is measured. Default: rank. */
  readonly relevance?: RelevanceScale | undefined;
}

const reason =
  "The conversation did not fit, so old units with little relevance to the task were removed.";

/** Proposes nothing if every unit is relevant. */
export function prioritizeRecent(
  settings: PrioritizeRecentSettings,
  { relevance, count }: { readonly relevance: Relevance; readonly count: CountTokens },
): Strategy {
  return {
    name: "prioritize_recent",
    propose: async (conversation, goal) => {
      if (conversation.tokens <= goal.tokens) return [];
      const scores = await relevance.of(conversation, settings.relevance);
      const taken = unitsToTake(settings, conversation, goal, scores);
      const room = roomForText(conversation, goal, count);
      return removals(conversation, taken, { count, room });
    },
  };
}

function unitsToTake(
  { rel_threshold = 0.5, recent_bias = 0.2, priority_boost = 1.5 }: PrioritizeRecentSettings,
  conversation: VisibleConversation,
  goal: Goal,
  scores: readonly number[],
): ReadonlySet<number> {
  const { others, important } = movableUnits(conversation);
  const recentFrom = conversation.units.length - Math.ceil(conversation.units.length * recent_bias);
  const scoreOf = (index: number): number => {
    const boost = conversation.units[index]?.priority === 1 ? priority_boost : 1;
    return Math.min(1, (scores[index] ?? 0) * boost);
  };
  const leastRelevantFirst = (indexes: readonly number[]): readonly number[] =>
    indexes
      .filter((index) => index < recentFrom && scoreOf(index) < rel_threshold)
      .toSorted((one, other) => scoreOf(one) - scoreOf(other) || one - other);
  const order = leastRelevantFirst(others);
  const taken = takenForGoal(conversation, order, { ...goal, textTokens: noticeTokens });
  const left = [...taken].reduce(
    (sum, index) => sum - unitTokens(conversation, index),
    conversation.tokens + noticeTokens,
  );
  if (left <= goal.limitTokens) return taken;
  return takenForGoal(conversation, [...order, ...leastRelevantFirst(important)], {
    tokens: goal.limitTokens,
    textTokens: noticeTokens,
  });
}

function removals(
  conversation: VisibleConversation,
  taken: ReadonlySet<number>,
  { count, room }: { readonly count: CountTokens; readonly room: number },
): readonly Proposal[] {
  const ranges = rangesOfUnits(conversation, taken);
  const saved = tokensIn(conversation, ranges) - noticeTokens - ranges.length * markTokens;
  if (saved <= 0) return [];
  return [
    noticeWithNames(conversation, ranges, { reason, saved, room, count }),
    ...ranges.map(
      (range): Proposal => ({
        kind: "remove",
        ...range,
        reason,
        handle: "shared",
        textFor: () => gapMark(conversation, range),
      }),
    ),
  ];
}

/** Replaces the least relevant units with placeholders. */

import type {
  CountTokens,
  Goal,
  Proposal,
  Strategy,
  VisibleConversation,
} from "../../message/strategy.ts";
import { documentTexts, type Wording } from "../../text/document-texts.ts";
import { markTexts } from "../../text/for-models.ts";
import { type Relevance, type RelevanceScale, unitText } from "../relevance/relevance.ts";
import { similarityOf } from "../relevance/similarity.ts";
import { summarise } from "../summary/summary.ts";
import { movableUnits, rangesOfUnits, roomForText, takenForGoal } from "../units/movable-units.ts";
import {
  markTokens,
  namedGap,
  noticeTokens,
  sharedNotice,
  summaryBody,
  tokensIn,
} from "../units/notices.ts";
import type { TruncationRange } from "../units/truncation-range.ts";
import { noticeWithNames } from "./antecedents.ts";

export interface DiscardLowRelSettings {
  /** Maximum share of all units to discard. Default: 0.3. */
  readonly discard_percent?: number | undefined;
  /** brief: the placeholder says what was removed. linked: the placeholder also shows its own handle. */
  readonly placeholder_detail?: "brief" | "linked" | undefined;
  /** How relevance is measured. Default: rank. */
  readonly relevance?: RelevanceScale | undefined;
}

/** Minimum similarity between the remaining units and all units. If it is lower, a summary replaces the removed units. */
const leastSimilarity = 0.6;
/** Size of the summary: a share of the removed tokens, with a minimum and a maximum in tokens. */
const summary = { share: 0.1, least: 60, most: 600 };
/** Approximate cost of a placeholder with a handle, in tokens. */
const linkTokens = 40;

const reason =
  "The conversation did not fit, so the units least relevant to the task were removed.";

export interface DiscardLowRelParts {
  readonly relevance: Relevance;
  readonly count: CountTokens;
  readonly texts?: Wording | undefined;
}

export function discardLowRel(
  settings: DiscardLowRelSettings,
  { relevance, count, texts }: DiscardLowRelParts,
): Strategy {
  return {
    name: "discard_low_rel",
    propose: async (conversation, goal) => {
      if (conversation.tokens <= goal.tokens) return [];
      const scores = await relevance.of(conversation, settings.relevance);
      const taken = unitsToTake(settings, conversation, goal, scores);
      const ranges = rangesOfUnits(conversation, taken);
      if (ranges.length === 0) return [];
      const writing = { count, room: roomForText(conversation, goal, count), texts };
      return similarityOfRest(conversation, ranges) < leastSimilarity
        ? summarised(conversation, ranges, writing)
        : placeholders(conversation, ranges, settings.placeholder_detail ?? "brief", writing);
    },
  };
}

/**
 * Takes units of priority 3 first, then of priority 2. Takes units of priority 1 only if no others are left, and only until the
 * limit is met.
 */
function unitsToTake(
  { discard_percent = 0.3 }: DiscardLowRelSettings,
  conversation: VisibleConversation,
  goal: Goal,
  scores: readonly number[],
): ReadonlySet<number> {
  const { units } = conversation;
  const { others, important } = movableUnits(conversation);
  const most = Math.floor(units.length * discard_percent);
  const isForced = others.length === 0 && conversation.tokens > goal.limitTokens;
  const order = (isForced ? important : others).toSorted(
    (one, other) =>
      (units[other]?.priority ?? 2) - (units[one]?.priority ?? 2) ||
      (scores[one] ?? 0) - (scores[other] ?? 0) ||
      one - other,
  );
  const { tokens, floorTokens } = isForced ? { tokens: goal.limitTokens, floorTokens: 0 } : goal;
  return takenForGoal(conversation, order.slice(0, most), {
    tokens,
    floorTokens,
    textTokens: noticeTokens,
  });
}

function similarityOfRest(
  conversation: VisibleConversation,
  ranges: readonly TruncationRange[],
): number {
  const isGone = (message: number): boolean =>
    ranges.some(({ first, last }) => first <= message && message <= last);
  const text = ({ first, last }: { readonly first: number; readonly last: number }): string =>
    unitText(conversation, first, last);
  return similarityOf(
    conversation.units.filter(({ first }) => !isGone(first)).map(text),
    conversation.units.map(text),
  );
}

interface Writing {
  readonly count: CountTokens;
  /** Maximum number of tokens for all of Plimsoll's text. */
  readonly room: number;
  readonly texts: Wording | undefined;
}

function placeholders(
  conversation: VisibleConversation,
  ranges: readonly TruncationRange[],
  detail: "brief" | "linked",
  { count, room, texts }: Writing,
): readonly Proposal[] {
  const isBrief = detail === "brief";
  const least = isBrief ? markTokens : linkTokens;
  const worthwhile = ranges.filter((range) => tokensIn(conversation, [range]) > least);
  const saved = tokensIn(conversation, worthwhile) - worthwhile.length * least;
  if (saved <= (isBrief ? noticeTokens : 0)) return [];
  const placed = worthwhile.map((range): Proposal => {
    const gone = namedGap(conversation.messages.slice(range.first, range.last + 1));
    return {
      kind: "remove",
      ...range,
      reason,
      handle: isBrief ? "shared" : "own",
      textFor: ({ handle }) => {
        if (texts === "documents")
          return isBrief ? documentTexts.omitted : documentTexts.omittedLinked(handle);
        return isBrief ? gone : markTexts.messagesKept(gone, handle);
      },
    };
  });
  if (!isBrief) return placed;
  return [noticeWithNames(conversation, worthwhile, { reason, saved, room, count }), ...placed];
}

function summarised(
  conversation: VisibleConversation,
  ranges: readonly TruncationRange[],
  { count, room }: Writing,
): readonly Proposal[] {
  const size = tokensIn(conversation, ranges);
  const earlier = summaryBody(conversation.summary);
  const wanted = Math.min(summary.most, Math.max(summary.least, size * summary.share), room);
  const { text, tokens } = summarise({
    messages: ranges.flatMap(({ first, last }) => conversation.messages.slice(first, last + 1)),
    tokens: Math.floor(wanted) + (earlier === undefined ? 0 : count(earlier)),
    count,
    ...(earlier === undefined ? {} : { earlier }),
  });
  if (text === "" || tokens + noticeTokens >= size) return [];
  const folded = "A summary replaced the units least relevant to the task.";
  return [
    sharedNotice(conversation, folded, text),
    ...ranges.map(
      (range): Proposal => ({
        kind: "fold",
        ...range,
        reason: folded,
        handle: "shared",
        textFor: () => namedGap(conversation.messages.slice(range.first, range.last + 1)),
      }),
    ),
  ];
}

/** Replaces the oldest units after the head with one summary. */

import { messageText } from "../../message/message.ts";
import type {
  CountTokens,
  Goal,
  Proposal,
  Strategy,
  VisibleConversation,
  VisibleMessage,
} from "../../message/strategy.ts";
import { shareFoundIn } from "../relevance/similarity.ts";
import { parseSummary } from "../summary/format.ts";
import { type SummaryTask, summarise } from "../summary/summary.ts";
import { headLength } from "../units/head.ts";
import {
  type MovableUnits,
  movableUnits,
  rangesOfUnits,
  roomForText,
  takenForGoal,
} from "../units/movable-units.ts";
import {
  gapMark,
  markTokens,
  noticeTokens,
  sharedNotice,
  summaryBody,
  tokensIn,
} from "../units/notices.ts";
import { withAntecedents } from "./antecedents.ts";

export interface SummarizeOldSettings {
  /** Share of all units that are treated as old. The head is never summarised. Default: 0.6. */
  readonly old_threshold?: number | undefined;
  /** Maximum number of tokens in the summary. Default: 300. */
  readonly summary_length?: number | undefined;
}

export interface SummarizeOldParts {
  readonly count: CountTokens;
  /** Writes the summary. Default: Plimsoll's own writer. Contract: the text has at most `tokens` tokens as counted by `count`. */
  readonly summarise?: (task: SummaryTask) => { readonly text: string };
}

/** A summary is not used if its source contains less than this share of its words. */
const leastSimilarity = 0.7;
/** A summary of units of priority 1 may be this many times as long as other summaries. */
const importantFactor = 2;

/** Share of the summary that may list names to which the remaining messages refer. */
const namesShare = 0.3;

const reason = "The conversation did not fit, so a summary replaced its oldest part.";

export function summarizeOld(settings: SummarizeOldSettings, parts: SummarizeOldParts): Strategy {
  return {
    name: "summarize_old",
    estimate: (conversation, goal) => {
      const { taken, tokens } = oldPart(settings, parts, conversation, goal);
      if (taken.size === 0) return undefined;
      return { from: tokensIn(conversation, rangesOfUnits(conversation, taken)), to: tokens };
    },
    propose: (conversation, goal) => {
      if (conversation.tokens <= goal.tokens) return [];
      const { taken, tokens } = oldPart(settings, parts, conversation, goal);
      return folds(conversation, taken, { ...parts, tokens });
    },
  };
}

/** The units to summarise, and the length of the summary. */
function oldPart(
  settings: SummarizeOldSettings,
  { count }: SummarizeOldParts,
  conversation: VisibleConversation,
  goal: Goal,
): { readonly taken: ReadonlySet<number>; readonly tokens: number } {
  const room = roomForText(conversation, goal, count);
  const tokens = Math.min(settings.summary_length ?? 300, room);
  const old = oldUnits(settings, conversation);
  const textTokens = tokens + noticeTokens;
  const others = takenForGoal(conversation, old.others, { ...goal, textTokens });
  if (others.size > 0) return { taken: others, tokens };
  // All old units are important, so only as many are summarised as it takes to meet the limit.
  const length = Math.min(tokens * importantFactor, room);
  const taken = takenForGoal(conversation, old.important, {
    tokens: goal.limitTokens,
    textTokens: length + noticeTokens,
  });
  return { taken, tokens: length };
}

function oldUnits(
  { old_threshold = 0.6 }: SummarizeOldSettings,
  conversation: VisibleConversation,
): MovableUnits {
  const movable = movableUnits(conversation);
  const splitIndex = Math.floor(conversation.units.length * old_threshold);
  const isOld = (index: number): boolean => index < splitIndex;
  return {
    ...movable,
    others: movable.others.filter(isOld),
    important: movable.important.filter(isOld),
  };
}

interface Writing extends SummarizeOldParts {
  readonly tokens: number;
}

function folds(
  conversation: VisibleConversation,
  taken: ReadonlySet<number>,
  writing: Writing,
): readonly Proposal[] {
  const ranges = rangesOfUnits(conversation, taken);
  const size = tokensIn(conversation, ranges) - ranges.length * markTokens - noticeTokens;
  if (size <= 0) return [];
  const messages = ranges.flatMap(({ first, last }) =>
    conversation.messages.slice(first, last + 1),
  );
  const names = Math.floor(Math.min(writing.tokens, size) * namesShare);
  const body = { ...writing, tokens: writing.tokens - names };
  const written = writtenWithin(conversation, messages, body, size - names);
  const isSummary = written.kind === "summary";
  const text = isSummary ? written.text : summaryBody(conversation.summary);
  const named = { body: text, tokens: names, count: writing.count };
  const because = isSummary
    ? reason
    : "The oldest part was removed without a summary, because the summary was not usable.";
  return [
    sharedNotice(conversation, because, withAntecedents(conversation, ranges, named)),
    ...ranges.map(
      (range): Proposal => ({
        kind: isSummary ? "fold" : "remove",
        ...range,
        reason: because,
        handle: "shared",
        // If the first range begins directly after the head, the summary is already in its place.
        textFor: () =>
          isSummary && range.first === headLength(conversation) ? "" : gapMark(conversation, range),
      }),
    ),
  ];
}

/** If the words of a model make the summary unfit, Plimsoll writes it without them. */
function writtenWithin(
  conversation: VisibleConversation,
  messages: readonly VisibleMessage[],
  writing: Writing,
  size: number,
): Written {
  const written = writeSummary(conversation, messages, writing, size);
  const { prepared, ...alone } = conversation;
  return written.kind === "summary" || prepared === undefined
    ? written
    : writeSummary(alone, messages, writing, size);
}

type Written = { readonly kind: "summary"; readonly text: string } | { readonly kind: "unfit" };

/**
 * "unfit": the summary is empty, no smaller than its source, or not faithful to it. An earlier summary is merged into the new one
 * and not summarised again.
 */
function writeSummary(
  { summary, prepared }: VisibleConversation,
  messages: readonly VisibleMessage[],
  { tokens, count, summarise: write = summarise }: Writing,
  size: number,
): Written {
  const earlier = summaryBody(summary);
  const room = size + (earlier === undefined ? 0 : count(earlier));
  const { text } = write({
    messages,
    tokens: Math.min(tokens, room - 1),
    count,
    ...(earlier === undefined ? {} : { earlier }),
    ...(prepared === undefined ? {} : { prepared }),
  });
  const source = [earlier ?? "", ...messages.map(({ message }) => messageText(message))].join("\n");
  const isFit =
    text.trim() !== "" && count(text) < room && shareFoundIn(said(text), source) >= leastSimilarity;
  return isFit ? { kind: "summary", text } : { kind: "unfit" };
}

/** What a summary says. Its headings and the numbers of messages are Plimsoll's own, and no conversation contains them. */
function said(summary: string): string {
  return parseSummary(summary)
    .map(({ text }) => text)
    .join("\n");
}

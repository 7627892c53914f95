/** Texts that several strategies write: the notice after the head, and the marks in place of removed messages. */

import type { Proposal, VisibleConversation, VisibleMessage } from "../../message/strategy.ts";
import { markTexts, shortenedNotice } from "../../text/for-models.ts";
import { splitSummary } from "./handover.ts";
import { headLength } from "./head.ts";
import { isBetweenAnswers } from "./ranges.ts";
import type { TruncationRange } from "./truncation-range.ts";

/** Approximate cost of the notice in tokens. */
export const noticeTokens = 45;
/** Approximate cost of the mark for a removed range, in tokens. */
export const markTokens = 16;
/** A gap of fewer tokens than this gets no mark, unless the provider requires a text in its place. */
const markedGapTokens = 400;

/** Share of the saved tokens that may be used to list names to which the remaining messages still refer. */
const namesShare = 0.03;
const namesMost = 400;

const handles = /pl_[0-9A-Za-z]{22}/g;

/** Maximum number of tokens for the list of names. `room` is the number of tokens for Plimsoll's whole text. */
export function namesRoom(saved: number, room: number): number {
  return Math.min(namesMost, saved * namesShare, room);
}

/**
 * The text after the head that shows the shared handle. If there is no new body, it repeats the earlier summary and replaces the
 * handle in it. The new handle covers everything that earlier handles covered.
 */
export function sharedNotice(
  conversation: VisibleConversation,
  reason: string,
  body?: string,
): Proposal {
  const { summary } = conversation;
  return {
    kind: "summary",
    after: Math.max(0, headLength(conversation) - 1),
    reason,
    textFor: ({ handle }) => {
      const isCarried = body === undefined && summary !== undefined;
      if (isCarried && (handle === "" || summary.search(handles) >= 0))
        return summary.replaceAll(handles, handle);
      return [shortenedNotice(handle), body ?? summary ?? ""].join("\n").trim();
    },
  };
}

/**
 * The text of an earlier summary, without its notice and opening. A story is inside the brackets of its notice. Other summaries,
 * and those of older versions, come after them.
 */
export function summaryBody(summary: string | undefined): string | undefined {
  const { rest, handover } = splitSummary(summary ?? "");
  const later = rest
    .replace(/^\[Plimsoll:[^\n]*[^\]\n]\n([\s\S]*)\]$/, "$1")
    .replace(/^\[Plimsoll:[^\n]*\]\n?/, "")
    .replace(/^(?:Handover\.|Resuming from overflow:)[^\n]*\n?/, "");
  const body = [handover.replace(/^[^\n]*\n?/, ""), later].join("\n").trim();
  return body === "" ? undefined : body;
}

export function gapMark(
  conversation: Pick<VisibleConversation, "messages" | "mustAlternate">,
  range: TruncationRange,
): string {
  const gone = conversation.messages.slice(range.first, range.last + 1);
  const isSmall = tokensOf(gone) < markedGapTokens;
  return isSmall && !isBetweenAnswers(conversation, range) ? "" : namedGap(gone);
}

/** The mark for a gap of any size. */
export function namedGap(gone: readonly VisibleMessage[]): string {
  const [from, to] = [gone[0]?.number, gone.at(-1)?.number];
  return markTexts.messages(gone.length, from, to);
}

export function tokensOf(messages: readonly VisibleMessage[]): number {
  return messages.reduce((sum, { tokens }) => sum + tokens, 0);
}

export function tokensIn(
  { messages }: VisibleConversation,
  ranges: readonly TruncationRange[],
): number {
  return ranges.reduce(
    (sum, { first, last }) => sum + tokensOf(messages.slice(first, last + 1)),
    0,
  );
}

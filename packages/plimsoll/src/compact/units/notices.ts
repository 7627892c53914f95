/** Texts of ours that several strategies write: the notice behind the head, and marks where messages are gone. */

import type { Proposal, VisibleConversation, VisibleMessage } from "../../message/strategy.ts";
import { markTexts, shortenedNotice } from "../../text/for-models.ts";
import { headLength } from "./head.ts";
import { isBetweenAnswers } from "./ranges.ts";
import type { TruncationRange } from "./truncation-range.ts";

/** What the notice costs, about. */
export const noticeTokens = 45;
/** What the mark of a range that is gone costs, about. */
export const markTokens = 16;
/** A gap of less than this goes without a mark. */
const markedGapTokens = 400;

/** Of what is saved, for the names that what stays refers to. */
const namesShare = 0.03;
const namesMost = 400;

const handles = /pl_[0-9A-Za-z]{22}/g;

/** `room` is for all of the text. */
export function namesRoom(saved: number, room: number): number {
  return Math.min(namesMost, saved * namesShare, room);
}

/**
 * The text behind the head that shows the shared handle. What it said before it still says, unless there is a new
 * body: the newest handle covers everything that earlier ones did.
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

/** What an earlier summary says, without the notice and the opening around it. */
export function summaryBody(summary: string | undefined): string | undefined {
  const body = (summary ?? "")
    .replace(/^\[Plimsoll:[^\n]*\]\n?/, "")
    .replace(/^Handover\.[^\n]*\n?/, "")
    .trim();
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

/** Also where little is gone. */
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

/**
 * Finds names that the remaining messages use but that only a removed message introduced, and adds them to Plimsoll's text after
 * the head.
 */

import { messageText } from "../../message/message.ts";
import type { CountTokens, Proposal, VisibleConversation } from "../../message/strategy.ts";
import { type MentionKind, mentionsIn } from "../../search/mentions.ts";
import { formatSummary, type Item, parseSummary, type Section } from "../summary/format.ts";
import { headLength } from "../units/head.ts";
import { namesRoom, sharedNotice, summaryBody } from "../units/notices.ts";
import type { TruncationRange } from "../units/truncation-range.ts";

/** The section that lists each kind of name. Numbers are not listed, because a number without its line means nothing. */
const sections: Readonly<Partial<Record<MentionKind, Section>>> = {
  path: "Files",
  file: "Files",
  url: "Files",
  name: "Numbers",
  id: "Numbers",
};

export interface NamesTask {
  /** The existing or the new summary, or undefined if there is neither. */
  readonly body: string | undefined;
  /** Maximum number of tokens for the names. */
  readonly tokens: number;
  readonly count: CountTokens;
}

/**
 * Adds the names to the body, beginning with those that the remaining messages use most. Undefined if the result would be empty.
 */
export function withAntecedents(
  conversation: VisibleConversation,
  gone: readonly TruncationRange[],
  { body, tokens, count }: NamesTask,
): string | undefined {
  const items: Item[] = [];
  let left = tokens;
  for (const { name, kind } of antecedents(conversation, gone)) {
    const section = sections[kind];
    const cost = count(` \`${name}\``) + (items.some((one) => one.section === section) ? 0 : 6);
    if (section === undefined || cost > left || body?.includes(name) === true) continue;
    left -= cost;
    items.push({ section, text: name, isData: true });
  }
  if (items.length === 0) return body;
  return formatSummary([...parseSummary(body ?? ""), ...items]);
}

/** Plimsoll's text after the head if messages are removed without a summary: the earlier summary and the names. */
export function noticeWithNames(
  conversation: VisibleConversation,
  gone: readonly TruncationRange[],
  { reason, saved, room, count }: NoticeTask,
): Proposal {
  const body = summaryBody(conversation.summary);
  const names = { body, tokens: namesRoom(saved, room - count(body ?? "")), count };
  return sharedNotice(conversation, reason, withAntecedents(conversation, gone, names));
}

export interface NoticeTask {
  readonly reason: string;
  /** Number of tokens that are removed. */
  readonly saved: number;
  /** Maximum number of tokens for all of Plimsoll's text. */
  readonly room: number;
  readonly count: CountTokens;
}

interface Name {
  readonly name: string;
  readonly kind: MentionKind;
}

function antecedents(
  conversation: VisibleConversation,
  gone: readonly TruncationRange[],
): readonly Name[] {
  const isGone = new Uint8Array(conversation.messages.length);
  for (const { first, last } of gone) isGone.fill(1, first, last + 1);
  const head = headLength(conversation);
  const state = new Map<string, { kind: MentionKind; isVisible: boolean; references: number }>();
  for (const [index, { message }] of conversation.messages.entries()) {
    for (const [name, kind] of mentionsIn(messageText(message))) {
      const known = state.get(name);
      const isVisible = isGone[index] !== 1 || index < head;
      if (known === undefined) state.set(name, { kind, isVisible, references: 0 });
      else if (isVisible) known.references++;
    }
  }
  return [...state]
    .filter(([, { isVisible, references }]) => !isVisible && references > 0)
    .toSorted(([, one], [, other]) => other.references - one.references)
    .map(([name, { kind }]) => ({ name, kind }));
}

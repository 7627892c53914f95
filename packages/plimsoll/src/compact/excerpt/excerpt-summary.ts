/** Writes Plimsoll's text after the head of an excerpt: the notice, missing names, and a few lines of summary. */

import type { VisibleConversation } from "../../message/strategy.ts";
import { type Fact, readEvidence } from "../evidence/evidence.ts";
import { isTalk } from "../relevance/task.ts";
import { formatSummary } from "../summary/format.ts";
import { itemOf, summariseEvidence } from "../summary/summary.ts";
import { summaryBody } from "../units/notices.ts";
import type { Scales } from "./exact-cost.ts";
import type { Choice } from "./greedy-choice.ts";
import { estimateTokens } from "./long-lines.ts";
import type { Room } from "./must-keep.ts";
import { digestText, type Notice, noticeFor } from "./notice-text.ts";
import type { RenderedChoice } from "./render-choice.ts";
import type { Slots } from "./texts-to-cut.ts";
import { missingRules, rulesOf, rulesTokens } from "./user-rules.ts";

/** Share of the excerpt's token budget that may be used to list important names that the view no longer mentions. */
const digestShare = 0.02;
/**
 * If the excerpt may have at least this many tokens, Plimsoll's text also lists names that the view mentions but no longer
 * introduces.
 */
const roomForNames = 4000;
const danglingShare = 0.01;

/** The tokens that are kept free for Plimsoll's text before any pieces are chosen. */
export interface Reserve {
  readonly notice: Notice;
  /** All rules of the user. */
  readonly rules: readonly Fact[];
  /** Tokens for the lines of summary. */
  readonly summary: number;
  /** Tokens for the whole text. */
  readonly tokens: number;
}

/** `mandatory` is the view with only the pieces that must stay. */
export function reserveFor(
  conversation: VisibleConversation,
  room: Room,
  mandatory: RenderedChoice,
): Reserve {
  const notice = noticeFor(room.tokens, conversation.hasArchive);
  const rules = rulesOf(conversation, room.headLength);
  const ruled = rulesTokens(missingRules(rules, mandatory, room.tokens));
  const summary = summaryRoom(conversation, room) + ruled;
  const names = room.tokens < roomForNames || isTalk(conversation) ? 0 : danglingShare;
  const tokens = notice.tokens + room.tokens * (digestShare + names) + summary;
  return { notice, rules, summary, tokens };
}

export interface SummaryTask {
  readonly conversation: VisibleConversation;
  readonly slots: Slots;
  readonly room: Room;
  readonly reserve: Reserve;
  /** All available tokens: the reserve, plus the tokens that are left after the lines were chosen. */
  readonly tokens: number;
}

export async function writeSummary(
  scales: Scales,
  choice: Choice,
  rendered: RenderedChoice,
  task: SummaryTask,
): Promise<string> {
  const { conversation, slots, room, tokens } = task;
  const { notice } = task.reserve;
  // Without an archive there is no handle to show, so the notice may be left out if there is no room for it.
  if (!conversation.hasArchive && tokens < notice.tokens) return "";
  const isMentioned = (atom: number): boolean => choice.isMentioned(atom);
  const dangling = room.tokens < roomForNames ? [] : danglingIn(choice, slots);
  const body = summaryLines(task, rendered);
  for (const size of sizesFrom(tokens - estimateTokens(body), notice.tokens)) {
    const text = above(
      body,
      digestText(notice, slots.mentionWeights, { isMentioned, dangling }, size),
    );
    if ((await scales.weighText(text)) <= tokens) return text;
  }
  const bare = digestText(notice, slots.mentionWeights, { isMentioned, dangling: [] }, 0);
  const text = above(body, bare);
  return (await scales.weighText(text)) <= tokens ? text : bare;
}

const above = (body: string, digest: string): string => [digest, body].join("\n").trim();

/** Decreasing sizes, each about a tenth smaller than the size before it. */
function* sizesFrom(most: number, least: number): Generator<number> {
  for (let size = most; size > least; size = Math.floor(size * 0.9) - 2) yield size;
}

function summaryLines(
  { conversation, room, reserve }: SummaryTask,
  rendered: RenderedChoice,
): string {
  const { rules, summary: tokens } = reserve;
  if (tokens === 0) return "";
  const first = missingRules(rules, rendered, room.tokens);
  return summaryOf(conversation, rendered, { room, tokens, first });
}

/** Mentions that are still visible, but no longer in the first message that contained them. */
function danglingIn(choice: Choice, { slots, mentionWeights }: Slots): readonly number[] {
  const first = new Map<number, number>();
  const rendered = new Map<number, number>();
  for (const [index, { place, mentions }] of slots.entries())
    for (const [piece, atoms] of mentions.entries()) {
      const isKept = choice.isKept(index, piece);
      for (const atom of atoms) note(isKept ? [first, rendered] : [first], atom, place.message);
    }
  return [...rendered]
    .filter(([atom, message]) => (first.get(atom) ?? message) < message)
    .map(([atom]) => atom)
    .filter((atom) => (mentionWeights.weights[atom] ?? 0) > 0);
}

/** Records the message for this mention, unless an earlier message is already recorded for it. */
function note(lists: readonly Map<number, number>[], atom: number, message: number): void {
  for (const list of lists) if (!list.has(atom)) list.set(atom, message);
}

/**
 * Size of the summary of content that the excerpt no longer shows. If the excerpt may have fewer than `least` tokens, there is a
 * summary only if an earlier summary exists. `prepared` is the maximum share of the excerpt's token budget for a summary that a
 * model prepared.
 */
const summaryShare = { least: 8000, ofRoom: 0.02, most: 600, prepared: 0.15 };

function summaryRoom(
  { prepared, summary, messages }: VisibleConversation,
  { tokens }: Room,
): number {
  if (prepared !== undefined)
    return Math.min(estimateTokens(prepared) * 1.2, tokens * summaryShare.prepared);
  const isCarried = summaryBody(summary) !== undefined;
  if ((tokens < summaryShare.least || isTalk({ messages })) && !isCarried) return 0;
  return Math.min(summaryShare.most, tokens * summaryShare.ofRoom);
}

interface SummaryLines {
  readonly room: Room;
  readonly tokens: number;
  /** Rules that the view no longer contains. They come first in the summary. */
  readonly first: readonly Fact[];
}

/**
 * The summary that a model prepared, if there is one. Otherwise, a summary of the messages that were shortened or removed, merged
 * with the earlier summary.
 */
function summaryOf(
  conversation: VisibleConversation,
  { messages }: RenderedChoice,
  { room, tokens, first }: SummaryLines,
): string {
  const { prepared, summary } = conversation;
  if (prepared !== undefined) return prepared;
  if (summaryRoom(conversation, room) === 0) return formatSummary(first.map(itemOf));
  const cut = conversation.messages.filter((_, index) => {
    const rendered = messages.get(index);
    return index >= room.headLength && (rendered === undefined || rendered.changes.length > 0);
  });
  const earlier = summaryBody(summary);
  const evidence = readEvidence(
    cut.map(({ message, number, original }) => ({
      message: original?.message ?? message,
      number,
    })),
  );
  return summariseEvidence({
    evidence,
    tokens: Math.floor(tokens),
    count: estimateTokens,
    first,
    ...(earlier === undefined ? {} : { earlier }),
  }).text;
}

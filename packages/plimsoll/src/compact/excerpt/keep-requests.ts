/** Keeps the user's words and the agent's closing words for them, and finds the requests that the story quotes instead. */

import type { VisibleConversation } from "../../message/strategy.ts";
import { isTalk } from "../relevance/task.ts";
import { type Request, requestsIn } from "../story/requests.ts";
import { fixedUnits } from "../units/fixed-units.ts";
import type { PieceName } from "./choice-task.ts";
import {
  isBrief,
  keepMandatorySlot,
  mandatoryTokens,
  type Room,
  type StrictRoom,
  tokensOf,
} from "./excerpt-room.ts";
import type { Choice } from "./greedy-choice.ts";
import { renderPieces } from "./text-pieces.ts";
import type { PlacedSlot, Slots } from "./texts-to-cut.ts";

/** The user's last message stays whole if it takes at most this share of the excerpt's token budget. */
const lastWords = 0.5;
/** The user's last message stays whole in any case if it has at most this many characters. */
const shortestLastWords = 2000;
/** If the user's last message does not stay whole, its beginning and its end get this share of the room. */
const newestRequest = 0.3;
/** Share of the free tokens that the outcomes of kept requests may take. */
const outcomesShare = 0.3;

/**
 * Keeps the agent's closing words next to each request that stays, newest first, as long as there is room. So no request looks as
 * if nobody had answered it. These are picks: if the excerpt gets too large, they can be taken back.
 */
export function keepOutcomes(
  choice: Choice,
  { units }: VisibleConversation,
  { headLength }: Room,
  left: number,
): void {
  let free = left * outcomesShare;
  for (let unit = units.length - 1; unit >= 0; unit--) {
    if ((units[unit]?.first ?? 0) < headLength || !choice.isOpen(unit)) continue;
    free -= choice.keepOutcome(unit, free);
  }
}

/** A request that the story quotes, and what was kept of it before. */
export interface QuotedRequest {
  readonly message: number;
  /** The words to quote: all of them, or the beginning of a very long request. */
  readonly words: string;
  readonly unit: number;
  readonly pieces: readonly PieceName[];
}

/**
 * Takes the requests out whose outcome did not fit. The story quotes them instead, and says that they were answered. As messages,
 * they would look as if they were still open.
 */
export function quoteUnanswered(
  choice: Choice,
  conversation: VisibleConversation,
  { slots }: Slots,
  { headLength }: Room,
): readonly QuotedRequest[] {
  const { units, messages } = conversation;
  if (isTalk(conversation)) return [];
  const { isFixed } = fixedUnits(conversation);
  const quoted: QuotedRequest[] = [];
  for (const request of requestsIn(conversation, headLength)) {
    const { message } = request;
    const unit = units.findIndex(({ first, last }) => first <= message && message <= last);
    if (isOpen(request) || isFixed(unit) || !choice.isOpen(unit)) continue;
    if (request.isLeftOut !== true && choice.hasOutcome(unit)) continue;
    if (messages[message]?.isPinned === true) continue;
    const words = keptWords(choice, slots, { message, reference: `#${messages[message]?.number}` });
    quoted.push({ message, unit, words, pieces: choice.close(unit) });
  }
  return quoted;
}

function isOpen({ outcome, isLeftOut, isWaiting }: Request): boolean {
  return (outcome === undefined && isLeftOut !== true) || isWaiting === true;
}

/** The user's words in a message, as far as they are kept. */
function keptWords(
  choice: Choice,
  slots: readonly PlacedSlot[],
  { message, reference }: { readonly message: number; readonly reference: string },
): string {
  return slots
    .flatMap(({ textPieces, place, voice }, slot) => {
      const isKept = (piece: number): boolean => choice.isKept(slot, piece);
      const isOwn = place.message === message && voice === "user";
      return isOwn ? renderPieces(textPieces, { isKept, reference }) : [];
    })
    .join("\n");
}

export interface UsersTask {
  readonly slots: readonly PlacedSlot[];
  readonly room: StrictRoom;
  readonly open: (message: number) => readonly number[];
  readonly share: number;
  /** The slots of a message that contain the user's words. */
  readonly own: (message: number) => readonly number[];
}

/**
 * Keeps the user's own words, newest first, up to their share of the excerpt's token budget. The newest user message always
 * stays.
 */
export function keepUsers(
  choice: Choice,
  conversation: VisibleConversation,
  task: UsersTask,
): void {
  const { slots, room, open, share } = task;
  let taken = 0;
  let count = 0;
  for (const { message, own, words } of userMessages(conversation, task)) {
    taken += 4 + own.reduce((sum, slot) => sum + mandatoryTokens(slots[slot], room), 0);
    if (count > 0 && taken > room.tokens * share) return;
    open(message);
    if (count === 0 && words.length <= shortAnswer && !isBrief(room))
      keepQuestion(choice, conversation, task, message);
    if (count === 0) keepNewestRequest(choice, { slots, room, own, words });
    else for (const slot of own) keepMandatorySlot(choice, slots, slot, room);
    count++;
  }
}

/** A message of the user of at most this many characters, such as "Yes, please!", says nothing without the question before it. */
const shortAnswer = 40;
/** Tokens of the agent's message before a short answer that stay: its end, where the question is. */
const question = { tokens: 60, ofRoom: 0.08 };

function keepQuestion(
  choice: Choice,
  { messages }: VisibleConversation,
  { slots, room, open }: UsersTask,
  answer: number,
): void {
  if (messages[answer - 1]?.message.role !== "assistant" || answer - 1 < room.headLength) return;
  const last = open(answer - 1)
    .filter((slot) => slots[slot]?.voice === "agent")
    .at(-1);
  if (last === undefined) return;
  let left = Math.min(question.tokens, room.tokens * question.ofRoom);
  const { pieces } = slots[last]?.textPieces ?? { pieces: [] };
  for (let piece = pieces.length - 1; piece >= 0 && left > 0; piece--) {
    choice.keep(last, piece);
    left -= pieces[piece]?.tokens ?? 0;
  }
}

interface NewestRequest extends Pick<UsersTask, "slots" | "room"> {
  readonly own: readonly number[];
  readonly words: string;
}

/** The newest request stays whole if it can. A long request often ends with what the user wants, so otherwise its end stays too. */
function keepNewestRequest(choice: Choice, { slots, room, own, words }: NewestRequest): void {
  const tokens = own.reduce((sum, slot) => sum + tokensOf(slots[slot]), 0);
  const isWhole = words.length <= shortestLastWords || tokens <= room.tokens * lastWords;
  for (const slot of own)
    if (isWhole) choice.keepWhole(slot);
    else {
      keepMandatorySlot(choice, slots, slot, room);
      choice.keepAtLeast(slot, room.tokens * newestRequest);
    }
}

/** The user's messages, newest first. A message that a harness sends repeatedly occurs only once. */
function* userMessages(
  { messages }: VisibleConversation,
  { slots, room, own: wordsOf }: UsersTask,
): Generator<{
  readonly message: number;
  readonly own: readonly number[];
  readonly words: string;
}> {
  const earlierWords = new Set<string>();
  for (let message = messages.length - 1; message >= room.headLength; message--) {
    if (messages[message]?.message.role !== "user") continue;
    const own = wordsOf(message);
    const words = own.map((slot) => slots[slot]?.textPieces.text.trim()).join("\n");
    if (words.trim() === "" || earlierWords.has(words)) continue;
    earlierWords.add(words);
    yield { message, own, words };
  }
}

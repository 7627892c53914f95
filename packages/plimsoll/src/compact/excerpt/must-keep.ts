/** The pieces that an excerpt always keeps: newest exchanges, the user's own words, pinned messages, units of priority 1. */

import type { VisibleConversation } from "../../message/strategy.ts";
import { isTalk } from "../relevance/task.ts";
import { requestsIn } from "../story/requests.ts";
import { fixedUnits } from "../units/fixed-units.ts";
import type { Choice, PieceName } from "./greedy-choice.ts";
import { renderPieces } from "./text-pieces.ts";
import { type PlacedSlot, type Slots, unitIndex } from "./texts-to-cut.ts";

/**
 * "usual" keeps pieces generously. "modest" keeps no more of the newest exchanges than of other recent ones, and "least" keeps only
 * the minimum. Each is used if the pieces that must stay and the story do not fit with the one before.
 */
export const strictnesses = ["usual", "modest", "least"] as const;
export type Strictness = (typeof strictnesses)[number];

/** The newest exchanges stay up to a share of the history or a share of the excerpt's token budget, whichever is smaller. */
const recent = { ofHistory: 0.105, ofRoom: 0.42 };
/**
 * Exchanges at the very end stay whole up to this share of the excerpt's token budget, so that the end of the conversation is
 * coherent.
 */
const wholeTail = 0.25;
const usersShare = { usual: 0.31, modest: 0.31, least: 0.3 };
const importantShare = 0.85;
/** The user's last message stays whole if it takes at most this share of the excerpt's token budget. */
const lastWords = 0.5;
/** The user's last message stays whole in any case if it has at most this many characters. */
const shortestLastWords = 2000;
/** If the user's last message does not stay whole, its beginning and its end get this share of the room. */
const newestRequest = 0.3;
/** Only the beginning of a text is kept if the text exceeds one of these limits. */
const oversized = { tokens: 400, ofRoom: 0.2 };
/** Number of characters that are kept of the beginning of an oversized text. */
const beginning = 210;
const charactersPerToken = 5;
/**
 * At least this much of a recent result stays: a share of the result or of the excerpt's token budget, whichever is smaller, plus
 * a few tokens.
 */
const resultFloor = {
  usual: { ofResult: 0.45, ofRoom: 0.1, tokens: 8 },
  modest: { ofResult: 0.4, ofRoom: 0.09, tokens: 4 },
  least: { ofResult: 0.4, ofRoom: 0.09, tokens: 4 },
};
/** Number of newest exchanges whose call arguments stay as they are. */
const exactExchanges = 10;

type StrictRoom = Room & { readonly strictness: Strictness };

export interface Room {
  /** Maximum number of tokens for everything after the head. */
  readonly tokens: number;
  /** Tokens of the whole history, and of the part that the view shows now. */
  readonly historyTokens: number;
  readonly nowTokens: number;
  readonly headLength: number;
}

/** If the excerpt may have fewer tokens than this, the notice and the marks are brief. */
const roomForWords = 600;

export function isBrief({ tokens }: Room): boolean {
  return tokens < roomForWords;
}

/**
 * Shares for a conversation without tools. The user's messages have no share of their own there, because all messages are
 * somebody's words and compete on equal terms.
 */
const talk = { recentOfRoom: 0.15, wholeTail: 0.15, users: 0 };

/**
 * Index of the first message whose call arguments stay as they are. The newest exchanges are counted twice, once among all
 * exchanges and once among exchanges with calls, and the earlier start is used.
 */
export function exactCallsFrom({ messages }: VisibleConversation, { headLength }: Room): number {
  const starts = exchangeStarts(messages, headLength);
  const calling = starts.filter((index) =>
    messages[index]?.message.parts.some(({ kind }) => kind === "tool-call"),
  );
  const from = [starts, calling].map((list) => list.at(-exactExchanges) ?? list[0]);
  return Math.min(...from.map((index) => index ?? messages.length));
}

export function oversizedTokens({ tokens }: Room): number {
  return tokens * oversized.ofRoom;
}

/** Here, an exchange begins with each message of the model. If the model has said nothing, every message is an exchange. */
function exchangeStarts(
  messages: VisibleConversation["messages"],
  headLength: number,
): readonly number[] {
  const isModel = (index: number): boolean => messages[index]?.message.role === "assistant";
  const history = [...messages.keys()].slice(headLength);
  if (!history.some(isModel)) return history;
  return history.filter((index) => isModel(index) || index === headLength);
}

/** Keeps the pieces that must stay. The remaining room is filled later, with the pieces that are worth most. */
export function keepMandatory(
  choice: Choice,
  conversation: VisibleConversation,
  { slots, units }: Slots,
  room: StrictRoom,
): void {
  const isOnlyTalk = isTalk(conversation);
  const unitOf = unitIndex(conversation);
  const byMessage = new Map<number, number[]>();
  for (const [index, { place }] of slots.entries())
    byMessage.set(place.message, [...(byMessage.get(place.message) ?? []), index]);
  const open = (message: number): readonly number[] => {
    const unit = unitOf[message] ?? -1;
    if (choice.isTooLarge(unit)) return [];
    choice.open(unit);
    return byMessage.get(message) ?? [];
  };
  const share = isOnlyTalk ? talk.users : usersShare[room.strictness];
  const own = (message: number): readonly number[] =>
    (byMessage.get(message) ?? []).filter((slot) => slots[slot]?.voice === "user");
  keepUsers(choice, conversation, { slots, room, open, share, own });
  const ofRoom = isOnlyTalk ? talk.recentOfRoom : recent.ofRoom;
  const whole = isOnlyTalk ? talk.wholeTail : wholeTail;
  keepNewest(choice, conversation, { slots, room, open, ofRoom, whole });
  keepImportant(choice, conversation, { slots, units, room });
}

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
  for (const { message, outcome, isLeftOut = false } of requestsIn(conversation, headLength)) {
    const unit = units.findIndex(({ first, last }) => first <= message && message <= last);
    const isOpen = outcome === undefined && !isLeftOut;
    if (isOpen || isFixed(unit) || !choice.isOpen(unit)) continue;
    if ((!isLeftOut && choice.hasOutcome(unit)) || messages[message]?.isPinned === true) continue;
    const words = slots
      .flatMap(({ textPieces, place, voice }, slot) =>
        place.message === message && voice === "user"
          ? renderPieces(textPieces, {
              isKept: (piece) => choice.isKept(slot, piece),
              reference: `#${messages[message]?.number}`,
            })
          : [],
      )
      .join("\n");
    quoted.push({ message, unit, words, pieces: choice.close(unit) });
  }
  return quoted;
}

interface NewestTask {
  readonly slots: readonly PlacedSlot[];
  readonly room: StrictRoom;
  readonly open: (message: number) => readonly number[];
  /** Share of the excerpt's token budget for the newest exchanges. */
  readonly ofRoom: number;
  /** Share of the budget for exchanges that stay whole. */
  readonly whole: number;
}

/** Keeps the newest exchanges. The exchanges at the very end stay whole. */
function keepNewest(
  choice: Choice,
  conversation: VisibleConversation,
  { slots, room, open, ofRoom, whole }: NewestTask,
): void {
  const end = conversation.messages.length;
  const recentFrom = startOfRecent(conversation, room, { ...recent, ofRoom });
  for (let message = recentFrom; message < end; message++)
    for (const slot of open(message)) keepRecent(choice, slots, slot, room);
  if (room.strictness !== "usual") return;
  // The story and the outcomes of requests come before more of the newest results.
  const reserve = isBrief(room) ? 0 : room.tokens * storyReserve;
  const left = (): number => Math.max(0, room.tokens - reserve - choice.tokens);
  if (!isBrief(room))
    keepNewestResults(choice, conversation, { slots, room, open, tokens: left() });
  const ofRoomLeft = Math.min(whole, left() / room.tokens);
  const tail = startOfRecent(conversation, room, { ofHistory: 1, ofRoom: ofRoomLeft }, 0);
  for (let message = tail; message < end; message++)
    for (const slot of open(message)) choice.keepWhole(slot);
}

/** Share of the room that stays free for the story. */
const storyReserve = 0.2;

interface NewestResultsTask extends Pick<NewestTask, "slots" | "room" | "open"> {
  /** Maximum number of tokens. */
  readonly tokens: number;
}

/**
 * The model has not answered the newest results yet, so it needs as much of them as possible. They stay whole up to one share of the
 * room; of larger ones, the other share stays.
 */
const newestResults = { whole: 0.5, part: 0.35 };

function keepNewestResults(
  choice: Choice,
  { messages }: VisibleConversation,
  { slots, room, open, tokens: most }: NewestResultsTask,
): void {
  const from = messages.findLastIndex(({ message }) => message.role === "assistant");
  const results = [...messages.keys()]
    .filter((message) => message > from)
    .flatMap((message) => open(message))
    .filter((slot) => slots[slot]?.voice === "result");
  const tokens = results.reduce((sum, slot) => sum + tokensOf(slots[slot]), 0);
  const isWhole = tokens <= Math.min(room.tokens * newestResults.whole, most);
  const part = Math.min(room.tokens * newestResults.part, most) / results.length;
  for (const slot of results)
    if (isWhole) choice.keepWhole(slot);
    else choice.keepAtLeast(slot, part);
}

function startOfRecent(
  { messages }: VisibleConversation,
  { headLength, historyTokens, tokens }: Room,
  share: { readonly ofHistory: number; readonly ofRoom: number },
  least = 1,
): number {
  const limit = Math.min(historyTokens * share.ofHistory, tokens * share.ofRoom);
  const starts = exchangeStarts(messages, headLength);
  let from = messages.length;
  let taken = 0;
  for (const [count, start] of starts.toReversed().entries()) {
    for (let index = start; index < from; index++) {
      const visible = messages[index];
      taken += visible?.original?.tokens ?? visible?.tokens ?? 0;
    }
    if (count >= least && taken > limit) break;
    from = start;
  }
  return from;
}

interface UsersTask {
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
function keepUsers(choice: Choice, conversation: VisibleConversation, task: UsersTask): void {
  const { slots, room, open, share } = task;
  let taken = 0;
  let count = 0;
  for (const { message, own, words } of userMessages(conversation, task)) {
    taken += 4 + own.reduce((sum, slot) => sum + mandatoryTokens(slots[slot], room), 0);
    if (count > 0 && taken > room.tokens * share) return;
    open(message);
    if (count === 0) keepNewestRequest(choice, { slots, room, own, words });
    else for (const slot of own) keepMandatorySlot(choice, slots, slot, room);
    count++;
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

function keepRecent(
  choice: Choice,
  slots: readonly PlacedSlot[],
  index: number,
  room: StrictRoom,
): void {
  const slot = slots[index];
  if (slot === undefined || slot.isExact) return;
  if (slot.voice === "agent" || slot.voice === "user") {
    keepMandatorySlot(choice, slots, index, room);
    return;
  }
  const { ofResult, ofRoom, tokens } = resultFloor[room.strictness];
  choice.keepAtLeast(index, Math.min(tokensOf(slot) * ofResult, room.tokens * ofRoom) + tokens);
}

/**
 * The estimated size of a text may be wrong. If a text is close to the limit, it is kept whole but counted as if it were cut.
 * `least` has no margin, because a margin could overfill the room.
 */
const margins = {
  usual: { kept: 1.1, counted: 0.9 },
  modest: { kept: 1.1, counted: 0.9 },
  least: { kept: 1, counted: 1 },
};

function isOversized(slot: PlacedSlot | undefined, room: Room, margin: number): boolean {
  const tokens = tokensOf(slot);
  const limit = Math.min(oversized.tokens, room.tokens * oversized.ofRoom);
  return tokens > limit * margin;
}

function mandatoryTokens(slot: PlacedSlot | undefined, room: StrictRoom): number {
  const tokens = tokensOf(slot);
  return isOversized(slot, room, margins[room.strictness].counted)
    ? Math.min(tokens, beginning / charactersPerToken)
    : tokens;
}

/** Keeps a text whole, or only its beginning if it is long. */
function keepMandatorySlot(
  choice: Choice,
  slots: readonly PlacedSlot[],
  index: number,
  room: StrictRoom,
): void {
  const slot = slots[index];
  if (slot === undefined) return;
  const isCut = isOversized(slot, room, margins[room.strictness].kept);
  let characters = 0;
  for (const [piece, { text }] of slot.textPieces.pieces.entries()) {
    if (isCut && characters >= beginning) return;
    choice.keep(index, piece);
    characters += text.length + 1;
  }
}

function tokensOf(slot: PlacedSlot | undefined): number {
  return (slot?.textPieces.pieces ?? []).reduce((sum, { tokens }) => sum + tokens, 0);
}

interface ImportantTask extends Pick<Slots, "slots" | "units"> {
  readonly room: Room;
}

/**
 * Keeps units of priority 1 whole, newest first, as long as they leave room for other units. The remaining units of priority 1
 * compete like everything else. Pinned messages always stay whole, unless `mayGiveWay` is set.
 */
function keepImportant(
  choice: Choice,
  conversation: VisibleConversation,
  task: ImportantTask,
): void {
  const { slots, units, room } = task;
  let taken = 0;
  for (let unit = conversation.units.length - 1; unit >= 0; unit--) {
    const { first, priority } = conversation.units[unit] ?? { first: 0, priority: 2 };
    const visible = conversation.messages.slice(first, (conversation.units[unit]?.last ?? -1) + 1);
    const hasPinned = visible.some(({ isPinned }) => isPinned);
    const isPinned = visible.some((one) => one.isPinned && one.mayGiveWay !== true);
    if (first < room.headLength || (priority !== 1 && !hasPinned)) continue;
    const own = units[unit]?.slots ?? [];
    taken += own.reduce((sum, slot) => sum + tokensOf(slots[slot]), units[unit]?.frameTokens ?? 0);
    if (!isPinned && taken > room.tokens * importantShare) continue;
    choice.open(unit);
    for (const slot of own) choice.keepWhole(slot);
  }
}

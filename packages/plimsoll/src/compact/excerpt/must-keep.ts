/** What an excerpt keeps whatever it weighs: the newest exchanges, the user's own words, what has the highest priority. */

import type { VisibleConversation } from "../../message/strategy.ts";
import { isTalk } from "../relevance/task.ts";
import type { Choice } from "./greedy-choice.ts";
import { type PlacedSlot, type Slots, unitIndex } from "./texts-to-cut.ts";

/** usual: with a margin. least: only what must be, for a room that the usual duties would overfill. */
export type Strictness = "usual" | "least";

/** Shares of the room that is left beside the head. */
const recent = { ofHistory: 0.105, ofRoom: 0.42 };
/** Newest exchanges that stay whole beyond their duty, for coherence. */
const wholeTail = { usual: 0.15, least: 0 };
const usersShare = { usual: 0.31, least: 0.3 };
const importantShare = 0.85;
/** The user's last words stay whole up to this. */
const lastWords = 0.5;
/** … and up to so many characters whatever the room. */
const shortestLastWords = 2000;
/** One text of more than this is cut to its beginning … */
const oversized = { tokens: 400, ofRoom: 0.2 };
/** … of so many characters. */
const beginning = 210;
const charactersPerToken = 5;
/** Of a recent result at least this much stays, though never more than this of the room is asked for. */
const resultFloor = {
  usual: { ofResult: 0.45, ofRoom: 0.1, tokens: 8 },
  least: { ofResult: 0.4, ofRoom: 0.09, tokens: 4 },
};
/** Arguments of this many newest exchanges stay as they are. */
const exactExchanges = 10;

type StrictRoom = Room & { readonly strictness: Strictness };

export interface Room {
  /** Tokens for everything behind the head. */
  readonly tokens: number;
  /** What there is to say in it, and what the view says of it now. */
  readonly historyTokens: number;
  readonly nowTokens: number;
  readonly headLength: number;
}

/** Without tools a conversation is talk: every turn is somebody's words, and they compete on equal terms. */
const talk = { recentOfRoom: 0.15, users: 0 };

/** With calls or without: whichever way they are counted, it is not one of the newest. */
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

/** An exchange here: a message of the model, and everything up to the next one. Where no model speaks, each message. */
function exchangeStarts(
  messages: VisibleConversation["messages"],
  headLength: number,
): readonly number[] {
  const isModel = (index: number): boolean => messages[index]?.message.role === "assistant";
  const history = [...messages.keys()].slice(headLength);
  if (!history.some(isModel)) return history;
  return history.filter((index) => isModel(index) || index === headLength);
}

/** Keeps what must be kept; the rest of the room is for what is worth it. */
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
    choice.open(unitOf[message] ?? -1);
    return byMessage.get(message) ?? [];
  };
  const share = isOnlyTalk ? talk.users : usersShare[room.strictness];
  const own = (message: number): readonly number[] =>
    (byMessage.get(message) ?? []).filter((slot) => slots[slot]?.voice === "user");
  keepUsers(choice, conversation, { slots, room, open, share, own });
  const ofRoom = isOnlyTalk ? talk.recentOfRoom : recent.ofRoom;
  keepNewest(choice, conversation, { slots, room, open, ofRoom });
  keepImportant(choice, conversation, { slots, units, room });
}

interface NewestTask {
  readonly slots: readonly PlacedSlot[];
  readonly room: StrictRoom;
  readonly open: (message: number) => readonly number[];
  /** Share of the room for the newest exchanges. */
  readonly ofRoom: number;
}

/** The newest exchanges as far as it is their duty, and the very newest whole. */
function keepNewest(
  choice: Choice,
  conversation: VisibleConversation,
  { slots, room, open, ofRoom }: NewestTask,
): void {
  const end = conversation.messages.length;
  const recentFrom = startOfRecent(conversation, room, { ...recent, ofRoom });
  for (let message = recentFrom; message < end; message++)
    for (const slot of open(message)) keepRecent(choice, slots, slot, room);
  const whole = { ofHistory: 1, ofRoom: wholeTail[room.strictness] };
  for (let message = startOfRecent(conversation, room, whole, 0); message < end; message++)
    for (const slot of open(message)) choice.keepWhole(slot);
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
  /** The slots of a message in which the user speaks. */
  readonly own: (message: number) => readonly number[];
}

/** The user's own words, newest first, as far as their share of the room goes; the newest always. */
function keepUsers(choice: Choice, conversation: VisibleConversation, task: UsersTask): void {
  const { slots, room, open, share } = task;
  let taken = 0;
  let count = 0;
  for (const { message, own, words } of userMessages(conversation, task)) {
    taken += 4 + own.reduce((sum, slot) => sum + mandatoryTokens(slots[slot], room), 0);
    if (count > 0 && taken > room.tokens * share) return;
    const tokens = own.reduce((sum, slot) => sum + tokensOf(slots[slot]), 0);
    const isLast =
      count === 0 && (words.length <= shortestLastWords || tokens <= room.tokens * lastWords);
    count++;
    open(message);
    for (const slot of own)
      if (isLast) choice.keepWhole(slot);
      else keepMandatorySlot(choice, slots, slot, room);
  }
}

/** What the user said, newest first; the same words, as from a harness that repeats itself, once. */
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

/** For the estimate of a text, which may be off: when in doubt a text is kept whole, and counted as if it were cut … */
const margins = { usual: { kept: 1.1, counted: 0.9 }, least: { kept: 1, counted: 1 } };

/** … but not where that would overfill the room. */
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

/** A text whole, or its beginning if it is long. */
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

/** What has priority 1 stays whole, newest first, while it leaves room for others; then it is chosen from like the rest. */
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

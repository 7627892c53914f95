/** The pieces that an excerpt always keeps: newest exchanges, the user's own words, pinned messages, units of priority 1. */

import type { VisibleConversation } from "../../message/strategy.ts";
import type { Unit } from "../../message/unit.ts";
import { isTalk } from "../relevance/task.ts";
import type { Act } from "../story/acts.ts";
import {
  isBrief,
  keepMandatorySlot,
  type Room,
  type StrictRoom,
  storyReserve,
  tokensOf,
} from "./excerpt-room.ts";
import type { Choice } from "./greedy-choice.ts";
import { keepUsers } from "./keep-requests.ts";
import { type PlacedSlot, type Slots, unitIndex } from "./texts-to-cut.ts";

/** The newest exchanges stay up to this share of the history, or up to `ofRoom`, whichever is less. */
const recentOfHistory = 0.105;
/**
 * Shares of the excerpt's token budget. `ofRoom`: for the newest exchanges. `whole`: for exchanges at the very end that stay whole,
 * so that the end of the conversation is coherent.
 */
const work = { ofRoom: 0.42, whole: 0.25 };
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

/**
 * Shares for a conversation without tools. The user's messages have no share of their own there, because all messages are
 * somebody's words and compete on equal terms.
 */
const talk = { ofRoom: 0.15, whole: 0.15, users: 0 };

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

/** Share of the excerpt's token budget for the user's own words. */
const usersShare = { usual: 0.31, modest: 0.31, least: 0.3 };

export interface MandatoryTask extends Pick<Slots, "slots" | "units"> {
  readonly room: StrictRoom;
  /** What the agent did. */
  readonly acts: readonly Act[];
}

/** Keeps the pieces that must stay. The remaining room is filled later, with the pieces that are worth most. */
export function keepMandatory(
  choice: Choice,
  conversation: VisibleConversation,
  task: MandatoryTask,
): void {
  const { room } = task;
  const isOnlyTalk = isTalk(conversation);
  const own = slotsByMessage(choice, conversation, task);
  const newest = { ...task, ...own, ...(isOnlyTalk ? talk : work) };
  keepUsers(choice, conversation, {
    ...newest,
    share: isOnlyTalk ? talk.users : usersShare[room.strictness],
  });
  keepNewest(choice, conversation, newest);
  keepImportant(choice, conversation, task);
  if (room.strictness !== "usual") return;
  const hasTrail = !isOnlyTalk && !isBrief(room);
  if (hasTrail) keepTrail(choice, conversation, newest, trailShares.beforeResults);
  keepEnd(choice, conversation, newest);
  if (hasTrail) keepTrail(choice, conversation, newest, trailShares.afterResults);
}

interface SlotsByMessage {
  /** Keeps the unit of a message, unless it is too large, and returns the slots of the message. */
  readonly open: (message: number) => readonly number[];
  /** The slots of a message that contain the user's words. */
  readonly own: (message: number) => readonly number[];
}

function slotsByMessage(
  choice: Choice,
  conversation: VisibleConversation,
  { slots }: MandatoryTask,
): SlotsByMessage {
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
  const own = (message: number): readonly number[] =>
    (byMessage.get(message) ?? []).filter((slot) => slots[slot]?.voice === "user");
  return { open, own };
}

/**
 * The trail may fill the room up to these shares, before the newest results are kept and after that. The rest is for the lines of
 * results that are worth most, and for the story.
 */
const trailShares = { beforeResults: 0.5, afterResults: 0.65 };
/** The trail takes no more than this share of the history, so that a large room is not only for the newest part. */
const trailOfHistory = 0.2;
/** A longer message of the agent is not kept whole for the trail. The newest message may be longer than the others. */
const trailWords = { newest: 0.35, other: 0.25 };
/** Of a longer message, the beginning and the end stay: this share of the room. The end says what the agent decided. */
const longWords = 0.1;
/** Number of newest steps whose calls keep long arguments whole. */
const wholeCalls = 3;

interface TrailTask extends Pick<NewestTask, "slots" | "room" | "open"> {
  readonly units: Slots["units"];
}

/**
 * Keeps what the agent said and did, newest first, with no more of the results than must stay. So a model can follow the way to
 * the newest state, and does not repeat steps.
 */
function keepTrail(
  choice: Choice,
  conversation: VisibleConversation,
  task: TrailTask,
  share: number,
): void {
  const { room } = task;
  const most = Math.min(room.tokens * share, room.historyTokens * trailOfHistory);
  const steps = [...conversation.units.keys()]
    .filter((unit) => isStep(conversation, unit, room))
    .toReversed();
  for (const [back, unit] of steps.entries()) {
    const longest = room.tokens * trailWords[back === 0 ? "newest" : "other"];
    const message = conversation.units[unit]?.first ?? 0;
    const hasWholeCalls = back < wholeCalls;
    const kept = keepStep(choice, message, { ...task, unit, most, longest, hasWholeCalls });
    if (kept === "full") return;
  }
}

/** Whether the agent said or did something in this unit. */
function isStep(
  { messages, units }: VisibleConversation,
  unit: number,
  { headLength }: Room,
): boolean {
  const { first = 0, last = -1 } = units[unit] ?? {};
  const isAgent = messages
    .slice(first, last + 1)
    .some(({ message }) => message.role === "assistant");
  return first >= headLength && isAgent;
}

interface StepTask extends TrailTask {
  readonly unit: number;
  /** Maximum number of tokens of everything that is kept. */
  readonly most: number;
  /** Maximum number of tokens of words that are kept whole. */
  readonly longest: number;
  /** Whether long arguments of calls count as words, such as a plan. */
  readonly hasWholeCalls: boolean;
}

function keepStep(choice: Choice, message: number, task: StepTask): "kept" | "full" {
  const { slots, units, unit, room, most, longest, hasWholeCalls } = task;
  const words = (units[unit]?.slots ?? []).filter((slot) => {
    const voice = slots[slot]?.voice;
    return voice === "agent" || (hasWholeCalls && voice === "call");
  });
  const isLong = words.some((slot) => tokensOf(slots[slot]) > longest);
  const tokens = isLong ? 0 : words.reduce((sum, slot) => sum + choice.missing(slot), 0);
  const frame = choice.isOpen(unit) ? 0 : (units[unit]?.frameTokens ?? 0);
  if (choice.tokens + frame + tokens > most) return "full";
  task.open(message);
  for (const slot of words)
    if (isLong) choice.keepAtLeast(slot, room.tokens * longWords);
    else choice.keepWhole(slot);
  return "kept";
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

/** Keeps the newest exchanges, and as much of their results as must stay. */
function keepNewest(
  choice: Choice,
  conversation: VisibleConversation,
  { slots, room, open, ofRoom }: NewestTask,
): void {
  const from = startOfRecent(conversation, room, { ofHistory: recentOfHistory, ofRoom });
  for (let message = from; message < conversation.messages.length; message++)
    for (const slot of open(message)) keepRecent(choice, slots, slot, room);
}

/** Keeps the newest results, and the exchanges at the very end, whole if there is room. */
function keepEnd(
  choice: Choice,
  conversation: VisibleConversation,
  { slots, room, open, whole }: NewestTask,
): void {
  const left = (): number => Math.max(0, room.tokens * (1 - storyReserve(room)) - choice.tokens);
  if (!isBrief(room))
    keepNewestResults(choice, conversation, { slots, room, open, tokens: left() });
  const ofRoom = Math.min(whole, left() / room.tokens);
  const from = startOfRecent(conversation, room, { ofHistory: 1, ofRoom }, 0);
  for (let message = from; message < conversation.messages.length; message++)
    for (const slot of open(message)) choice.keepWhole(slot);
}

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

/** Units of priority 1 stay as long as no more than this share of the room is filled. The story gets the rest. */
function mostImportant(room: Room): number {
  return Math.min(0.85, 1 - storyReserve(room));
}

/**
 * Keeps units of priority 1 whole, newest first, as long as they leave room for other units. Of several units about the same file,
 * such as a plan that the agent writes again and again, only the newest does. The remaining units of priority 1 compete like
 * everything else. Pinned messages always stay whole, unless `mayGiveWay` is set.
 */
function keepImportant(
  choice: Choice,
  conversation: VisibleConversation,
  task: MandatoryTask,
): void {
  const { units, room, acts } = task;
  const newer = new Set<string>();
  const important = [...conversation.units.keys()].filter((unit) =>
    isImportant(conversation, unit, room),
  );
  for (const unit of important.toReversed()) {
    const files = filesIn(acts, conversation.units[unit]);
    const isOld = files.some((file) => newer.has(file));
    for (const file of files) newer.add(file);
    const tokens = choice.tokens + unitTokens(task, unit);
    const isFull = tokens > room.tokens * mostImportant(room);
    if ((isOld || isFull) && !mustStay(conversation, unit)) continue;
    choice.open(unit);
    for (const slot of units[unit]?.slots ?? []) choice.keepWhole(slot);
  }
}

function unitTokens({ slots, units }: MandatoryTask, unit: number): number {
  const { slots: own = [], frameTokens = 0 } = units[unit] ?? {};
  return own.reduce((sum, slot) => sum + tokensOf(slots[slot]), frameTokens);
}

function isImportant(
  { messages, units }: VisibleConversation,
  unit: number,
  { headLength }: Room,
): boolean {
  const { first = 0, last = -1, priority = 2 } = units[unit] ?? {};
  const hasPinned = messages.slice(first, last + 1).some(({ isPinned }) => isPinned);
  return first >= headLength && (priority === 1 || hasPinned);
}

function mustStay({ messages, units }: VisibleConversation, unit: number): boolean {
  const { first = 0, last = -1 } = units[unit] ?? {};
  return messages.slice(first, last + 1).some((one) => one.isPinned && one.mayGiveWay !== true);
}

/** The files that the calls of a unit read or wrote. */
function filesIn(acts: readonly Act[], unit: Unit | undefined): readonly string[] {
  return acts
    .filter(({ message }) => unit !== undefined && unit.first <= message && message <= unit.last)
    .flatMap(({ deed: { verb, object } }) => (verb === "read" || isWriting(verb) ? [object] : []));
}

function isWriting(verb: string): boolean {
  return verb === "wrote" || verb === "edited" || verb === "updated";
}

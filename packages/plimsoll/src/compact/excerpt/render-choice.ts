/** Turns the chosen pieces into shortened messages and removed ranges, as the model would see them. */

import type { Message, Part } from "../../message/message.ts";
import type { VisibleConversation, VisibleMessage } from "../../message/strategy.ts";
import { cutTexts, markTexts } from "../../text/for-models.ts";
import { isTalk } from "../relevance/task.ts";
import {
  type Act,
  happeningIn,
  happeningLengths,
  lastHappening,
  reportLengths,
} from "../story/acts.ts";
import type { LaterChange } from "../story/changed-later.ts";
import { fixedUnits } from "../units/fixed-units.ts";
import { headLength } from "../units/head.ts";
import { isBetweenAnswers, rangesOf } from "../units/ranges.ts";
import type { TruncationRange } from "../units/truncation-range.ts";
import type { Choice } from "./greedy-choice.ts";
import type { Piece } from "./json-pieces.ts";
import { estimateTokens } from "./long-lines.ts";
import type { SlotPlace } from "./placed-text.ts";
import { renderPieces } from "./text-pieces.ts";
import type { PlacedSlot, Slots } from "./texts-to-cut.ts";

/** In a talk without tools, a gap of fewer tokens than this has no message of its own. The next message begins with a mark. */
const shortTalkGap = 1000;

/** The messages that change or are removed. Does not include Plimsoll's text after the head. */
export interface RenderedChoice {
  readonly messages: ReadonlyMap<number, RenderedMessage>;
  readonly gone: readonly GoneRange[];
}

export interface GoneRange extends TruncationRange {
  /** What is shown in its place. It may be empty. */
  readonly text: string;
}

export interface RenderedMessage {
  readonly message: Message;
  readonly changes: readonly Change[];
}

export interface Change {
  readonly part: number;
  readonly inner?: number;
  readonly text: string;
}

export function render(
  choice: Choice,
  conversation: VisibleConversation,
  { slots }: Slots,
  words: RangeWords,
): RenderedChoice {
  const gone = withWords(goneRanges(choice, conversation), conversation, words);
  const isGone = new Uint8Array(conversation.messages.length);
  for (const { first, last } of gone) isGone.fill(1, first, last + 1);
  const changed = changedTexts(choice, conversation, slots, (message) => isGone[message] === 1);
  for (const { last, text } of gone) if (text === "") markBeginning(last + 1, changed, slots);
  const messages = new Map<number, RenderedMessage>();
  for (let index = headLength(conversation); index < conversation.messages.length; index++) {
    const visible = conversation.messages[index];
    if (visible !== undefined && isGone[index] !== 1)
      messages.set(index, shortened(visible, changed.get(index) ?? []));
  }
  return { messages, gone };
}

/** The texts that differ from the original, by message. */
function changedTexts(
  choice: Choice,
  { messages }: VisibleConversation,
  slots: Slots["slots"],
  isGone: (message: number) => boolean,
): Map<number, Shortened[]> {
  const changed = new Map<number, Shortened[]>();
  for (const [index, slot] of slots.entries()) {
    const { place, textPieces } = slot;
    const visible = messages[place.message];
    if (visible === undefined || isGone(place.message)) continue;
    const text = renderSlot(slot, visible, (piece) => choice.isKept(index, piece));
    if (text === textPieces.text) continue;
    const own = changed.get(place.message) ?? [];
    changed.set(place.message, own);
    own.push({ place, text });
  }
  return changed;
}

/** Begins a message with a mark, because nothing else says that messages before it are left out. */
function markBeginning(
  message: number,
  changed: Map<number, Shortened[]>,
  slots: Slots["slots"],
): void {
  const own = changed.get(message) ?? [];
  const [first] = own;
  const slot = slots.find(({ place }) => place.message === message);
  if (first !== undefined) own[0] = { ...first, text: cutTexts.afterGap(first.text) };
  else if (slot !== undefined && !slot.isFixed)
    changed.set(message, [{ place: slot.place, text: cutTexts.afterGap(slot.textPieces.text) }]);
}

function renderSlot(
  { textPieces, isExact, place, least, later }: PlacedSlot,
  visible: VisibleMessage,
  isKept: (piece: number) => boolean,
): string {
  if (isExact) return textPieces.text;
  const { pieces } = textPieces;
  const isAnyKept = pieces.some((_, piece) => isKept(piece));
  const { parts } = visible.original?.message ?? visible.message;
  // The call says what the agent did. So the words before it may be left out without a mark.
  const isBeforeCall =
    parts[place.part]?.kind === "text" &&
    parts.slice(place.part + 1).some(({ kind }) => kind === "tool-call");
  if (isBeforeCall && !isAnyKept) return "";
  // A message may have to stay although none of its pieces was chosen, for example because roles must alternate. It keeps a few words.
  const staying = least.length > 0 ? least : [firstTelling(pieces)];
  return renderPieces(textPieces, {
    isKept: isAnyKept ? isKept : (piece) => staying.includes(piece),
    reference: referenceTo(visible, later),
    isArgument: place.argument !== undefined,
  });
}

function referenceTo({ number }: VisibleMessage, later: LaterChange | undefined): string {
  return later === undefined ? `#${number}` : cutTexts.changedLater(`#${number}`, later.number);
}

function firstTelling(pieces: readonly Piece[]): number {
  return Math.max(
    0,
    pieces.findIndex(({ text }) => /[\p{L}\p{N}]/u.test(text)),
  );
}

interface Shortened {
  readonly place: SlotPlace;
  readonly text: string;
}

function shortened(visible: VisibleMessage, texts: readonly Shortened[]): RenderedMessage {
  const { message } = visible.original ?? visible;
  const changes = new Map<string, Change>();
  // From the last one to the first, so that a change in the arguments of a call does not move the places of the others.
  for (const { place, text } of texts.toReversed()) {
    const { part, inner, argument } = place;
    const key = `${part}.${inner ?? ""}`;
    const source = message.parts[part];
    if (source?.kind !== "tool-call" || argument === undefined) {
      changes.set(key, { part, ...(inner === undefined ? {} : { inner }), text });
      continue;
    }
    const input = changes.get(key)?.text ?? source.input;
    const [start, end] = argument;
    changes.set(key, {
      part,
      text: `${input.slice(0, start)}${JSON.stringify(text)}${input.slice(end)}`,
    });
  }
  const all = [...changes.values()].toReversed();
  return { message: all.length === 0 ? message : changed(message, all), changes: all };
}

function changed({ role, parts }: Message, changes: readonly Change[]): Message {
  const textAt = (part: number, inner?: number): string | undefined =>
    changes.find((change) => change.part === part && change.inner === inner)?.text;
  return {
    role,
    parts: parts.flatMap((part, index): readonly Part[] => {
      const text = textAt(index);
      // A part without words is left out of the message.
      if (part.kind === "text") return text === "" ? [] : [{ ...part, text: text ?? part.text }];
      if (part.kind === "tool-call") return [{ ...part, input: text ?? part.input }];
      if (part.kind !== "tool-result") return [part];
      const content = part.content.map((inner, at) =>
        inner.kind === "text" ? { ...inner, text: textAt(index, at) ?? inner.text } : inner,
      );
      return [{ ...part, content }];
    }),
  };
}

function goneRanges(choice: Choice, conversation: VisibleConversation): readonly TruncationRange[] {
  const { isFixed, isLoopStart, holdsUnknown } = fixedUnits(conversation);
  const isGone = conversation.units.map(
    (_, unit) =>
      choice.isTooLarge(unit) ||
      (!choice.isOpen(unit) && !isFixed(unit) && !isLoopStart(unit) && !holdsUnknown(unit)),
  );
  return rangesOf(conversation, isGone, "joined");
}

export interface RangeWords {
  readonly acts: readonly Act[];
  /** Maximum number of tokens for all sentences about ranges that are left out. */
  readonly tokens: number;
  /** Maximum number of tokens for the newest call, if it is left out. */
  readonly newest: number;
  /** If there is little room, the marks are short. */
  readonly isBrief: boolean;
}

/** Ranges say what happened in them, as long as there is room: first those in which the agent changed something, then large ones. */
function withWords(
  ranges: readonly TruncationRange[],
  conversation: VisibleConversation,
  { acts, tokens, newest, isBrief }: RangeWords,
): readonly GoneRange[] {
  const sized = ranges.map((range) => ({ range, size: tokensIn(conversation, range) }));
  const texts = new Map<TruncationRange, string>();
  const room: RangeRoom = { left: tokens, brief: isBrief ? 0 : tokens * briefShare, newest };
  const byWorth = sized.toSorted(
    (one, other) =>
      Number(hasEffect(other.range, acts)) - Number(hasEffect(one.range, acts)) ||
      other.size - one.size,
  );
  const least = isTalk(conversation) ? shortTalkGap : 0;
  for (const { range, size } of byWorth) {
    const what = wordsFor(conversation, range, { acts, room });
    const isMarked = what !== "" || size >= least || isBetweenAnswers(conversation, range);
    if (isMarked)
      texts.set(
        range,
        what === "" && isBrief
          ? shortMark(conversation, range)
          : rangeText(conversation, range, what),
      );
  }
  return ranges.map((range) => ({ ...range, text: texts.get(range) ?? "" }));
}

/** Tokens that are left for sentences about ranges, for shorter ones when the first are used up, and for the newest call. */
interface RangeRoom {
  readonly newest: number;
  left: number;
  brief: number;
}

/** What happened in a range, in as many words as there is room for. The newest call comes first. */
function wordsFor(
  { messages }: VisibleConversation,
  range: TruncationRange,
  { acts, room }: { readonly acts: readonly Act[]; readonly room: RangeRoom },
): string {
  const own = acts.filter(({ message }) => range.first <= message && message <= range.last);
  if (own.length === 0) return "";
  if (range.last === messages.length - 1) {
    const texts = reportLengths.map((longest) => lastHappening(own, longest));
    return texts.find((text) => costOf(text) <= room.newest) ?? "";
  }
  const [long = "", short = ""] = happeningLengths.map((longest) => happeningIn(own, longest));
  if (costOf(long) <= room.left) {
    room.left -= costOf(long);
    return long;
  }
  if (costOf(short) > room.brief) return "";
  room.brief -= costOf(short);
  return short;
}

/** With the numbers of the messages, and the message around it. */
function costOf(what: string): number {
  return what === "" ? Number.POSITIVE_INFINITY : estimateTokens(what) + markTokens;
}

const markTokens = 16;
/** When the sentences have used up their room, shorter ones may take this share of it. */
const briefShare = 0.5;

function hasEffect({ first, last }: TruncationRange, acts: readonly Act[]): boolean {
  return acts.some(({ message, deed }) => deed.isEffect && first <= message && message <= last);
}

/**
 * The numbers of all messages that are missing here. An earlier compaction may have left out the messages next to the range; the
 * new mark replaces its mark.
 */
function missingNumbers(
  { messages }: VisibleConversation,
  { first, last }: TruncationRange,
): readonly [from: number | undefined, to: number | undefined] {
  const [before, behind] = [messages[first - 1], messages[last + 1]];
  const joinsBefore = messages[first]?.isAfterGap === true && before !== undefined;
  const joinsBehind = behind?.isAfterGap === true;
  return [
    joinsBefore ? before.number + 1 : messages[first]?.number,
    joinsBehind ? behind.number - 1 : messages[last]?.number,
  ];
}

function shortMark(conversation: VisibleConversation, range: TruncationRange): string {
  return markTexts.shortGap(...missingNumbers(conversation, range));
}

function rangeText(
  conversation: VisibleConversation,
  range: TruncationRange,
  what: string,
): string {
  return markTexts.leftOutMessages(...missingNumbers(conversation, range), what);
}

function tokensIn({ messages }: VisibleConversation, { first, last }: TruncationRange): number {
  return messages
    .slice(first, last + 1)
    .reduce((sum, { tokens, original }) => sum + (original?.tokens ?? tokens), 0);
}

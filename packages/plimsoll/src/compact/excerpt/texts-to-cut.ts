/** Finds every text that may be shortened (a slot), cuts it into pieces, and finds the mentions in the pieces. */

import { isObject, type JsonObject, type JsonValue, parseObject } from "../../message/json.ts";
import type { Message, Part, ToolCallPart } from "../../message/message.ts";
import type { VisibleConversation, VisibleMessage } from "../../message/strategy.ts";
import type { ChoiceUnit, Slot } from "./greedy-choice.ts";
import { estimateTokens } from "./long-lines.ts";
import {
  type MentionWeights,
  readMentionWeights,
  type Utterance,
  type Voice,
} from "./mention-weights.ts";
import { readPieces, type TextPieces } from "./text-pieces.ts";

/** The position of a text. */
export interface SlotPlace {
  readonly message: number;
  readonly part: number;
  /** Index of the part inside a tool result. */
  readonly inner?: number;
  /** Path to the text inside the arguments of a call. */
  readonly path?: readonly (string | number)[];
  /** Set if the text is the whole arguments of a call, as JSON. */
  readonly isInput?: true;
}

export interface PlacedSlot extends Slot {
  readonly place: SlotPlace;
  readonly voice: Voice;
}

export interface Slots {
  readonly slots: readonly PlacedSlot[];
  readonly units: readonly ChoiceUnit[];
  readonly mentionWeights: MentionWeights;
}

export interface SlotReading {
  /** Number of messages in the head. They stay as they are. */
  readonly headLength: number;
  /** Index of the first message whose calls keep their arguments, unless these take more than `oversizedTokens`. */
  readonly exactFrom: number;
  /** Even a recent call does not keep its arguments if they take more tokens than this. */
  readonly oversizedTokens: number;
}

/** A string in the arguments of a call stays if it has at most this many characters, because it shows what the call did. */
const shortestCut = 200;
const messageTokens = 4;
/** A text of at most this many tokens is not worth replacing with a mark. */
const shortestText = 10;
/** An estimate may be off by this factor. */
const surely = 1.2;

export function readSlots(conversation: VisibleConversation, reading: SlotReading): Slots {
  const texts = conversation.messages.flatMap((visible, index) => textsOf(visible, index, reading));
  const { utterances, spans } = utterancesOf(texts);
  const startOf = [0];
  for (const { tokens, original } of conversation.messages)
    startOf.push((startOf.at(-1) ?? 0) + (original?.tokens ?? tokens));
  const mentionWeights = readMentionWeights(utterances, {
    startOf,
    headLength: reading.headLength,
  });
  const unitOf = unitIndex(conversation);
  const slots = texts.map(
    ({ isExact, ...text }, index): PlacedSlot => ({
      ...text,
      isExact,
      unit: unitOf[text.place.message] ?? -1,
      mentions: mentionWeights.mentions.slice(...(spans[index] ?? [0, 0])),
    }),
  );
  return { slots, mentionWeights, units: unitsOf(conversation, slots) };
}

/**
 * The pieces of all texts in one list, each piece with the frames around it. A span is the part of this list that belongs to one
 * text.
 */
function utterancesOf(texts: readonly PlacedText[]): {
  readonly utterances: readonly Utterance[];
  readonly spans: readonly (readonly [number, number])[];
} {
  const utterances: Utterance[] = [];
  const spans: (readonly [number, number])[] = [];
  for (const { textPieces, place, voice } of texts) {
    const from = utterances.length;
    for (const { text, frames } of textPieces.pieces) {
      const around = frames.map((frame) => frame.text).join(" ");
      utterances.push({
        message: place.message,
        voice,
        text: around === "" ? text : `${text}\n${around}`,
      });
    }
    spans.push([from, utterances.length]);
  }
  return { utterances, spans };
}

/** For each message, the index of its unit, or -1 if it belongs to no unit. */
export function unitIndex({ units, messages }: VisibleConversation): readonly number[] {
  const of = messages.map(() => -1);
  for (const [unit, { first, last }] of units.entries()) of.fill(unit, first, last + 1);
  return of;
}

function unitsOf(
  conversation: VisibleConversation,
  slots: readonly PlacedSlot[],
): readonly ChoiceUnit[] {
  const own = conversation.units.map((): number[] => []);
  const inSlots = conversation.messages.map(() => 0);
  for (const [index, { unit, textPieces, place }] of slots.entries()) {
    own[unit]?.push(index);
    const tokens = textPieces.pieces.reduce((sum, piece) => sum + piece.tokens, 0);
    inSlots[place.message] = (inSlots[place.message] ?? 0) + tokens;
  }
  return conversation.units.map(({ first, last }, unit) => ({
    slots: own[unit] ?? [],
    frameTokens: conversation.messages
      .slice(first, last + 1)
      .reduce((sum, { tokens, original }, offset) => {
        const rest = (original?.tokens ?? tokens) - (inSlots[first + offset] ?? 0);
        return sum + Math.max(messageTokens, rest);
      }, 0),
  }));
}

interface PlacedText {
  readonly place: SlotPlace;
  readonly voice: Voice;
  readonly textPieces: TextPieces;
  readonly isExact: boolean;
}

function textsOf(
  visible: VisibleMessage,
  index: number,
  reading: SlotReading,
): readonly PlacedText[] {
  const { message, tokens } = visible.original ?? visible;
  const raw = message.parts.reduce((sum, part) => sum + partEstimate(part), 0);
  const density = raw === 0 ? 1 : Math.max(0.2, (tokens - messageTokens) / raw);
  const mustStay = visible.isPinned && visible.mayGiveWay !== true;
  const isFixed = index < reading.headLength || isBound(message) || mustStay;
  const voice = voiceOf(message);
  return message.parts.flatMap((part, at): readonly PlacedText[] => {
    const place = { message: index, part: at };
    const text = (content: string, inner?: number): PlacedText => ({
      place: inner === undefined ? place : { ...place, inner },
      voice: inner === undefined ? voice : "result",
      textPieces: readPieces(content, { density, isProse: inner === undefined }),
      isExact: isFixed || estimateTokens(content, density) <= shortestText,
    });
    switch (part.kind) {
      case "text":
        return [text(part.text)];
      case "tool-result":
        return part.content.flatMap((content, inner) =>
          content.kind === "text" ? [text(content.text, inner)] : [],
        );
      case "tool-call":
        return callTexts(part, { place, density, isFixed, reading });
      default:
        return [];
    }
  });
}

function partEstimate(part: Part): number {
  switch (part.kind) {
    case "text":
    case "reasoning":
      return estimateTokens(part.text);
    case "tool-call":
      return estimateTokens(part.input) + 2;
    case "tool-result":
      return part.content.reduce((sum, inner) => sum + partEstimate(inner), 0);
    default:
      return 0;
  }
}

function voiceOf({ role }: Message): Voice {
  if (role === "assistant") return "agent";
  return role === "user" ? "user" : role === "tool" ? "result" : "other";
}

/** True if the message must not change. Signed thinking also covers the parts next to it. */
function isBound({ role, parts, stays }: Message): boolean {
  return (
    role === "system" ||
    stays === "whole" ||
    parts.some((part) => part.kind === "reasoning" && part.signature !== undefined)
  );
}

interface CallReading {
  readonly place: SlotPlace;
  readonly density: number;
  readonly isFixed: boolean;
  readonly reading: SlotReading;
}

function callTexts(call: ToolCallPart, at: CallReading): readonly PlacedText[] {
  const { place, density, isFixed, reading } = at;
  const input = parseInput(call.input);
  const isNew = place.message >= reading.exactFrom;
  const isOversized = estimateTokens(call.input, density) > reading.oversizedTokens * surely;
  const exact = (text: string): PlacedText => ({
    place,
    voice: "call",
    textPieces: { text, pieces: readPieces(text, { density, isProse: true }).pieces },
    isExact: true,
  });
  if (input === undefined || isFixed || (isNew && !isOversized))
    return [exact(`${call.name}\n${input === undefined ? call.input : spelled(input)}`)];
  if (isNew) {
    const textPieces = readPieces(call.input, { density, isProse: false });
    return [
      exact(call.name),
      { place: { ...place, isInput: true }, voice: "call", textPieces, isExact: false },
    ];
  }
  const leaves = leavesOf(input);
  const isLong = ({ value }: Leaf): boolean =>
    typeof value === "string" && value.length > shortestCut;
  const short = leaves
    .filter((leaf) => !isLong(leaf))
    .map(({ path, value }) => `${path.join(".")}: ${String(value)}`);
  return [
    exact(
      [call.name, ...short, ...leaves.filter(isLong).map(({ path }) => path.join("."))].join("\n"),
    ),
    ...leaves.filter(isLong).map(
      ({ path, value }): PlacedText => ({
        place: { ...place, path },
        voice: "call",
        textPieces: readPieces(String(value), { density, isProse: false }),
        isExact: false,
      }),
    ),
  ];
}

interface Leaf {
  readonly path: readonly (string | number)[];
  readonly value: string | number | boolean | null;
}

/** Numbers beyond 2^53 would change if they were written again, so such arguments stay as they are. */
const hugeNumber = /[0-9]{16}/;

function parseInput(input: string): JsonObject | undefined {
  return hugeNumber.test(input) ? undefined : parseObject(input);
}

/** Keys and values, one per line, as a reader would see them. */
function spelled(input: JsonValue): string {
  return leavesOf(input)
    .map(({ path, value }) => `${path.join(".")}: ${String(value)}`)
    .join("\n");
}

const deepestArguments = 50;

function leavesOf(value: JsonValue, path: readonly (string | number)[] = []): readonly Leaf[] {
  if (path.length > deepestArguments) return [];
  if (Array.isArray(value)) return value.flatMap((item, index) => leavesOf(item, [...path, index]));
  if (isObject(value))
    return Object.entries(value).flatMap(([key, item]) => leavesOf(item ?? null, [...path, key]));
  return [{ path, value: value as Leaf["value"] }];
}

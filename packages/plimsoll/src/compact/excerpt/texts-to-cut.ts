/** Finds every text that may be shortened (a slot), cuts it into pieces, and finds the mentions in the pieces. */

import { trees } from "../../../data/mention_trees.js";
import type { Message, Part, ToolCallPart } from "../../message/message.ts";
import type { VisibleConversation, VisibleMessage } from "../../message/strategy.ts";
import { type JsonNode, readJson } from "../../text/json-tree.ts";
import { commandOf } from "../evidence/commands.ts";
import { isTalk } from "../relevance/task.ts";
import type { Act } from "../story/acts.ts";
import { changedLater, type LaterChange } from "../story/changed-later.ts";
import { requestsIn } from "../story/requests.ts";
import type { ChoiceUnit, PieceName, Slot } from "./choice-task.ts";
import { farMessages, type Reach } from "./far-messages.ts";
import { leastPieces, outcomePieces, repeatedLines } from "./least-pieces.ts";
import { estimateTokens } from "./long-lines.ts";
import type { Utterance, Voice } from "./mention-counts.ts";
import { type MentionFrame, type MentionWeights, readMentionWeights } from "./mention-weights.ts";
import type { PlacedText, SlotPlace } from "./placed-text.ts";
import { readPieces } from "./text-pieces.ts";

export interface PlacedSlot extends Slot {
  readonly place: SlotPlace;
  readonly isFixed: boolean;
  readonly voice: Voice;
  readonly later?: LaterChange | undefined;
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
  /** Tokens of the whole excerpt. */
  readonly roomTokens: number;
  /** What the agent did, to tell which results are out of date. */
  readonly acts: readonly Act[];
  /** How far back calls and results are read. */
  readonly reach: Reach;
}

/** A string in the arguments of a call stays if it has at most this many characters, because it shows what the call did. */
const shortestCut = 200;
const messageTokens = 4;
/** A text of at most this many tokens is not worth replacing with a mark. */
const shortestText = 10;
/** An estimate may be off by this factor. */
const surely = 1.2;
/** A text that the agent wrote anew later is worth this share of what it would be worth otherwise. */
const rewrittenWorth = 0.2;
/** The agent's conclusions say more than the output that they are drawn from, so its words are worth this many times as much. */
const agentWorth = 2;

export function readSlots(conversation: VisibleConversation, reading: SlotReading): Slots {
  const { texts, utterances, spans, frame } = readTexts(conversation, reading);
  const mentionWeights = readMentionWeights(
    utterances,
    frame,
    conversation.usesLearnedWeights === true ? trees : undefined,
  );
  const unitOf = unitIndex(conversation);
  const repeated = repeatedLines(texts);
  const isOnlyTalk = isTalk(conversation);
  const slots = texts.map((text, index): PlacedSlot => {
    const mentions = mentionWeights.mentions.slice(...(spans[index] ?? [0, 0]));
    const { weights } = mentionWeights;
    return {
      ...text,
      mentions,
      unit: unitOf[text.place.message] ?? -1,
      worth: worthOf(text, isOnlyTalk),
      mayLose: text.place.argument === undefined ? "anything" : "middle",
      least: leastPieces(text, {
        mentions,
        weights,
        repeated,
        isTalk: isOnlyTalk,
        roomTokens: reading.roomTokens,
      }),
    };
  });
  // Without tools there is no work that could end: the messages are a talk.
  const outcomes = isOnlyTalk
    ? new Map<number, readonly PieceName[]>()
    : outcomesOf(conversation, slots, { unitOf, headLength: reading.headLength });
  return { slots, mentionWeights, units: unitsOf(conversation, slots, outcomes) };
}

function worthOf({ voice, later }: PlacedText, isOnlyTalk: boolean): number {
  if (voice === "agent" && !isOnlyTalk) return agentWorth;
  return later?.kind === "rewritten" ? rewrittenWorth : 1;
}

interface Texts extends Utterances {
  readonly texts: readonly PlacedText[];
  readonly frame: MentionFrame;
}

/** Every text, cut into pieces, and the order in which the texts were said. */
export function readTexts(conversation: VisibleConversation, reading: SlotReading): Texts {
  const calls = new Map<string, AnsweredCall>();
  const changes = changedLater(reading.acts);
  const isOnlyTalk = isTalk(conversation);
  const isFar = farMessages(conversation, reading);
  const texts = conversation.messages.flatMap((visible, index) => {
    if (isFar[index] === 1) return [];
    const { message } = visible.original ?? visible;
    for (const part of message.parts)
      if (part.kind === "tool-call")
        calls.set(part.id, { source: kindOfCall(part), later: changes.get(part) });
    return textsOf(visible, index, { ...reading, calls, isTalk: isOnlyTalk });
  });
  const startOf = [0];
  for (const { tokens, original } of conversation.messages)
    startOf.push((startOf.at(-1) ?? 0) + (original?.tokens ?? tokens));
  return { texts, ...utterancesOf(texts), frame: { startOf, headLength: reading.headLength } };
}

type AnsweredCall = Pick<PlacedText, "source" | "later">;

/** The name of the tool, and the program that a shell runs. */
function kindOfCall(call: ToolCallPart): string {
  const command = commandOf(call)?.replace(/^cd \S+ && /, "");
  return command === undefined ? call.name : `${call.name} ${command.split(/\s/, 1)[0]}`;
}

interface Finding {
  readonly unitOf: readonly number[];
  readonly headLength: number;
}

/** By the unit of a request: the pieces of the agent's closing words that are shown with it. */
function outcomesOf(
  conversation: VisibleConversation,
  slots: readonly PlacedSlot[],
  { unitOf, headLength }: Finding,
): ReadonlyMap<number, readonly PieceName[]> {
  const byMessage = new Map<number, number[]>();
  for (const [index, { place, voice }] of slots.entries())
    if (voice === "agent")
      byMessage.set(place.message, [...(byMessage.get(place.message) ?? []), index]);
  const found = new Map<number, readonly PieceName[]>();
  for (const { message, outcome } of requestsIn(conversation, headLength)) {
    const [slot] = byMessage.get(outcome ?? -1) ?? [];
    const unit = unitOf[message] ?? -1;
    if (slot === undefined || unit < 0) continue;
    const pieces = outcomePieces(slots[slot]?.textPieces.pieces ?? []);
    found.set(
      unit,
      pieces.map((piece) => [slot, piece]),
    );
  }
  return found;
}

interface Utterances {
  readonly utterances: readonly Utterance[];
  readonly spans: readonly (readonly [number, number])[];
}

/**
 * The pieces of all texts in one list, each piece with the frames around it. A span is the part of this list that belongs to one
 * text.
 */
function utterancesOf(texts: readonly PlacedText[]): Utterances {
  const utterances: Utterance[] = [];
  const spans: (readonly [number, number])[] = [];
  for (const { textPieces, place, voice, source } of texts) {
    const from = utterances.length;
    for (const { text, frames } of textPieces.pieces) {
      const around = frames.map((frame) => frame.text).join(" ");
      const said = around === "" ? text : `${text}\n${around}`;
      const isMember = textPieces.json !== undefined;
      utterances.push({ message: place.message, voice, source, text: said, isMember });
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
  outcomes: ReadonlyMap<number, readonly PieceName[]>,
): readonly ChoiceUnit[] {
  const own = conversation.units.map((): number[] => []);
  const inSlots = conversation.messages.map(() => 0);
  for (const [index, { unit, textPieces, place }] of slots.entries()) {
    own[unit]?.push(index);
    const tokens = textPieces.pieces.reduce((sum, piece) => sum + piece.tokens, 0);
    inSlots[place.message] = (inSlots[place.message] ?? 0) + tokens;
  }
  return conversation.units.map(
    ({ first, last, isExchange }, unit): ChoiceUnit => ({
      slots: own[unit] ?? [],
      ...(isExchange && mayGo(conversation.messages.slice(first, last + 1))
        ? { callTokens: callTokens((own[unit] ?? []).flatMap((slot) => slots[slot] ?? [])) }
        : {}),
      ...(outcomes.has(unit) ? { outcome: outcomes.get(unit) ?? [] } : {}),
      frameTokens: conversation.messages
        .slice(first, last + 1)
        .reduce((sum, { tokens, original }, offset) => {
          const rest = (original?.tokens ?? tokens) - (inSlots[first + offset] ?? 0);
          return sum + Math.max(messageTokens, rest);
        }, 0),
    }),
  );
}

function mayGo(messages: readonly VisibleMessage[]): boolean {
  return messages.every(({ isPinned, message }) => !isPinned && message.stays === undefined);
}

function callTokens(slots: readonly PlacedSlot[]): number {
  const calls = slots.filter(({ voice }) => voice === "call");
  return calls.reduce((sum, { isExact, least, textPieces: { pieces } }) => {
    const staying = isExact ? pieces : least.flatMap((piece) => pieces[piece] ?? []);
    return staying.reduce((all, { tokens }) => all + tokens, sum);
  }, 0);
}

interface TextReading extends Omit<SlotReading, "roomTokens" | "acts"> {
  /** By the id of each call so far: what is known about its result. */
  readonly calls: ReadonlyMap<string, AnsweredCall>;
  readonly isTalk: boolean;
}

function textsOf(
  visible: VisibleMessage,
  index: number,
  reading: TextReading,
): readonly PlacedText[] {
  const { message, tokens } = visible.original ?? visible;
  const raw = message.parts.reduce((sum, part) => sum + partEstimate(part), 0);
  const density = raw === 0 ? 1 : Math.max(0.2, (tokens - messageTokens) / raw);
  const mustStay = visible.isPinned && visible.mayGiveWay !== true;
  const isFixed = index < reading.headLength || isBound(message) || mustStay;
  const voice = voiceOf(message);
  return message.parts.flatMap((part, at): readonly PlacedText[] => {
    const place = { message: index, part: at };
    const text = (content: string, inner?: number, call?: AnsweredCall): PlacedText => ({
      place: inner === undefined ? place : { ...place, inner },
      ...call,
      voice: inner === undefined ? voice : "result",
      textPieces: readPieces(content, {
        density,
        isProse: inner === undefined,
        hasSpeaker: reading.isTalk,
      }),
      isExact: isFixed || estimateTokens(content, density) <= shortestText,
      isFixed,
    });
    switch (part.kind) {
      case "text":
        return [text(part.text)];
      case "tool-result":
        return part.content.flatMap((content, inner) =>
          content.kind === "text"
            ? [text(content.text, inner, reading.calls.get(part.callId) ?? { source: "" })]
            : [],
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
  readonly reading: TextReading;
}

/** A call stays as it is, except that a long string in its arguments may lose its middle. */
function callTexts(call: ToolCallPart, at: CallReading): readonly PlacedText[] {
  const { place, density, isFixed, reading } = at;
  const isNew = place.message >= reading.exactFrom;
  const isOversized = estimateTokens(call.input, density) > reading.oversizedTokens * surely;
  const exact = (text: string): PlacedText => ({
    place,
    voice: "call",
    textPieces: {
      text,
      pieces: readPieces(text, { density, isProse: true, isArgument: true }).pieces,
    },
    isExact: true,
    isFixed,
  });
  const leaves = leavesOf(call.input);
  if (leaves.length === 0) return [exact(`${call.name}\n${call.input}`)];
  const isLong = ({ value }: Leaf): boolean =>
    !isFixed && !(isNew && !isOversized) && value.length > shortestCut;
  const spelled = leaves.map((leaf) =>
    isLong(leaf) ? `${leaf.name}:` : `${leaf.name}: ${leaf.value}`,
  );
  return [
    exact([call.name, ...spelled].join("\n")),
    ...leaves.filter(isLong).map(
      ({ value, span }): PlacedText => ({
        place: { ...place, argument: span },
        voice: "call",
        textPieces: readPieces(value, { density, isProse: false, isArgument: true }),
        isExact: false,
        isFixed,
      }),
    ),
  ];
}

interface Leaf {
  /** The nearest key. */
  readonly name: string;
  /** The value as a reader would see it. */
  readonly value: string;
  readonly span: readonly [start: number, end: number];
}

const deepestArguments = 50;

/** The strings, numbers and other single values in the arguments, in order. Empty if the arguments are no JSON object. */
function leavesOf(input: string): readonly Leaf[] {
  const root = readJson(input);
  return root?.kind === "object" ? leavesIn(root, input, { name: "", depth: 0 }) : [];
}

function leavesIn(
  node: JsonNode,
  input: string,
  { name, depth }: { readonly name: string; readonly depth: number },
): readonly Leaf[] {
  if (depth > deepestArguments) return [];
  if (node.kind === "object" || node.kind === "array")
    return node.children.flatMap((child) =>
      leavesIn(child, input, { name: child.key?.slice(1, -1) ?? name, depth: depth + 1 }),
    );
  const raw = input.slice(node.start, node.end);
  const value = node.kind === "string" ? (JSON.parse(raw) as string) : raw;
  return [{ name, value, span: [node.start, node.end] }];
}

/** Turns the chosen pieces into shortened messages and removed ranges, as the model would see them. */

import type { JsonObject, JsonValue } from "../../message/json.ts";
import type { Message, Part } from "../../message/message.ts";
import type { VisibleConversation, VisibleMessage } from "../../message/strategy.ts";
import { cutTexts } from "../../text/for-models.ts";
import { fixedUnits } from "../units/fixed-units.ts";
import { headLength } from "../units/head.ts";
import { isBetweenAnswers, rangesOf } from "../units/ranges.ts";
import type { TruncationRange } from "../units/truncation-range.ts";
import type { Choice } from "./greedy-choice.ts";
import { renderPieces } from "./text-pieces.ts";
import type { PlacedSlot, SlotPlace, Slots } from "./texts-to-cut.ts";

/** A gap between messages of fewer tokens than this gets no mark. */
const markedGapTokens = 1000;

/** The messages that change or are removed. Does not include Plimsoll's text after the head. */
export interface RenderedChoice {
  readonly messages: ReadonlyMap<number, RenderedMessage>;
  readonly gone: readonly TruncationRange[];
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
): RenderedChoice {
  const gone = goneRanges(choice, conversation);
  const isGone = new Uint8Array(conversation.messages.length);
  for (const { first, last } of gone) isGone.fill(1, first, last + 1);
  const bySlot = new Map<number, { readonly slot: PlacedSlot; readonly index: number }[]>();
  for (const [index, slot] of slots.entries()) {
    const { message } = slot.place;
    bySlot.set(message, [...(bySlot.get(message) ?? []), { slot, index }]);
  }
  const head = headLength(conversation);
  const messages = new Map<number, RenderedMessage>();
  for (const [index, visible] of conversation.messages.entries()) {
    if (index < head || isGone[index] === 1) continue;
    const own = (bySlot.get(index) ?? []).map(({ slot, index: number }) => ({
      place: slot.place,
      was: slot.textPieces.text,
      text: slot.isExact
        ? slot.textPieces.text
        : renderPieces(slot.textPieces, {
            isKept: (piece) => choice.isKept(number, piece),
            reference: `#${visible.number}`,
          }),
    }));
    messages.set(
      index,
      shortened(
        visible,
        own.filter(({ text, was }) => text !== was),
      ),
    );
  }
  return { messages, gone };
}

interface Shortened {
  readonly place: SlotPlace;
  readonly text: string;
}

function shortened(visible: VisibleMessage, texts: readonly Shortened[]): RenderedMessage {
  const { message } = visible.original ?? visible;
  const changes = new Map<string, Change>();
  for (const { place, text } of texts) {
    const { part, inner, path, isInput } = place;
    const key = `${part}.${inner ?? ""}`;
    const source = message.parts[part];
    if (source?.kind !== "tool-call") {
      changes.set(key, { part, ...(inner === undefined ? {} : { inner }), text });
      continue;
    }
    const input = changes.get(key)?.text ?? source.input;
    changes.set(key, { part, text: isInput ? text : withLeaf(input, path ?? [], text) });
  }
  const all = [...changes.values()];
  return { message: all.length === 0 ? message : changed(message, all), changes: all };
}

function withLeaf(input: string, path: readonly (string | number)[], text: string): string {
  const put = (value: JsonValue | undefined, at: number): JsonValue => {
    const key = path[at];
    if (key === undefined) return text;
    if (Array.isArray(value))
      return value.map((item, index) => (index === key ? put(item, at + 1) : item));
    const object = value as JsonObject;
    return Object.fromEntries(
      Object.entries(object).map(([name, item]) => [
        name,
        name === key ? put(item, at + 1) : (item ?? null),
      ]),
    );
  };
  return JSON.stringify(put(JSON.parse(input) as JsonValue, 0));
}

function changed({ role, parts }: Message, changes: readonly Change[]): Message {
  const textAt = (part: number, inner?: number): string | undefined =>
    changes.find((change) => change.part === part && change.inner === inner)?.text;
  return {
    role,
    parts: parts.map((part, index): Part => {
      if (part.kind === "text") return { ...part, text: textAt(index) ?? part.text };
      if (part.kind === "tool-call") return { ...part, input: textAt(index) ?? part.input };
      if (part.kind !== "tool-result") return part;
      const content = part.content.map((inner, at) =>
        inner.kind === "text" ? { ...inner, text: textAt(index, at) ?? inner.text } : inner,
      );
      return { ...part, content };
    }),
  };
}

function goneRanges(choice: Choice, conversation: VisibleConversation): readonly TruncationRange[] {
  const { isFixed, isLoopStart, holdsUnknown } = fixedUnits(conversation);
  const isGone = conversation.units.map(
    (_, unit) =>
      !choice.isOpen(unit) && !isFixed(unit) && !isLoopStart(unit) && !holdsUnknown(unit),
  );
  return rangesOf(conversation, isGone, "joined");
}

export function gapText(conversation: VisibleConversation, range: TruncationRange): string {
  const { messages } = conversation;
  const { first, last } = range;
  const gone = messages.slice(first, last + 1);
  const tokens = gone.reduce(
    (sum, visible) => sum + (visible.original?.tokens ?? visible.tokens),
    0,
  );
  if (tokens < markedGapTokens && !isBetweenAnswers(conversation, range)) return "";
  const [from, to] = [messages[first]?.number, messages[last]?.number];
  return cutTexts.excerptMessages(from, to);
}

/**
 * Excerpts in place: of the whole conversation those lines stay that are worth most to later turns, where they stood.
 *
 *   slots ─► duties ─► choice ─► rendered and weighed, until the room is used ─► proposals
 */

import type { EditPlace } from "../message/edit.ts";
import type { JsonObject, JsonValue } from "../message/json.ts";
import type { Message, Part } from "../message/message.ts";
import { Choice } from "./choose.ts";
import { digestText, type Notice, noticeFor, withHandle } from "./digest.ts";
import { exactCallsFrom, keepDuties, oversizedTokens, type Room } from "./duties.ts";
import { fixedUnits } from "./keep.ts";
import { summaryBody } from "./notice.ts";
import { rangesOf } from "./ranges.ts";
import { renderSheet } from "./sheet.ts";
import { type PlacedSlot, readSlots, type SlotPlace, type Slots } from "./slots.ts";
import type { Goal, Proposal, SeenConversation, SeenMessage, Strategy } from "./strategy.ts";
import { estimateTokens } from "./stretch.ts";
import { summarise } from "./summary.ts";
import { isSpoken, type TruncationRange } from "./truncate.ts";

/** Of the room, for what the ledger calls important and the view no longer says. */
const digestShare = 0.02;
/** So often is the choice weighed and mended. */
const rounds = 8;
/** Less than this is not worth another round. */
const slack = { tokens: 8, share: 0.004 };
/** A gap between messages of less than this goes without a mark. */
const markedGapTokens = 1000;

export const excerpt: Strategy = {
  name: "excerpt",
  propose: async (conversation, goal) => {
    const room = roomOf(conversation, goal);
    if (room.tokens < smallestRoom || room.headLength >= conversation.messages.length) return [];
    const slots = readSlots(conversation, {
      headLength: room.headLength,
      exactFrom: exactCallsFrom(conversation, room),
      oversizedTokens: oversizedTokens(room),
    });
    let shown: Shown | undefined;
    for (const strictness of ["usual", "least"] as const) {
      const choice = new Choice({ ...slots, weights: slots.ledger.weights });
      keepDuties(choice, conversation, slots, { ...room, strictness });
      shown = await chooseWithin(choice, conversation, slots, room);
      if (shown.left >= 0) break;
    }
    return shown === undefined ? [] : proposalsFor(conversation, shown, room);
  },
};

/** With less room than this there is nothing to choose. */
const smallestRoom = 60;

function roomOf({ messages, tokens }: SeenConversation, goal: Goal): Room {
  const firstUser = messages.findIndex(({ message }) => isSpoken(message));
  const headLength = firstUser + 1;
  const history = messages.slice(headLength);
  const now = history.reduce((sum, seen) => sum + seen.tokens, 0);
  return {
    headLength,
    historyTokens: history.reduce((sum, seen) => sum + (seen.original?.tokens ?? seen.tokens), 0),
    tokens: Math.min(goal.tokens, goal.limitTokens) - (tokens - now),
  };
}

/** What the model would see: messages that say less, ranges that are gone, and the summary. */
interface Shown {
  readonly messages: ReadonlyMap<number, ShownMessage>;
  readonly gone: readonly TruncationRange[];
  readonly digest: string;
  /** Of the room; below zero: what had to stay was too much. */
  readonly left: number;
}

interface ShownMessage {
  readonly message: Message;
  readonly changes: readonly Change[];
}

interface Change {
  readonly part: number;
  readonly inner?: number;
  readonly text: string;
}

/** Fills the room as far as exact counts allow; the estimate of a piece may be off, their sum must not. */
async function chooseWithin(
  choice: Choice,
  conversation: SeenConversation,
  slots: Slots,
  room: Room,
): Promise<Shown> {
  const scales = new Scales(conversation);
  const notice = noticeFor(room.tokens, conversation.hasArchive);
  const summed = summaryRoom(conversation, room);
  const reserve = notice.tokens + room.tokens * digestShare + summed;
  let left = room.tokens - reserve - (await scales.tokensOf(render(choice, conversation, slots)));
  for (let round = 0; round < rounds; round++) {
    if (left >= 0 && left < Math.max(slack.tokens, room.tokens * slack.share)) break;
    const isChanged = left < 0 ? choice.drop(-left) > 0 : choice.fill(left) === "filled";
    if (!isChanged) break;
    left = room.tokens - reserve - (await scales.tokensOf(render(choice, conversation, slots)));
  }
  while (left < 0 && choice.drop(-left) > 0)
    left = room.tokens - reserve - (await scales.tokensOf(render(choice, conversation, slots)));
  const shown = render(choice, conversation, slots);
  const said = (atom: number): boolean => choice.isSaid(atom);
  // Where there is no handle to show, nothing need be said when there is no room for it.
  const isSilent = !conversation.hasArchive && left + reserve < notice.tokens;
  const tokens = Math.floor(reserve + left);
  const body = summed === 0 ? "" : summaryOf(conversation, shown, { room, tokens: summed });
  const digest = isSilent ? "" : await fitDigest(scales, { notice, slots, said, tokens, body });
  const spent = digest === "" ? 0 : await scales.weighText(digest);
  return { ...shown, digest, left: left + reserve - spent };
}

interface DigestTask {
  readonly notice: Notice;
  readonly slots: Slots;
  readonly said: (atom: number) => boolean;
  readonly tokens: number;
  readonly body: string;
}

async function fitDigest(
  scales: Scales,
  { notice, slots, said, tokens, body }: DigestTask,
): Promise<string> {
  const room = tokens - estimateTokens(body);
  for (let size = room; size > notice.tokens; size = Math.floor(size * 0.9) - 2) {
    const text = [digestText(notice, slots.ledger, said, size), body].join("\n").trim();
    if ((await scales.weighText(text)) <= tokens) return text;
  }
  return digestText(notice, slots.ledger, said, 0);
}

/** In a window of any size to speak of, a few lines say what the excerpts no longer do. */
const summaryShare = { least: 8000, ofRoom: 0.03, most: 1000, prepared: 0.15 };

function summaryRoom({ prepared, summary }: SeenConversation, { tokens }: Room): number {
  if (prepared !== undefined)
    return Math.min(estimateTokens(prepared) * 1.2, tokens * summaryShare.prepared);
  const isCarried = summaryBody(summary) !== undefined;
  if (tokens < summaryShare.least && !isCarried) return 0;
  return Math.min(summaryShare.most, tokens * summaryShare.ofRoom);
}

/** By a model where one has been at work; else by structure, from what is no longer whole, and from what was said before. */
function summaryOf(
  conversation: SeenConversation,
  { messages }: Shown,
  { room, tokens }: { readonly room: Room; readonly tokens: number },
): string {
  const { prepared, summary } = conversation;
  if (prepared !== undefined) return prepared;
  const cut = conversation.messages.filter((_, index) => {
    const shown = messages.get(index);
    return index >= room.headLength && (shown === undefined || shown.changes.length > 0);
  });
  const earlier = summaryBody(summary);
  return summarise({
    messages: cut.map(({ message, number, original }) => ({
      message: original?.message ?? message,
      number,
    })),
    tokens: Math.floor(tokens),
    count: estimateTokens,
    ...(earlier === undefined ? {} : { earlier }),
  }).text;
}

/** Weighs only what it has not weighed before. */
class Scales {
  readonly #conversation: SeenConversation;
  readonly #known = new Map<string, number>();

  constructor(conversation: SeenConversation) {
    this.#conversation = conversation;
  }

  /** Of everything behind the head, without the digest. What is shown whole is known. */
  async tokensOf({ messages, gone }: Shown): Promise<number> {
    const gaps = gone
      .map((range) => gapText(this.#conversation, range))
      .filter((text) => text !== "");
    const changed: Message[] = gaps.map(ownMessage);
    let known = 0;
    for (const [index, { message, changes }] of messages) {
      const { tokens, original } = this.#conversation.messages[index] ?? { tokens: 0 };
      if (changes.length > 0) changed.push(message);
      else known += original?.tokens ?? tokens;
    }
    return (await this.#weigh(changed)).reduce((sum, tokens) => sum + tokens, known);
  }

  async weighText(text: string): Promise<number> {
    const [tokens = 0] = await this.#weigh([ownMessage(text)]);
    return tokens;
  }

  async #weigh(messages: readonly Message[]): Promise<readonly number[]> {
    const keys = messages.map((message) => JSON.stringify(message));
    const unknown = messages.filter((_, index) => !this.#known.has(keys[index] ?? ""));
    const weights = await this.#conversation.weigh(unknown);
    for (const [index, message] of unknown.entries())
      this.#known.set(JSON.stringify(message), weights[index] ?? 0);
    return keys.map((key) => this.#known.get(key) ?? 0);
  }
}

function ownMessage(text: string): Message {
  return { role: "user", parts: [{ kind: "text", text }] };
}

function render(choice: Choice, conversation: SeenConversation, { slots }: Slots): Shown {
  const gone = goneRanges(choice, conversation);
  const isGone = new Uint8Array(conversation.messages.length);
  for (const { first, last } of gone) isGone.fill(1, first, last + 1);
  const bySlot = new Map<number, { readonly slot: PlacedSlot; readonly index: number }[]>();
  for (const [index, slot] of slots.entries()) {
    const { message } = slot.place;
    bySlot.set(message, [...(bySlot.get(message) ?? []), { slot, index }]);
  }
  const firstUser = conversation.messages.findIndex(({ message }) => isSpoken(message));
  const messages = new Map<number, ShownMessage>();
  for (const [index, seen] of conversation.messages.entries()) {
    if (index <= firstUser || isGone[index] === 1) continue;
    const own = (bySlot.get(index) ?? []).map(({ slot, index: number }) => ({
      place: slot.place,
      was: slot.sheet.text,
      text: slot.isExact
        ? slot.sheet.text
        : renderSheet(slot.sheet, {
            isKept: (piece) => choice.isKept(number, piece),
            reference: `#${seen.number}`,
          }),
    }));
    messages.set(
      index,
      shortened(
        seen,
        own.filter(({ text, was }) => text !== was),
      ),
    );
  }
  return { messages, gone, digest: "", left: 0 };
}

interface Shortened {
  readonly place: SlotPlace;
  readonly text: string;
}

function shortened(seen: SeenMessage, texts: readonly Shortened[]): ShownMessage {
  const { message } = seen.original ?? seen;
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

function goneRanges(choice: Choice, conversation: SeenConversation): readonly TruncationRange[] {
  const { isFixed, isLoopStart } = fixedUnits(conversation);
  const isGone = conversation.units.map(
    (_, unit) => !choice.isOpen(unit) && !isFixed(unit) && !isLoopStart(unit),
  );
  return rangesOf(conversation, isGone, "joined");
}

function gapText({ messages }: SeenConversation, { first, last }: TruncationRange): string {
  const gone = messages.slice(first, last + 1);
  const tokens = gone.reduce((sum, seen) => sum + (seen.original?.tokens ?? seen.tokens), 0);
  if (tokens < markedGapTokens) return "";
  const [from, to] = [messages[first]?.number, messages[last]?.number];
  return from === to ? `[… #${from}]` : `[… #${from}–#${to}]`;
}

const reason =
  "Of a conversation that did not fit, the lines stay that later turns are most likely to need.";

function proposalsFor(
  conversation: SeenConversation,
  { messages, gone, digest }: Shown,
  { headLength }: Room,
): readonly Proposal[] {
  const removals = gone.map(
    (range): Proposal => ({
      kind: "remove",
      ...range,
      reason,
      handle: "shared",
      textFor: () => gapText(conversation, range),
    }),
  );
  const replacements = [...messages].flatMap(([index, { changes }]) =>
    changes.flatMap((change): readonly Proposal[] => {
      const now = textNow(conversation.messages[index]?.message, change);
      if (now === change.text) return [];
      return [
        {
          kind: "replace",
          message: index,
          part: change.part,
          ...(change.inner === undefined ? {} : { inner: change.inner }),
          place: placeOf(conversation.messages[index]?.message, change),
          reason,
          handle: "shared",
          textFor: () => change.text,
        },
      ];
    }),
  );
  const edits = [...removals, ...replacements];
  if (edits.length === 0) return [];
  const summary: Proposal = {
    kind: "summary",
    after: Math.max(0, headLength - 1),
    reason,
    textFor: ({ handle }) => withHandle(digest, handle),
  };
  return [summary, ...edits];
}

function textNow(message: Message | undefined, { part, inner }: Change): string | undefined {
  const found = message?.parts[part];
  if (found?.kind === "text") return found.text;
  if (found?.kind === "tool-call") return found.input;
  const content = found?.kind === "tool-result" ? found.content[inner ?? 0] : undefined;
  return content?.kind === "text" ? content.text : undefined;
}

function placeOf(_message: Message | undefined, { inner }: Change): EditPlace {
  return inner === undefined ? "undefined" : "no-file-read";
}

/**
 * Turns a view into patches, which replace elements of the client's conversation. Every element that no patch names keeps the
 * client's own bytes.
 */

import type { JsonValue } from "../../message/json.ts";
import type { BodySlices, Slice } from "../../wire/format/slices.ts";
import {
  applySplices,
  elementsRange,
  fieldSplice,
  joinElements,
  type Splice,
} from "../../wire/format/splice.ts";
import { toolSplices } from "../../wire/format/tool-list.ts";
import type {
  FieldNames,
  OwnText,
  ToolsInMessage,
  Wire,
  WireEdit,
  WireTools,
} from "../../wire/format/wire.ts";
import type { Conversation } from "../log/path.ts";
import type { Expansion, Gap, Range, Replacement, View } from "../log/view.ts";
import type { VisibleTools } from "../tools/own-tools-offer.ts";
import { beforeLastAnswer } from "./before-last-answer.ts";
import { decodeMessage, encodeMessage } from "./encode.ts";

/** Replaces the elements from `first` up to, but not including, `end`. An empty range is an insertion. */
export interface Patch {
  readonly first: number;
  readonly end: number;
  readonly elements: readonly Uint8Array[];
}

export interface Rendering {
  readonly wire: Wire;
  /**
   * Where Plimsoll may put its own texts: the wire's own rule, or a stricter one, because some servers require alternating roles.
   */
  readonly ownTextPlacement: WireEdit["ownTextPlacement"];
  /** Text after the last message. It is not an edit, so the next request does not contain it. */
  readonly lastWords?: string;
  /**
   * Whether the request has no tools. It must then contain no calls to Plimsoll's tools, and answers stay as the client knows
   * them.
   */
  readonly isWithoutOwnTools?: boolean;
  /** Whether the provider defers tools itself. If undefined, searches in the provider's own form stay as the model made them. */
  readonly isNative?: boolean;
  /**
   * The names of the request's tools. A provider that defers tools itself requires that this list contains every tool that a
   * search result names.
   */
  readonly listed?: { readonly has: (name: string) => boolean };
}

const encoder = new TextEncoder();

export function renderView(
  view: View,
  conversation: Conversation,
  rendering: Rendering,
): readonly Patch[] {
  const canvas = new Canvas(conversation, rendering, view.gaps);
  for (const [index, replacements] of view.replacements) canvas.replace(index, replacements);
  for (const { at, gap, text } of ownTextsIn(view)) {
    if (gap === undefined) canvas.note(at, { text });
    else canvas.gap(gap);
  }
  if (rendering.lastWords !== undefined)
    canvas.note(conversation.length - 1, { text: rendering.lastWords });
  // Answers are rendered last: a result of Plimsoll's own tools may be joined to the next message, which must be final by then.
  renderAnswers(canvas, view, rendering);
  return canvas.patches();
}

interface PlacedText {
  /** Index of the message before the text. */
  readonly at: number;
  readonly text: string;
  /** The gap that the text fills. If undefined, the text is a note. */
  readonly gap: Gap | undefined;
}

/** Plimsoll's own texts, in the order of the conversation. */
function ownTextsIn({ gaps, notes }: View): readonly PlacedText[] {
  return [
    ...gaps.map((gap) => ({ at: gap.last, gap, text: gap.text })),
    ...[...notes].flatMap(([at, texts]) => texts.map((text) => ({ at, gap: undefined, text }))),
  ].toSorted((left, right) => left.at - right.at);
}

/** Shows each answer in full, with its lookups. If the lookups were reverted or cannot be shown, shows the client's words. */
function renderAnswers(
  canvas: Canvas,
  { expansions, contractions, tools }: View,
  { isWithoutOwnTools = false, isNative }: Rendering,
): void {
  const isSearched = isNative === undefined || (isNative && tools !== undefined);
  for (const expansion of isWithoutOwnTools ? [] : expansions) canvas.expand(expansion, isSearched);
  const contracted = isWithoutOwnTools ? [...expansions, ...contractions] : contractions;
  for (const contraction of contracted) canvas.contract(contraction);
}

/** Returns the message with new text in some of its parts. Parts that cannot be replaced stay as they are. */
export function replaceParts(
  wire: Wire,
  message: Uint8Array,
  replacements: readonly Replacement[],
): Uint8Array {
  const splices = replacements.flatMap(
    ({ text, ...place }) =>
      (text === ""
        ? wire.edit.leaveOut(message, place.part)
        : wire.edit.replacePart(message, place, text)) ?? [],
  );
  return splices.length === 0 ? message : applySplices(message, splices);
}

/**
 * Messages with their searches in plain form, cached by object. A recorded message stays the same object while its session is in
 * memory.
 */
const withoutSearches = new WeakMap<Uint8Array, Uint8Array>();

/** Rewrites a search in plain form. An earlier model may have made it in a form that the present model does not know. */
function withoutSearch({ tools: { deferral } }: Wire, message: Uint8Array): Uint8Array {
  const known = withoutSearches.get(message);
  if (deferral === undefined || known !== undefined) return known ?? message;
  const json = decodeMessage(message);
  const plain = deferral.plain(json);
  const bytes = plain === json ? message : encodeMessage(plain);
  withoutSearches.set(message, bytes);
  return bytes;
}

/** Names of the tools in each answer to a search. */
const namedIn = new WeakMap<Uint8Array, readonly string[]>();

/** Removes tools that the client has dropped since a search found them. No message may name them any more. */
function withListed(
  { tools: { deferral } }: Wire,
  message: Uint8Array,
  listed: Rendering["listed"],
): Uint8Array {
  if (deferral?.named === undefined || listed === undefined) return message;
  const isListed = (name: string): boolean => listed.has(name);
  const names = namedIn.get(message) ?? deferral.named(decodeMessage(message));
  namedIn.set(message, names);
  if (names.every(isListed)) return message;
  return encodeMessage(deferral.plain(decodeMessage(message), isListed));
}

/** A message with the new texts of some of its parts. */
interface Rendered {
  readonly wire: Wire;
  readonly replacements: readonly Replacement[];
  readonly bytes: Uint8Array;
}

/** The newest rendering of each message that stays in memory. So a turn renders only what has changed since the last one. */
const rendered = new WeakMap<object, Rendered>();

function isSame(some: readonly Replacement[], others: readonly Replacement[]): boolean {
  if (some === others) return true;
  return (
    some.length === others.length &&
    some.every(({ part, inner, text }, index) => {
      const other = others[index];
      return other?.part === part && other.inner === inner && other.text === text;
    })
  );
}

class Canvas {
  readonly #conversation: Conversation;
  readonly #rendering: Rendering;
  readonly #gaps: readonly Gap[];
  /** Changed messages, by index. */
  readonly #changed = new Map<number, Uint8Array>();
  /** By index of a message that was joined to an earlier one: the index of that earlier message. */
  readonly #joinedTo = new Map<number, number>();
  readonly #patches: Patch[] = [];

  constructor(conversation: Conversation, rendering: Rendering, gaps: readonly Gap[]) {
    this.#conversation = conversation;
    this.#rendering = rendering;
    this.#gaps = gaps;
  }

  /** Contract: called before everything else, and once for each message. */
  replace(index: number, replacements: readonly Replacement[]): void {
    const { wire } = this.#rendering;
    const key = this.#conversation.keys?.[index];
    const known = key && rendered.get(key);
    if (known?.wire === wire && isSame(known.replacements, replacements)) {
      this.#changed.set(index, known.bytes);
      return;
    }
    const bytes = this.#bytesAt(index);
    if (bytes === undefined) return;
    const replaced = replaceParts(wire, bytes, replacements);
    if (replaced === bytes) return;
    this.#changed.set(index, replaced);
    if (key !== undefined) rendered.set(key, { wire, replacements, bytes: replaced });
  }

  gap(gap: Gap): void {
    const mark = this.#markIn(gap);
    const own = { text: gap.text, ...(mark === undefined ? {} : { mark }) };
    const isInside = this.#rendering.ownTextPlacement === "inside";
    // A cache mark cannot be a message by itself. It can only move into a neighbour.
    const isSilent = gap.text === "" && (mark === undefined || !isInside);
    const isCarried =
      isInside &&
      !isSilent &&
      (this.#carry(gap.first - 1, own, "last") || this.#carry(gap.last + 1, own, "first"));
    const elements = isCarried || isSilent ? [] : [this.#ownMessage(own)];
    const isJoined = isInside && this.#join(gap.first - 1, gap.last + 1);
    this.#patches.push({ first: gap.first, end: gap.last + (isJoined ? 2 : 1), elements });
  }

  /**
   * When messages are removed, the messages before and after the gap may have to become one. Returns true if they were joined.
   */
  #join(before: number, behind: number): boolean {
    const [first, second] = [this.#bytesAt(before), this.#bytesAt(behind)];
    if (first === undefined || second === undefined || this.#isGone(behind)) return false;
    const joined = this.#rendering.wire.edit.joinMessages(first, second);
    if (joined === undefined || this.#isGone(before)) return false;
    const place = this.#joinedTo.get(before) ?? before;
    this.#changed.set(place, joined);
    this.#changed.delete(behind);
    this.#joinedTo.set(behind, place);
    return true;
  }

  #isGone(index: number): boolean {
    return this.#gaps.some(({ first, last }) => first <= index && index <= last);
  }

  note(after: number, own: OwnText): void {
    const isCarried =
      this.#rendering.ownTextPlacement === "inside" &&
      (this.#carry(after, own, "last") || this.#carry(after + 1, own, "first"));
    if (!isCarried)
      this.#patches.push({ first: after + 1, end: after + 1, elements: [this.#ownMessage(own)] });
  }

  /**
   * Shows the inner rounds in place of an answer. If any of their messages is not loaded, the answer stays as the client sent it.
   */
  expand({ first, last, inner, isInPieces }: Expansion, isSearched: boolean): void {
    const innerMessages = inner.flatMap((seq) => this.#conversation.innerAt(seq) ?? []);
    const { wire, listed } = this.#rendering;
    const elements = innerMessages.map((bytes) =>
      isSearched ? withListed(wire, bytes, listed) : withoutSearch(wire, bytes),
    );
    const final = elements.at(-1);
    if (elements.length !== inner.length || final === undefined) return;
    if (isInPieces === true) {
      const beforeAnswer = beforeLastAnswer(wire, elements);
      if (beforeAnswer.length > 0)
        this.#patches.push({ first, end: first, elements: beforeAnswer });
      return;
    }
    const mark = this.#markIn({ first, last });
    const marked = mark === undefined ? elements : this.#marked(elements, mark);
    const joined = this.#isGone(last + 1) ? undefined : this.#withOwedResults(final, last + 1);
    for (let index = first; index <= last + (joined === undefined ? 0 : 1); index++)
      this.#changed.delete(index);
    this.#patches.push({
      first,
      end: last + (joined === undefined ? 1 : 2),
      elements: joined === undefined ? marked : [...marked.slice(0, -1), joined],
    });
  }

  /** Shows an answer in the client's words and removes the parts that make sense only next to a call of Plimsoll's tools. */
  contract({ first, last, inner }: Expansion): void {
    const innerMessages = inner.flatMap((seq) => this.#conversation.innerAt(seq) ?? []);
    for (let index = first; index <= last; index++) {
      const bytes = this.#isGone(index) ? undefined : this.#bytesAt(index);
      const left = bytes && this.#rendering.wire.rounds.withoutLookups(bytes, innerMessages);
      if (left === undefined || left === bytes) continue;
      this.#changed.delete(index);
      if (left === "nothing") this.#patches.push({ first: index, end: index + 1, elements: [] });
      else this.#changed.set(index, left);
    }
  }

  /** If roles must alternate, Plimsoll's results and the client's results for one answer become one message. */
  #withOwedResults(results: Uint8Array, next: number): Uint8Array | undefined {
    const bytes = this.#rendering.ownTextPlacement === "inside" ? this.#bytesAt(next) : undefined;
    return bytes && this.#rendering.wire.edit.joinMessages(results, bytes);
  }

  #marked(elements: readonly Uint8Array[], mark: JsonValue): readonly Uint8Array[] {
    const { wire } = this.#rendering;
    const at = elements.findLastIndex((bytes) => wire.cache.withMark(bytes, mark) !== undefined);
    return elements.map((bytes, index) =>
      index === at ? (wire.cache.withMark(bytes, mark) ?? bytes) : bytes,
    );
  }

  /** Puts the text into a message, unless that message is inside a gap. */
  #carry(index: number, own: OwnText, end: "first" | "last"): boolean {
    const bytes = this.#isGone(index) ? undefined : this.#bytesAt(index);
    const carried = bytes && this.#rendering.wire.edit.carryText(bytes, own, end);
    if (carried === undefined) return false;
    this.#changed.set(this.#joinedTo.get(index) ?? index, carried);
    return true;
  }

  #bytesAt(index: number): Uint8Array | undefined {
    if (index < 0 || index >= this.#conversation.length) return undefined;
    const place = this.#joinedTo.get(index) ?? index;
    return this.#changed.get(place) ?? this.#conversation.bytesAt(place);
  }

  /**
   * The client's cache mark in messages that are removed. It moves to the text that replaces them. If there are several marks,
   * the last one is used.
   */
  #markIn(gap: Range): OwnText["mark"] {
    if (!this.#conversation.mayCarryMark(gap)) return undefined;
    for (let index = gap.last; index >= gap.first; index--) {
      const mark = this.#rendering.wire.cache.markIn(this.#conversation.bytesAt(index));
      if (mark !== undefined) return mark;
    }
    return undefined;
  }

  #ownMessage(own: OwnText): Uint8Array {
    return encoder.encode(JSON.stringify(this.#rendering.wire.edit.ownMessage(own)));
  }

  patches(): readonly Patch[] {
    const changed = [...this.#changed].map(([index, bytes]) => ({
      first: index,
      end: index + 1,
      elements: [bytes],
    }));
    const inOrder = [...this.#patches, ...changed].toSorted(
      (left, right) => left.first - right.first || left.end - right.end,
    );
    return mergeNeighbours(inOrder);
  }
}

/** Adds a patch for the end of the conversation. */
export function withPatch(patches: readonly Patch[], last: Patch): readonly Patch[] {
  return mergeNeighbours([...patches, last]);
}

/** Merges patches that touch, so that no two of them share a comma. */
function mergeNeighbours(patches: readonly Patch[]): readonly Patch[] {
  const merged: Patch[] = [];
  for (const patch of patches) {
    const last = merged.at(-1);
    if (last !== undefined && last.end === patch.first) {
      const elements = [...last.elements, ...patch.elements];
      merged[merged.length - 1] = { first: last.first, end: patch.end, elements };
    } else merged.push(patch);
  }
  return merged;
}

export interface BodyChanges {
  readonly patches: readonly Patch[];
  /** New values for top-level fields, as JSON text. */
  readonly fields?: ReadonlyMap<string, string>;
  readonly tools?: VisibleTools;
}

/** The client's body with these changes. All other bytes stay the same. */
export function patchBody(
  body: Uint8Array,
  slices: BodySlices,
  wire: BesideWire,
  changes: BodyChanges,
): Uint8Array {
  const elements = slices.elements.get(wire.fields.messages) ?? [];
  return applySplices(body, [
    ...changes.patches.flatMap((patch) => spliceOf(patch, elements) ?? []),
    ...splicesBeside(body, slices, wire, changes),
  ]);
}

/** The parts of a wire that tell where fields and tools are. */
export interface BesideWire {
  readonly fields: Pick<FieldNames, "messages">;
  readonly tools: Pick<WireTools, "list">;
}

/** The changes to fields and tools, which are outside the conversation. */
function splicesBeside(
  body: Uint8Array,
  slices: BodySlices,
  wire: BesideWire,
  { fields, tools }: BodyChanges,
): readonly Splice[] {
  const neighbour = wire.fields.messages;
  return [
    ...[...(fields ?? [])].map(([name, json]) => fieldSplice(slices, name, json, neighbour)),
    ...(tools === undefined || tools.elements.length === 0
      ? []
      : wire.tools.list.splices(body, slices, tools)),
  ];
}

/** If a message contains a tool list, changes the list there. */
export function withToolsInMessage(
  { tools, ...changes }: BodyChanges,
  { message, elements }: ToolsInMessage,
  bytes: Uint8Array,
): BodyChanges {
  if (tools === undefined || tools.elements.length === 0) return changes;
  const changed = applySplices(bytes, toolSplices(elements, tools));
  const patch = { first: message, end: message + 1, elements: [changed] };
  const [before, behind] = [
    changes.patches.filter(({ end }) => end <= message),
    changes.patches.filter(({ first }) => first > message),
  ];
  return { ...changes, patches: mergeNeighbours([...before, patch, ...behind]) };
}

/** The client's body with its whole conversation written out, including the part that the provider stored. */
export function expandBody(
  body: Uint8Array,
  slices: BodySlices,
  wire: BesideWire,
  { elements, ...changes }: BodyChanges & { readonly elements: readonly Uint8Array[] },
): Uint8Array {
  const list = patchList(elements, changes.patches, (bytes) => bytes);
  const messages = Buffer.concat([Buffer.from("["), joinElements(list), Buffer.from("]")]);
  const known = slices.fields.get(wire.fields.messages);
  return applySplices(body, [
    ...(known === undefined ? [] : [{ ...known, text: messages }]),
    ...splicesBeside(body, slices, wire, changes),
  ]);
}

function spliceOf(
  { first, end, elements: added }: Patch,
  elements: readonly Slice[],
): Splice | undefined {
  if (end > first && added.length === 0) {
    const range = elementsRange(elements, first, end - 1);
    return range && { ...range, text: "" };
  }
  const from = elements[first];
  const last = elements[end - 1];
  if (end > first)
    return from && last && { start: from.start, end: last.end, text: joinElements(added) };
  // The text of an insertion includes the comma that separates it from its neighbour.
  const before = elements[first - 1];
  if (before !== undefined)
    return { start: before.end, end: before.end, text: joinElements([new Uint8Array(), ...added]) };
  return (
    from && { start: from.start, end: from.start, text: joinElements([...added, new Uint8Array()]) }
  );
}

/** Like `patchBody`, for messages that are objects. The library returns these. */
export function patchList<T>(
  messages: readonly T[],
  patches: readonly Patch[],
  read: (bytes: Uint8Array) => T,
): readonly T[] {
  const list: T[] = [];
  let at = 0;
  for (const { first, end, elements } of patches) {
    for (; at < first; at++) list.push(messages[at] as T);
    list.push(...elements.map(read));
    at = Math.max(at, end);
  }
  for (; at < messages.length; at++) list.push(messages[at] as T);
  return list;
}

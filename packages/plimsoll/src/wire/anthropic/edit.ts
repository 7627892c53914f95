/** The Anthropic Messages wire: where text of ours stands, and how a part of a message comes to say something else. */

import {
  isObject,
  type JsonObject,
  type JsonValue,
  parseObject,
  stringOr,
} from "../../message/json.ts";
import { parseJson, readSlices, type Slice } from "../format/slices.ts";
import { applySplices, elementsRange, type Splice, within } from "../format/splice.ts";
import type { OwnText, PartPlace } from "../format/wire.ts";

const encoder = new TextEncoder();

export function replaceAnthropicPart(
  message: Uint8Array,
  { part, inner }: PartPlace,
  text: string,
): Splice | undefined {
  const { fields, elements } = readSlices(message);
  const blocks = elements.get("content");
  if (blocks === undefined) {
    const content = part === 0 ? fields.get("content") : undefined;
    return content && { ...content, text: JSON.stringify(text) };
  }
  const block = blocks[part];
  return block && replaceBlock(message, block, text, inner);
}

/** Reasoning is signed, the unknown stays: only these may say something else. Of a call, its arguments. */
function replaceBlock(
  message: Uint8Array,
  block: Slice,
  text: string,
  inner?: number,
): Splice | undefined {
  const bytes = message.subarray(block.start, block.end);
  const json = parseJson(bytes, { start: 0, end: bytes.length });
  if (!isObject(json)) return undefined;
  switch (json["type"]) {
    case "text": {
      const value = readSlices(bytes).fields.get("text");
      return value && { ...within(block, value), text: JSON.stringify(text) };
    }
    case "image":
    case "document":
      return { ...block, text: JSON.stringify(textBlock({ text, ...markOf(json) })) };
    case "tool_use": {
      const input = readSlices(bytes).fields.get("input");
      const isArguments = parseObject(text || "{}") !== undefined;
      return input && isArguments ? { ...within(block, input), text: text || "{}" } : undefined;
    }
    case "tool_result":
      return replaceResult(message, block, { text, ...markInside(json["content"]) }, inner);
    default:
      return undefined;
  }
}

function replaceResult(
  message: Uint8Array,
  block: Slice,
  own: OwnText,
  inner?: number,
): Splice | undefined {
  const { fields, elements } = readSlices(message.subarray(block.start, block.end));
  const blocks = elements.get("content");
  if (inner !== undefined && blocks !== undefined) {
    const found = blocks[inner];
    return found && replaceBlock(message, within(block, found), own.text);
  }
  const content = fields.get("content");
  const text = JSON.stringify(own.mark === undefined ? own.text : [textBlock(own)]);
  return content && { ...within(block, content), text };
}

export function textBlock({ text, mark }: OwnText): JsonObject {
  return { type: "text", text, ...(mark === undefined ? {} : { cache_control: mark }) };
}

/** At the end behind everything, also behind results; at the start only where no result must come first. */
export function carryAnthropicText(
  message: Uint8Array,
  own: OwnText,
  end: "first" | "last",
): Uint8Array | undefined {
  const { fields, elements } = readSlices(message);
  const content = fields.get("content");
  const role = fields.get("role");
  if (content === undefined || role === undefined || parseJson(message, role) !== "user")
    return undefined;
  const ours = JSON.stringify(textBlock(own));
  const blocks = elements.get("content");
  if (blocks === undefined) {
    if (message[content.start] !== quote) return undefined;
    const [before, after] = end === "first" ? [`${ours},`, ""] : ["", `,${ours}`];
    return applySplices(message, [
      { start: content.start, end: content.start, text: `[${before}{"type":"text","text":` },
      { start: content.end, end: content.end, text: `}${after}]` },
    ]);
  }
  const [first, last] = [blocks[0], blocks.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  if (end === "last")
    return applySplices(message, [{ start: last.end, end: last.end, text: `,${ours}` }]);
  return isResult(parseJson(message, first))
    ? undefined
    : applySplices(message, [{ start: first.start, end: first.start, text: `${ours},` }]);
}

/** The first one as it stands, with the blocks of the second behind its own. */
export function joinAnthropicMessages(
  first: Uint8Array,
  second: Uint8Array,
): Uint8Array | undefined {
  const [one, other] = [contentOf(first), contentOf(second)];
  if (one === undefined || other === undefined) return undefined;
  // Results must come first, and these would not.
  if (other.hasResults && !one.isAllResults) return undefined;
  const blocks = Buffer.concat([one.blocks, Buffer.from(","), other.blocks]);
  const text = Buffer.concat([Buffer.from("["), blocks, Buffer.from("]")]);
  return applySplices(first, [{ ...one.content, text }]);
}

/** The blocks of a user's message, without their brackets. */
function contentOf(message: Uint8Array):
  | {
      readonly content: Slice;
      readonly blocks: Uint8Array;
      readonly hasResults: boolean;
      readonly isAllResults: boolean;
    }
  | undefined {
  const { fields, elements } = readSlices(message);
  const content = fields.get("content");
  const role = fields.get("role");
  if (content === undefined || role === undefined || parseJson(message, role) !== "user")
    return undefined;
  const slices = elements.get("content");
  if (slices === undefined) {
    if (message[content.start] !== quote) return undefined;
    const text = message.subarray(content.start, content.end);
    const block = [Buffer.from('{"type":"text","text":'), text, Buffer.from("}")];
    return {
      content,
      blocks: Buffer.concat(block),
      hasResults: false,
      isAllResults: false,
    };
  }
  const [start, end] = [slices[0]?.start, slices.at(-1)?.end];
  if (start === undefined || end === undefined) return undefined;
  const results = slices.filter((slice) => isResult(parseJson(message, slice))).length;
  return {
    content,
    blocks: message.subarray(start, end),
    hasResults: results > 0,
    isAllResults: results === slices.length,
  };
}

const quote = 0x22;

function isResult(block: JsonValue): boolean {
  return isObject(block) && stringOr(block["type"], "").endsWith("tool_result");
}

export function anthropicCacheMark(
  message: Uint8Array,
  which: "first" | "last" = "last",
): JsonValue | undefined {
  const json = parseJson(message, { start: 0, end: message.length });
  const marks = isObject(json) ? marksInside(json["content"]) : [];
  return which === "first" ? marks[0] : marks.at(-1);
}

const markName = encoder.encode('"cache_control"');
const backslash = 0x5c;

/** As the name of a field, never inside a text: there its quotes would be escaped. */
export function countAnthropicMarks(body: Uint8Array): number {
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.length);
  let count = 0;
  for (let at = buffer.indexOf(markName); at >= 0; at = buffer.indexOf(markName, at + 1))
    if (buffer[at - 1] !== backslash) count++;
  return count;
}

const longMark = /"ttl"\s*:\s*"1h"/;

/** Quotes in a text are escaped, so only fields are found. */
export function hasLongAnthropicMarks(body: Uint8Array): boolean {
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.length);
  for (let at = buffer.indexOf(markName); at >= 0; at = buffer.indexOf(markName, at + 1))
    if (longMark.test(buffer.toString("latin1", at, at + markChars))) return true;
  return false;
}

/** A mark with its name, type and time. */
const markChars = 96;

/** On its last block; thinking takes none. */
export function markAnthropicMessage(message: Uint8Array, mark: JsonValue): Uint8Array | undefined {
  const { fields, elements } = readSlices(message);
  const content = fields.get("content");
  if (content !== undefined && message[content.start] === quote) {
    const text = parseJson(message, content);
    // An empty text cannot be marked.
    if (typeof text !== "string" || text.trim() === "") return undefined;
    return applySplices(message, [
      { ...content, text: JSON.stringify([textBlock({ text, mark })]) },
    ]);
  }
  const last = elements.get("content")?.at(-1);
  const block = last && parseJson(message, last);
  if (last === undefined || !isObject(block) || thoughts.has(stringOr(block["type"], "")))
    return undefined;
  if (block["type"] === "text" && stringOr(block["text"], "").trim() === "") return undefined;
  const at = last.end - 1;
  const text = `,"cache_control":${JSON.stringify(mark)}`;
  return applySplices(message, [{ start: at, end: at, text }]);
}

const thoughts = new Set(["thinking", "redacted_thinking"]);

/** Thinking that led to a call must not end a message when the call is not there. */
export function withoutLastThinking(message: Uint8Array): Uint8Array {
  const blocks = readSlices(message).elements.get("content") ?? [];
  const isThought = (slice: Slice): boolean => {
    const block = parseJson(message, slice);
    return isObject(block) && thoughts.has(stringOr(block["type"], ""));
  };
  const last = blocks.findLastIndex((slice) => !isThought(slice));
  const [first, end] = [blocks[0], blocks.at(-1)];
  if (first === undefined || end === undefined || last === blocks.length - 1) return message;
  if (last < 0) {
    const text = JSON.stringify(
      textBlock({ text: "[Plimsoll: here the model only looked something up.]" }),
    );
    return applySplices(message, [{ start: first.start, end: end.end, text }]);
  }
  const range = elementsRange(blocks, last + 1, blocks.length - 1);
  return range === undefined ? message : applySplices(message, [{ ...range, text: "" }]);
}

function markInside(content: JsonValue | undefined): { readonly mark?: JsonValue } {
  const mark = marksInside(content).at(-1);
  return mark === undefined ? {} : { mark };
}

/** In their order; the mark of a result stands behind those inside of it. */
function marksInside(content: JsonValue | undefined): readonly JsonValue[] {
  return (Array.isArray(content) ? content : []).filter(isObject).flatMap((block) => {
    const inner = block["type"] === "tool_result" ? marksInside(block["content"]) : [];
    const { mark } = markOf(block);
    return mark === undefined ? inner : [...inner, mark];
  });
}

function markOf(block: JsonObject): { readonly mark?: JsonValue } {
  const mark = block["cache_control"];
  return mark === undefined || mark === null ? {} : { mark };
}

/** The OpenAI Chat wire: puts Plimsoll's texts into messages, and replaces parts of them. */

import {
  isObject,
  type JsonObject,
  type JsonValue,
  parseObject,
  stringOr,
} from "../../message/json.ts";
import { parseJson, readSlices, type Slice } from "../format/slices.ts";
import { applySplices, type Splice, within, withoutElement } from "../format/splice.ts";
import type { OwnText, PartPlace, WireEdit } from "../format/wire.ts";
import { markInside } from "./cache.ts";

export const chatEdit: WireEdit = {
  replacePart,
  leaveOut,
  ownMessage,
  ownTextPlacement: "alone",
  carryText,
  joinMessages,
};

/**
 * In a result, the text replaces the whole content. In other messages, it replaces one part. For a call, it replaces the
 * arguments. Refusals stay.
 */
function replacePart(message: Uint8Array, place: PartPlace, text: string): Splice | undefined {
  const json = parseJson(message, { start: 0, end: message.length });
  if (!isObject(json)) return undefined;
  const { fields, elements } = readSlices(message);
  const isResult = json["role"] === "tool" || json["role"] === "function";
  const part = place.part - reasoningParts(json);
  const call = isResult ? -1 : part - partsBeforeCalls(json);
  if (call >= 0) return replaceArguments(message, elements.get("tool_calls")?.[call], text);
  const content = fields.get("content");
  if (content === undefined) return undefined;
  const found = { message, json, content, parts: elements.get("content") };
  return isResult ? replaceResult(found, place, text) : replaceIn(found, part, text);
}

/** The number of parts before the calls: those of the content, and the refusal. */
function partsBeforeCalls({ content, refusal }: JsonObject): number {
  const texts = typeof content === "string" && content !== "" ? 1 : 0;
  return (Array.isArray(content) ? content.length : texts) + (typeof refusal === "string" ? 1 : 0);
}

/** The new arguments must be a JSON object. */
function replaceArguments(
  message: Uint8Array,
  call: Slice | undefined,
  text: string,
): Splice | undefined {
  const details = call && fieldOf(message, call, "function");
  const written = details && fieldOf(message, details, "arguments");
  if (written === undefined || parseObject(text || "{}") === undefined) return undefined;
  return { ...written, text: JSON.stringify(text) };
}

function fieldOf(message: Uint8Array, slice: Slice, name: string): Slice | undefined {
  const found = readSlices(message.subarray(slice.start, slice.end)).fields.get(name);
  return found && within(slice, found);
}

interface FoundContent {
  readonly message: Uint8Array;
  readonly json: JsonObject;
  readonly content: Slice;
  readonly parts: readonly Slice[] | undefined;
}

function replaceResult(
  found: FoundContent,
  { part, inner }: PartPlace,
  text: string,
): Splice | undefined {
  if (part !== 0) return undefined;
  if (inner !== undefined && found.parts !== undefined) return replaceIn(found, inner, text);
  const mark = markInside(found.json["content"]);
  const value = mark === undefined ? text : [textPart({ text, mark })];
  return { ...found.content, text: JSON.stringify(value) };
}

function replaceIn(
  { message, json, content, parts }: FoundContent,
  place: number,
  text: string,
): Splice | undefined {
  if (parts !== undefined) {
    const slice = parts[place];
    return slice && replaceContentPart(message, slice, text);
  }
  const isText = typeof json["content"] === "string" && json["content"] !== "";
  return place === 0 && isText ? { ...content, text: JSON.stringify(text) } : undefined;
}

/** Next to calls, the content may be null. */
function leaveOut(message: Uint8Array, place: number): Splice | undefined {
  const json = parseJson(message, { start: 0, end: message.length });
  if (!isObject(json)) return undefined;
  const { fields, elements } = readSlices(message);
  const part = place - reasoningParts(json);
  const parts = elements.get("content");
  const slice = parts?.[part];
  if (parts !== undefined && slice !== undefined && isPlainText(parseJson(message, slice)))
    return withoutElement(parts, part);
  const content = typeof json["content"] === "string" ? fields.get("content") : undefined;
  const calls = json["tool_calls"];
  const isBeforeCalls = part === 0 && Array.isArray(calls) && calls.length > 0;
  return content && isBeforeCalls ? { ...content, text: "null" } : undefined;
}

/** A text without a cache mark. The mark of the client has to stay where it is. */
function isPlainText(part: JsonValue): boolean {
  return isObject(part) && part["type"] === "text" && part["cache_control"] === undefined;
}

/** The number of reasoning parts. Decoding puts them before the content. */
function reasoningParts(message: JsonObject): number {
  const reasoning = message["reasoning_content"] ?? message["reasoning"];
  return typeof reasoning === "string" && reasoning !== "" ? 1 : 0;
}

function replaceContentPart(message: Uint8Array, slice: Slice, text: string): Splice | undefined {
  const json = parseJson(message, slice);
  if (!isObject(json)) return undefined;
  switch (json["type"]) {
    case "text": {
      const value = readSlices(message.subarray(slice.start, slice.end)).fields.get("text");
      return value && { ...within(slice, value), text: JSON.stringify(text) };
    }
    case "image_url":
    case "file": {
      const mark = json["cache_control"];
      return { ...slice, text: JSON.stringify(textPart({ text, ...(mark ? { mark } : {}) })) };
    }
    default:
      return undefined;
  }
}

function textPart({ text, mark }: OwnText): JsonObject {
  return { type: "text", text, ...(mark === undefined ? {} : { cache_control: mark }) };
}

function ownMessage(own: OwnText): JsonObject {
  return { role: "user", content: own.mark === undefined ? own.text : [textPart(own)] };
}

/** Puts Plimsoll's text into the neighbouring user or tool message, for servers on which roles must alternate. */
function carryText(
  message: Uint8Array,
  own: OwnText,
  end: "first" | "last",
): Uint8Array | undefined {
  const json = parseJson(message, { start: 0, end: message.length });
  if (!isObject(json) || !carriers.has(stringOr(json["role"], ""))) return undefined;
  const { fields, elements } = readSlices(message);
  const content = fields.get("content");
  if (content === undefined) return undefined;
  const parts = elements.get("content");
  const ours = JSON.stringify(textPart(own));
  if (parts === undefined) {
    // In a user message, the user's text stays a separate part. In a result, the texts are joined, because strict servers accept
    // only a plain text there.
    return json["role"] === "user"
      ? carryBeside(message, content, ours, end)
      : carryInText(message, content, own.text, end);
  }
  const [first, last] = [parts[0], parts.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const splice =
    end === "first"
      ? { start: first.start, end: first.start, text: `${ours},` }
      : { start: last.end, end: last.end, text: `,${ours}` };
  return applySplices(message, [splice]);
}

const carriers = new Set(["user", "tool", "function"]);

function carryBeside(
  message: Uint8Array,
  content: Slice,
  ours: string,
  end: "first" | "last",
): Uint8Array | undefined {
  if (typeof parseJson(message, content) !== "string") return undefined;
  const [before, after] = end === "first" ? [`${ours},`, ""] : ["", `,${ours}`];
  return applySplices(message, [
    { start: content.start, end: content.start, text: `[${before}{"type":"text","text":` },
    { start: content.end, end: content.end, text: `}${after}]` },
  ]);
}

function carryInText(
  message: Uint8Array,
  content: Slice,
  text: string,
  end: "first" | "last",
): Uint8Array | undefined {
  const known = parseJson(message, content);
  if (typeof known !== "string") return undefined;
  const ours = JSON.stringify(end === "first" ? `${text}\n\n` : `\n\n${text}`).slice(1, -1);
  const at = end === "first" ? content.start + 1 : content.end - 1;
  return applySplices(message, [{ start: at, end: at, text: ours }]);
}

/** Joins two user messages, for servers on which roles must alternate. Each text stays a separate part. */
function joinMessages(first: Uint8Array, second: Uint8Array): Uint8Array | undefined {
  const [one, other] = [userParts(first), userParts(second)];
  if (one === undefined || other === undefined) return undefined;
  const text = JSON.stringify([...one.parts, ...other.parts]);
  return applySplices(first, [{ ...one.content, text }]);
}

function userParts(
  message: Uint8Array,
): { readonly content: Slice; readonly parts: readonly JsonValue[] } | undefined {
  const json = parseJson(message, { start: 0, end: message.length });
  const content = readSlices(message).fields.get("content");
  if (!isObject(json) || json["role"] !== "user" || content === undefined) return undefined;
  const oldContent = json["content"];
  if (typeof oldContent === "string") return { content, parts: [textPart({ text: oldContent })] };
  return Array.isArray(oldContent) ? { content, parts: oldContent } : undefined;
}

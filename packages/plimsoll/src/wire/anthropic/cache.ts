/** The Anthropic Messages wire: cache marks. */

import { isObject, type JsonObject, type JsonValue, stringOr } from "../../message/json.ts";
import { parseJson, readSlices } from "../format/slices.ts";
import { applySplices } from "../format/splice.ts";
import type { OwnText, WireCache } from "../format/wire.ts";

export const anthropicCache: WireCache = {
  markField: "cache_control",
  usualMark: { type: "ephemeral" },
  // platform.claude.com/docs/en/build-with-claude/prompt-caching: "What invalidates the cache".
  dependsOnToolChoice: true,
  isLongMark: (mark) => isObject(mark) && mark["ttl"] === "1h",
  countMarks,
  hasLongMarks,
  markIn,
  withMark,
  markOn: (block) => (isObject(block) ? (block["cache_control"] ?? undefined) : undefined),
  markTool: (tool, mark) => ({
    ...withoutCacheMarks(tool),
    ...(mark === undefined ? {} : { cache_control: mark }),
  }),
  blocks: (message) => {
    const { content } = message;
    return Array.isArray(content) && content.length > 0 ? content : [message];
  },
};

function markIn(message: Uint8Array, which: "first" | "last" = "last"): JsonValue | undefined {
  const json = parseJson(message, { start: 0, end: message.length });
  const marks = isObject(json) ? marksInside(json["content"]) : [];
  return which === "first" ? marks[0] : marks.at(-1);
}

const markName = new TextEncoder().encode('"cache_control"');

const backslash = 0x5c;

/** Searches for the field name with its quotes. Inside a text the quotes would be escaped, so only fields are counted. */
function countMarks(body: Uint8Array): number {
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.length);
  let count = 0;
  for (let at = buffer.indexOf(markName); at >= 0; at = buffer.indexOf(markName, at + 1))
    if (buffer[at - 1] !== backslash) count++;
  return count;
}

const longMark = /"ttl"\s*:\s*"1h"/;

/** Searches for the field name with its quotes. Inside a text the quotes would be escaped, so only fields are found. */
function hasLongMarks(body: Uint8Array): boolean {
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.length);
  for (let at = buffer.indexOf(markName); at >= 0; at = buffer.indexOf(markName, at + 1))
    if (longMark.test(buffer.toString("latin1", at, at + markChars))) return true;
  return false;
}

/** Maximum length of a mark with its name, type and lifetime, in characters. */
const markChars = 96;

const quote = 0x22;

/** Sets the cache mark on the last block. A thinking block cannot have a mark. */
function withMark(message: Uint8Array, mark: JsonValue): Uint8Array | undefined {
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

export const thoughts = new Set(["thinking", "redacted_thinking"]);

export function textBlock({ text, mark }: OwnText): JsonObject {
  return { type: "text", text, ...(mark === undefined ? {} : { cache_control: mark }) };
}

/** Removes cache marks. They move every turn and are not part of the conversation. */
export function withoutCacheMarks(value: JsonObject): JsonObject {
  const { cache_control: _mark, ...rest } = value;
  return rest;
}

export function markInside(content: JsonValue | undefined): { readonly mark?: JsonValue } {
  const mark = marksInside(content).at(-1);
  return mark === undefined ? {} : { mark };
}

/** The cache marks in order. A mark on a tool result comes after the marks inside that result. */
function marksInside(content: JsonValue | undefined): readonly JsonValue[] {
  return (Array.isArray(content) ? content : []).filter(isObject).flatMap((block) => {
    const inner = block["type"] === "tool_result" ? marksInside(block["content"]) : [];
    const { mark } = markOf(block);
    return mark === undefined ? inner : [...inner, mark];
  });
}

export function markOf(block: JsonObject): { readonly mark?: JsonValue } {
  const mark = block["cache_control"];
  return mark === undefined || mark === null ? {} : { mark };
}

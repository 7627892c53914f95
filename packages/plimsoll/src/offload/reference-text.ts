/**
 * Writes the reference that replaces a result. It states the size and kind of the result, quotes its beginning, and says how to
 * read all of it.
 */

import { withoutHandles } from "../message/handle.ts";
import { isObject, type JsonValue } from "../message/json.ts";
import { grouped } from "../text/digits.ts";
import { documentTexts, type Wording } from "../text/document-texts.ts";
import { type FollowedBy, mediaTexts, movedResult } from "../text/for-models.ts";
import { oneSeenLine } from "../text/unseen.ts";

export interface DescribedResult {
  readonly text: string;
  /** Number of bytes of the text in UTF-8. */
  readonly bytes: number;
  /** Name of the tool that was called. Undefined if the call is not known. */
  readonly tool?: string | undefined;
  readonly handle: string;
  /** Name of the tool that reads results. Undefined if the model has no such tool. */
  readonly readingTool?: string | undefined;
  /** The kind of text after the reference. If there is such a text, the reference does not quote the beginning. */
  readonly followedBy?: FollowedBy | undefined;
  readonly texts?: Wording | undefined;
}

/**
 * Maximum length of the quoted beginning. The bytes are limited, too, because characters of other scripts take more bytes and
 * more tokens.
 */
const preview = { chars: 200, bytes: 300 };
const toolChars = 64;
/** Maximum length of a JSON text that is parsed to list its keys. */
const parsedChars = 4 * 1024 * 1024;
const shape = { chars: 160, keys: 12, innerKeys: 6, keyChars: 32 };

/**
 * Placeholder until the handle is known. It is as long as a handle and takes one token per character, so no real handle takes
 * more tokens.
 */
export const anyHandle = "pl_4X7q2W9z5K8v3J6y1B7f4H";

/**
 * Contract: the reference is one line, whatever the result contains. It usually takes about 110 tokens, and never many more than
 * 200.
 */
export function describeResult(result: DescribedResult): string {
  const { text, bytes, handle, followedBy, readingTool } = result;
  const write = result.texts === "documents" ? documentTexts.stored : movedResult;
  return write({
    tool: result.tool === undefined ? undefined : toolName(result.tool),
    bytes: grouped(bytes),
    lines: linesIn(text),
    shape: shapeOf(text),
    followedBy,
    beginning: followedBy === undefined ? beginningOf(text) : "",
    handle,
    readResult: readingTool,
  });
}

/** The reference for an image or a document, whose content cannot be quoted or read as text. */
export function describeMedia(media: {
  readonly kind: "image" | "document";
  readonly tool: string;
  readonly handle: string;
}): string {
  return mediaTexts.tooLarge(media.kind, toolName(media.tool), media.handle);
}

function toolName(tool: string): string {
  return harmless(tool).slice(0, toolChars);
}

function linesIn(text: string): string {
  let lines = text === "" || text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
  return lines === 1 ? "1 line" : `${grouped(lines)} lines`;
}

/** Number of characters to read for each character shown. More are read because white space is then collapsed. */
const lookedAt = 5;

function beginningOf(text: string): string {
  const line = harmless(text.slice(0, preview.chars * lookedAt)).replaceAll('"', "'");
  const isCut = text.length > preview.chars * lookedAt;
  let [shown, bytes, chars] = ["", 0, 0];
  for (const character of line) {
    bytes += utf8Bytes(character);
    chars++;
    if (bytes > preview.bytes || chars > preview.chars) return `${shown}…`;
    shown += character;
  }
  return isCut ? `${shown}…` : shown;
}

const encoder = new TextEncoder();

export function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}

/** The visible text on one line, without anything that looks like Plimsoll's own marks. */
function harmless(text: string): string {
  return withoutOurMarks(oneSeenLine(text)).trim();
}

/**
 * Changes text that looks like a handle, notice or mark, because only Plimsoll may write these. The result is never longer than
 * the text.
 */
export function withoutOurMarks(text: string): string {
  return withoutHandles(text)
    .replace(/\[(?=\s*Plimsoll\b)/gi, "(")
    .replace(/\[(?=\s?…)/g, "(");
}

/** The keys of a JSON text with their types, as many as there is room for. Undefined if the text is not a JSON object or list. */
function shapeOf(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text) || text.length > parsedChars) return undefined;
  try {
    const value = JSON.parse(text) as JsonValue;
    return isObject(value) || Array.isArray(value) ? shapeIn(value, shape.keys) : undefined;
  } catch {
    return undefined;
  }
}

function shapeIn(value: JsonValue, mostKeys: number, room = shape.chars): string {
  if (Array.isArray(value)) {
    const [first] = value as readonly JsonValue[];
    const count = `${grouped(value.length)} × `;
    return first === undefined
      ? "[]"
      : `${count}${shapeIn(first, shape.innerKeys, room - count.length)}`;
  }
  if (!isObject(value)) return value === null ? "null" : typeof value;
  return mostKeys === 0 ? "object" : objectShape(value, mostKeys, room);
}

function objectShape(
  value: Readonly<Record<string, JsonValue | undefined>>,
  mostKeys: number,
  room: number,
): string {
  const keys = Object.keys(value);
  const members: string[] = [];
  let left = room - 4;
  for (const key of keys.slice(0, mostKeys)) {
    const name = harmless(key).slice(0, shape.keyChars);
    const inner = value[key] ?? null;
    const type = shapeIn(inner, Array.isArray(inner) ? shape.innerKeys : 0, left - name.length - 2);
    const member = `${name}: ${type}`;
    left -= member.length + 2;
    if (left < 0) break;
    members.push(member);
  }
  const rest = members.length < keys.length ? ["…"] : [];
  return `{${[...members, ...rest].join(", ")}}`;
}

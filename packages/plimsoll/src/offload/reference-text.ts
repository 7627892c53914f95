/** The reference that stands in place of a result: how large it was, what it is, how it begins, and where all of it is. */

import { withoutHandles } from "../message/handle.ts";
import { isObject, type JsonValue } from "../message/json.ts";
import { grouped } from "../text/digits.ts";
import { type FollowedBy, mediaTexts, movedResult } from "../text/for-models.ts";
import { oneSeenLine } from "../text/unseen.ts";

export interface DescribedResult {
  readonly text: string;
  /** Of the text, in UTF-8. */
  readonly bytes: number;
  /** What was called; absent where no call is known. */
  readonly tool?: string | undefined;
  readonly handle: string;
  /** What the tool that reads it is called here; absent where the model has none. */
  readonly readingTool?: string | undefined;
  /** What follows the reference; then it does not quote the beginning. */
  readonly followedBy?: FollowedBy | undefined;
}

/** Of the beginning: so many characters, and no more bytes, because other scripts cost more. */
const preview = { chars: 200, bytes: 300 };
const toolChars = 64;
/** Larger texts are not parsed to say what keys they have. */
const parsedChars = 4 * 1024 * 1024;
const shape = { chars: 160, keys: 12, innerKeys: 6, keyChars: 32 };

/** Stands for a handle until it is known: as long as any, and a token for each of its characters, so it is never too cheap. */
export const anyHandle = "pl_4X7q2W9z5K8v3J6y1B7f4H";

/** Contract: one line, whatever the result is; usually some 110 tokens, and never many more than 200. */
export function describeResult(result: DescribedResult): string {
  const { text, bytes, handle, followedBy, readingTool } = result;
  return movedResult({
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

/** Of an image or a document: there is nothing of it to quote, and nothing to read as text. */
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

/** White space shrinks, so more than is shown is looked at. */
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

/** One line of what can be seen, in which nothing looks like ours. */
function harmless(text: string): string {
  return withoutOurMarks(oneSeenLine(text)).trim();
}

/** Handles, notices and gaps are for us to write: what somebody else wrote must not pass for them. Never longer than before. */
export function withoutOurMarks(text: string): string {
  return withoutHandles(text)
    .replace(/\[(?=\s*Plimsoll\b)/gi, "(")
    .replace(/\[(?=\s?…)/g, "(");
}

/** The keys of JSON with their types, as far as there is room; undefined for what is not an object or a list. */
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

/** Finds one value of a JSON text by its path. Works on the bytes, without parsing the whole text or copying it. */

import { jsonPathTexts } from "../text/for-models.ts";
import {
  backslash,
  closeBrace,
  closeBracket,
  closingQuote,
  comma,
  isJsonSpace,
  openBrace,
  openBracket,
  quote,
} from "../text/json-bytes.ts";

export type JsonSelection =
  | { readonly kind: "found"; readonly start: number; readonly end: number }
  /** There is no value at this path. The sentence tells the model what is there instead. */
  | { readonly kind: "absent"; readonly sentence: string };

const stepsMax = 100;

/**
 * Reads `a.b[3].c`, also with `$` before it and names in quotes (`a["x.y"]`), or a JSON pointer (`/a/b/3`). A step such as `3` is
 * a name in an object and an index in a list. Undefined if the text is not a path.
 */
export function readJsonPath(text: string): readonly string[] | undefined {
  const path = text.trim();
  const steps = path.startsWith("/") ? pointerSteps(path) : dottedSteps(path);
  return steps === undefined || steps.length > stepsMax ? undefined : steps;
}

/** RFC 6901: ~1 is a slash, and ~0 is a tilde. */
function pointerSteps(path: string): readonly string[] {
  return path
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

const dottedStep =
  /(?:^|\.)([^.[\]"'\s][^.[\]]*)|\[\s*(\d+)\s*\]|\[\s*("(?:[^"\\]|\\.)*")\s*\]|\[\s*'([^']*)'\s*\]/y;

function dottedSteps(path: string): readonly string[] | undefined {
  const start = path.startsWith("$") ? 1 : 0;
  // Also accepts the form of jq: `.a`, `.[0]` and `.`
  const body = path.slice(start).replace(/^\.(?=\[|$)/, "");
  const steps: string[] = [];
  dottedStep.lastIndex = 0;
  while (dottedStep.lastIndex < body.length) {
    const found = dottedStep.exec(body);
    if (found === null) return undefined;
    const [, name, index, quoted, single] = found;
    const step = name ?? index ?? single ?? unquoted(quoted);
    if (step === undefined) return undefined;
    steps.push(step);
  }
  return steps;
}

function unquoted(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as string);
  } catch {
    return undefined;
  }
}

const noJson: JsonSelection = {
  kind: "absent",
  sentence: jsonPathTexts.notJson,
};
/** Thrown if brackets or quotes are not closed. It is caught in this file. */
const broken = Symbol("broken");

/** Contract: reads the bytes once, up to the value. If two members have the same name, the first is used. Never throws. */
export function selectJson(bytes: Uint8Array, steps: readonly string[]): JsonSelection {
  try {
    let at = afterSpace(bytes, hasMark(bytes) ? 3 : 0);
    for (const [index, step] of steps.entries()) {
      const found = stepInto(bytes, at, step);
      if (typeof found !== "number") {
        const path = index === 0 ? "The content" : `\`${nameOf(steps.slice(0, index))}\``;
        return { kind: "absent", sentence: `${path} ${found.instead}` };
      }
      at = found;
    }
    return { kind: "found", start: at, end: endOfValue(bytes, at) };
  } catch (error) {
    if (error === broken) return noJson;
    throw error;
  }
}

function hasMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function nameOf(steps: readonly string[]): string {
  return steps.join(".").slice(0, 200);
}

interface Absence {
  readonly instead: string;
}

function stepInto(bytes: Uint8Array, at: number, step: string): number | Absence {
  if (bytes[at] === openBrace) return memberOf(bytes, at, step);
  if (bytes[at] === openBracket) return elementOf(bytes, at, step);
  endOfValue(bytes, at);
  return { instead: jsonPathTexts.singleValue };
}

/** Maximum number of member names to list if the requested one is missing. */
const memberNamesMax = 20;

function memberOf(bytes: Uint8Array, at: number, name: string): number | Absence {
  const wanted = new TextEncoder().encode(name);
  const memberNames: string[] = [];
  let members = 0;
  let next = afterSpace(bytes, at + 1);
  while (bytes[next] !== closeBrace) {
    if (bytes[next] !== quote) throw broken;
    const keyEnd = endOfString(bytes, next);
    const key = bytes.subarray(next + 1, keyEnd - 1);
    const value = afterSpace(bytes, afterSpace(bytes, keyEnd) + 1);
    if (isKey(key, wanted, name)) return value;
    members += 1;
    if (memberNames.length < memberNamesMax)
      memberNames.push(new TextDecoder().decode(key).slice(0, 80));
    next = afterValue(bytes, endOfValue(bytes, value), closeBrace);
  }
  if (members === 0) return { instead: jsonPathTexts.noMembers };
  return {
    instead: jsonPathTexts.noMember(name.slice(0, 200), memberNames, members - memberNames.length),
  };
}

function isKey(key: Uint8Array, wanted: Uint8Array, name: string): boolean {
  if (key.includes(backslash)) {
    try {
      return JSON.parse(`"${new TextDecoder().decode(key)}"`) === name;
    } catch {
      throw broken;
    }
  }
  return key.length === wanted.length && key.every((byte, index) => byte === wanted[index]);
}

function elementOf(bytes: Uint8Array, at: number, step: string): number | Absence {
  const wanted = /^\d{1,15}$/.test(step) ? Number(step) : -1;
  let elements = 0;
  let next = afterSpace(bytes, at + 1);
  while (bytes[next] !== closeBracket) {
    if (elements === wanted) return next;
    elements += 1;
    next = afterValue(bytes, endOfValue(bytes, next), closeBracket);
  }
  if (elements === 0) return { instead: jsonPathTexts.noElements };
  return { instead: jsonPathTexts.noElement(elements - 1) };
}

/** Position of the next member or element, or of the closing bracket. */
function afterValue(bytes: Uint8Array, end: number, close: number): number {
  const next = afterSpace(bytes, end);
  if (bytes[next] === close) return next;
  if (bytes[next] !== comma) throw broken;
  return afterSpace(bytes, next + 1);
}

function afterSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && isJsonSpace(bytes[at] ?? 0)) at++;
  return at;
}

/**
 * Position of the end of a value. The kinds of brackets are not compared, so a value with mismatched brackets is returned
 * unchanged.
 */
function endOfValue(bytes: Uint8Array, from: number): number {
  const first = bytes[from];
  if (first === quote) return endOfString(bytes, from);
  if (first !== openBrace && first !== openBracket) return endOfWord(bytes, from);
  let depth = 0;
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === quote) at = endOfString(bytes, at) - 1;
    else if (byte === openBrace || byte === openBracket) depth++;
    else if (byte === closeBrace || byte === closeBracket) depth--;
    if (depth === 0) return at + 1;
  }
  throw broken;
}

function endOfString(bytes: Uint8Array, from: number): number {
  const end = closingQuote(bytes, from + 1);
  if (end < 0) throw broken;
  return end + 1;
}

const word = /^(?:true|false|null|-?\d[\d.eE+-]*)$/;
/** Maximum length of a number in characters. No meaningful number is longer. */
const wordMax = 400;

function endOfWord(bytes: Uint8Array, from: number): number {
  let end = from;
  while (end < bytes.length && end - from < wordMax && isOfWord(bytes[end] ?? 0)) end++;
  if (!word.test(new TextDecoder().decode(bytes.subarray(from, end)))) throw broken;
  return end;
}

function isOfWord(byte: number): boolean {
  return !isJsonSpace(byte) && byte !== comma && byte !== closeBrace && byte !== closeBracket;
}

/**
 * Computes hashes of a message: of its essence, which stays the same if a client spells the message differently, of its words,
 * and of its single texts and calls.
 */

import { canonicalJson, type JsonValue } from "../../message/json.ts";
import type { Message, Part, ToolCallPart } from "../../message/message.ts";
import { shortHash } from "../../store/chain.ts";
import type { Marks } from "../log/log.ts";

/** Some clients add reminders in this form to the user's messages, and remove them again with the next request. */
const reminder = /^\s*<system-reminder>/;

/**
 * Hash of a message's content, without the details that clients change. Texts are trimmed and converted to one Unicode form.
 * Reasoning and reminders are ignored. If the message has calls, only their names and ids are hashed, because a client may spell
 * the arguments differently. If a server only numbers its calls, several answers may have the same essence, and only their
 * words distinguish them. Null if nothing is left to hash.
 */
export function essenceOf(role: Message["role"], parts: readonly Part[]): string | null {
  const calls = namedCalls(parts);
  if (calls.length > 0) return hashOf(calls.map((call) => ({ name: call.name, id: idOf(call) })));
  const loose = new Set<string>();
  const essentials = parts.flatMap((part): readonly unknown[] => {
    if (part.kind !== "tool-result" || part.looseId === undefined) return essentialOf(role, part);
    // The client may shorten such a result later, or give it twice.
    const isNew = !loose.has(part.looseId);
    loose.add(part.looseId);
    return isNew ? [{ of: part.looseId }] : [];
  });
  return essentials.length === 0 ? null : hashOf(essentials);
}

/** The part in the form that is hashed. Empty if the part is ignored. */
function essentialOf(role: Message["role"], part: Part): readonly unknown[] {
  if (part.kind === "reasoning") return [];
  if (part.kind === "tool-call") return [{ name: part.name, id: part.id || part.input }];
  if (part.kind !== "text") return [part];
  const isReminder = role === "user" && reminder.test(part.text);
  const text = isReminder ? "" : part.text.normalize("NFC").trim();
  return text === "" ? [] : [text];
}

/**
 * The calls of a message, if every call has an id. Otherwise the list is empty, because without an id a call can be recognised
 * only by its arguments.
 */
function namedCalls(parts: readonly Part[]): readonly ToolCallPart[] {
  const calls = callsIn(parts);
  return calls.every(({ id }) => id !== "") ? calls : [];
}

function callsIn(parts: readonly Part[]): readonly ToolCallPart[] {
  return parts.filter((part) => part.kind === "tool-call");
}

/** Minimum length in characters of a text that identifies an answer. Shorter texts occur too often. */
const shortestMark = 16;

/** The hashes by which Plimsoll recognises an answer that the client has spelled differently or moved. */
export function marksOf({ role, parts }: Message): Marks | undefined {
  if (role !== "assistant") return undefined;
  const calls = callsIn(parts).map(wordsOfCall);
  const texts = parts.flatMap((part) => (part.kind === "text" ? wordsOfText(part.text) : []));
  const others = parts.filter(({ kind }) => !["text", "tool-call", "reasoning"].includes(kind));
  const all = texts.join("");
  return {
    calls: namedCalls(parts).map((call) => hashOf(wordsOfCall(call))),
    texts: texts.filter((text) => text.length >= shortestMark).map(shortHash),
    shortTexts: texts.filter((text) => text.length < shortestMark).map(shortHash),
    allTexts: shortHash(all),
    words: hashOf([all, ...calls, ...others]),
    ...(calls.some(({ id }) => isNumber(id)) ? { isNumbered: true } : {}),
  };
}

function hashOf(essentials: unknown): string {
  return shortHash(JSON.stringify(essentials));
}

/** The text without whitespace, because clients may join texts or wrap lines differently. */
function wordsOfText(text: string): readonly string[] {
  const words = text.normalize("NFC").replaceAll(/\s+/g, "");
  return words === "" ? [] : [words];
}

interface CallWords {
  readonly name: string;
  readonly id: string;
  readonly input: string;
}

function wordsOfCall(call: ToolCallPart): CallWords {
  return { name: call.name, id: idOf(call), input: wordsOfInput(call.input) };
}

/** The id by which an answer is recognised when a client sends it back. */
function idOf({ id, looseId }: ToolCallPart): string {
  return looseId ?? id;
}

/** Matches digits that may belong to a number too long for a double. Parsing such a number would lose digits. */
const longNumber = /[0-9.]{16}|[0-9][eE][+-]?[0-9]/;

/** The arguments in canonical form: no whitespace between them, and the keys in one order. */
function wordsOfInput(input: string): string {
  if (longNumber.test(input)) return input;
  try {
    return canonicalJson(JSON.parse(input) as JsonValue, {}, true);
  } catch {
    return input;
  }
}

/** The texts and calls that are in the client's spelling of a message, but not in the message itself. */
export function newPartsIn(spelled: Message, { parts }: Message): readonly Part[] {
  const essentials = parts.flatMap((part) => (part.kind === "text" ? wordsOfText(part.text) : []));
  const calls = new Set(callsIn(parts).map((call) => hashOf(wordsOfCall(call))));
  return spelled.parts.filter((part) => {
    if (part.kind === "tool-call") return !calls.has(hashOf(wordsOfCall(part)));
    return part.kind === "text" && !essentials.join("").includes(wordsOfText(part.text).join(""));
  });
}

/** A random id has at least this many digits and capital letters together. Such an id does not occur twice by chance. */
const drawnLength = 6;

/** Whether a server made this id by counting up, as in `call_0` and `functions.read:12`. Other answers may have the same id. */
function isNumber(id: string): boolean {
  return id.replaceAll(/[a-z]+|[^0-9A-Za-z]/g, "").length < drawnLength;
}

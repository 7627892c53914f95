/** What a message says, each as a hash: its essence, whatever becomes of it on its way; its words; and the pieces of an answer. */

import { canonicalJson, type JsonValue } from "../../message/json.ts";
import type { Message, Part, ToolCallPart } from "../../message/message.ts";
import { shortHash } from "../../store/chain.ts";
import type { Marks } from "../log/log.ts";

/** Some clients put such notes into what the user says, and take them out again with the next request. */
const reminder = /^\s*<system-reminder>/;

/**
 * What a message says, whatever becomes of it on its way: texts in one form of Unicode and without the space around them, no
 * reasoning and no reminders. Of a message with calls only their names and ids: a client may spell the arguments otherwise. A
 * server that numbers its calls gives several answers the same essence; their words tell them apart. Null: nothing.
 */
export function essenceOf(role: Message["role"], parts: readonly Part[]): string | null {
  const calls = namedCalls(parts);
  if (calls.length > 0) return hashOf(calls.map(({ name, id }) => ({ name, id })));
  const essentials = parts.flatMap((part): readonly unknown[] => {
    if (part.kind === "reasoning") return [];
    if (part.kind === "tool-call") return [{ name: part.name, id: part.id || part.input }];
    if (part.kind !== "text") return [part];
    const isReminder = role === "user" && reminder.test(part.text);
    const text = isReminder ? "" : part.text.normalize("NFC").trim();
    return text === "" ? [] : [text];
  });
  return essentials.length === 0 ? null : hashOf(essentials);
}

/** None where a call has no id: then its arguments count, too. */
function namedCalls(parts: readonly Part[]): readonly ToolCallPart[] {
  const calls = callsIn(parts);
  return calls.every(({ id }) => id !== "") ? calls : [];
}

function callsIn(parts: readonly Part[]): readonly ToolCallPart[] {
  return parts.filter((part) => part.kind === "tool-call");
}

/** A short text is said again and again, and proves nothing. */
const shortestMark = 16;

/** What an answer is known by when its client spells or places it otherwise. */
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

/** Without space: clients join texts, and break them anew. */
function wordsOfText(text: string): readonly string[] {
  const words = text.normalize("NFC").replaceAll(/\s+/g, "");
  return words === "" ? [] : [words];
}

interface CallWords {
  readonly name: string;
  readonly id: string;
  readonly input: string;
}

function wordsOfCall({ name, id, input }: ToolCallPart): CallWords {
  return { name, id, input: wordsOfInput(input) };
}

/** A number that no double holds is lost in parsing. */
const longNumber = /[0-9.]{16}|[0-9][eE][+-]?[0-9]/;

/** The arguments without the space between them, and in one order of their keys. */
function wordsOfInput(input: string): string {
  if (longNumber.test(input)) return input;
  try {
    return canonicalJson(JSON.parse(input) as JsonValue, {}, true);
  } catch {
    return input;
  }
}

/** What another spelling of a message says that the message itself does not: texts and calls. */
export function newPartsIn(spelled: Message, { parts }: Message): readonly Part[] {
  const essentials = parts.flatMap((part) => (part.kind === "text" ? wordsOfText(part.text) : []));
  const calls = new Set(callsIn(parts).map((call) => hashOf(wordsOfCall(call))));
  return spelled.parts.filter((part) => {
    if (part.kind === "tool-call") return !calls.has(hashOf(wordsOfCall(part)));
    return part.kind === "text" && !essentials.join("").includes(wordsOfText(part.text).join(""));
  });
}

/** An id that nobody meets by chance has at least so many digits and capital letters. */
const drawnLength = 6;

/** Counted up by its server, as in `call_0` and `functions.read:12`: other answers have it, too. */
function isNumber(id: string): boolean {
  return id.replaceAll(/[a-z]+|[^0-9A-Za-z]/g, "").length < drawnLength;
}

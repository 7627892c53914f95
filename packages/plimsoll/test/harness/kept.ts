/** Checks that everything a client ever sent is still available: in the last request, or under a handle in it. */
import { textsOf } from "./counting.ts";
import { isObject, isString, type Json, type JsonObject, parseJson, type Wire } from "./json.ts";
import { elementTexts, memberText, prefixOfArray } from "./raw-json.ts";
import { CONVERSATION_FIELDS } from "./wires.ts";

const HANDLE = /\bpl_[0-9A-Za-z]{22}\b/g;

/** The handles that a text contains, each once. */
export function handlesIn(text: string): readonly string[] {
  return [...new Set(text.match(HANDLE) ?? [])];
}

/** The JSON text of the array that contains the conversation. */
function conversationText(wire: Wire, body: string): string {
  return memberText(body, CONVERSATION_FIELDS[wire]) ?? "[]";
}

/** The JSON texts of the messages of a body, as they were written. */
export function messageTexts(wire: Wire, body: string): readonly string[] {
  return elementTexts(conversationText(wire, body));
}

/** The JSON text of a conversation up to the end of its first messages. */
export function prefixText(wire: Wire, body: string, messagesCount: number): string {
  return prefixOfArray(conversationText(wire, body), messagesCount);
}

/** The JSON texts of the elements of an archived range; undefined if the archived content is not a range. */
export function rangeTexts(content: string): readonly string[] | undefined {
  return content.startsWith("[") ? elementTexts(content) : undefined;
}

export interface Kept {
  readonly wire: Wire;
  /** The messages of the whole history, as the client sent them. */
  readonly history: readonly string[];
  readonly sentBody: string;
  /** The contents of the handles in the sent body. */
  readonly contents: readonly string[];
}

/**
 * The client's messages that are neither in the sent body nor under its handles. If only parts of a message were
 * replaced, it counts as available when each of its texts is.
 */
export function lostMessages({ wire, history, sentBody, contents }: Kept): readonly string[] {
  const sent = messageTexts(wire, sentBody);
  const archived = contents.flatMap((content) => rangeTexts(content) ?? []);
  const whole = new Set([...sent, ...archived]);
  const texts = new Set([
    ...sent.flatMap((message) => textsIn(wire, message)),
    ...contents,
    ...contents.flatMap((content) => stringsIn(content)),
  ]);
  return history.filter((message) => {
    if (whole.has(message)) return false;
    const wanted = textsIn(wire, message).filter((text) => text !== "");
    return wanted.length === 0 || wanted.some((text) => !texts.has(text));
  });
}

function textsIn(wire: Wire, message: string): readonly string[] {
  return textsOf(wire, parseJson(message) as JsonObject);
}

/** All strings of a JSON content. */
function stringsIn(content: string): readonly string[] {
  try {
    return stringsOf(parseJson(content));
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

function stringsOf(value: Json | undefined): readonly string[] {
  if (isString(value)) return [value];
  if (Array.isArray(value)) return value.flatMap(stringsOf);
  return isObject(value) ? Object.values(value).flatMap(stringsOf) : [];
}

/** Is everything that a client ever sent still to be had: in the last request itself, or behind a handle that stands in it? */
import { textsOf } from "./counting.ts";
import { isObject, isString, type Json, type JsonObject, parseJson, type Wire } from "./json.ts";
import { elementTexts, memberText, prefixOfArray } from "./raw-json.ts";

const HANDLE = /\bpl_[0-9A-Za-z]{22}\b/g;

/** The handles that stand literally in a text, each once. */
export function handlesIn(text: string): readonly string[] {
  return [...new Set(text.match(HANDLE) ?? [])];
}

/** The text of the array of a body that holds its conversation. */
function conversationText(wire: Wire, body: string): string {
  return memberText(body, wire === "openai-responses" ? "input" : "messages") ?? "[]";
}

/** The texts of the messages of a body, as they were written. */
export function messageTexts(wire: Wire, body: string): readonly string[] {
  return elementTexts(conversationText(wire, body));
}

/** The text of a conversation up to the end of its first messages. */
export function prefixText(wire: Wire, body: string, messagesCount: number): string {
  return prefixOfArray(conversationText(wire, body), messagesCount);
}

/** The texts of the elements of an archived range; undefined where no range was archived. */
export function rangeTexts(content: string): readonly string[] | undefined {
  return content.startsWith("[") ? elementTexts(content) : undefined;
}

export interface Kept {
  readonly wire: Wire;
  /** The messages of the whole history, as the client sent them. */
  readonly history: readonly string[];
  readonly sentBody: string;
  /** What is behind the handles that stand in the sent body. */
  readonly contents: readonly string[];
}

/**
 * The messages of the client that are neither in the sent body nor behind its handles. A message of which only parts were
 * replaced is there when each of its texts is.
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

/** All strings of a content that is JSON. */
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

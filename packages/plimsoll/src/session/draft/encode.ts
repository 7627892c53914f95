/** Converts appended messages, in any wire format or in Plimsoll's neutral form, into messages of one wire. */

import { errorMessage, PlimsollError } from "../../message/error.ts";
import { isObject, type JsonObject } from "../../message/json.ts";
import type { Message } from "../../message/message.ts";
import { type MessageTag, mergedTag } from "../../message/tag.ts";
import { withToolNames } from "../../message/tool-names.ts";
import { wireToRead } from "../../wire/detect.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";

/** Messages are checked in `append` and not in `prepare`, so that a message that cannot be sent does not block others. */
export function checkMessage(message: unknown): JsonObject | Message {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(message));
    if (isObject(copy)) return copy as JsonObject | Message;
  } catch (cause) {
    throw usage(`append accepts only values that JSON can represent: ${errorMessage(cause)}.`);
  }
  throw usage("append accepts a message object, in any wire format or in Plimsoll's neutral form.");
}

/** A message that was appended and is not in the log yet. */
export interface PendingMessage {
  readonly message: JsonObject | Message;
  readonly tag?: MessageTag | undefined;
}

export interface EncodedMessage {
  readonly json: JsonObject;
  readonly tag?: MessageTag | undefined;
}

/**
 * Consecutive neutral messages are encoded together, because parallel results may become one message. `lastAnswer` is the answer
 * before them, whose calls they may answer.
 */
export function encodePending(
  pending: readonly PendingMessage[],
  wire: Wire,
  lastAnswer: readonly Message[] = [],
): readonly EncodedMessage[] {
  const encoded: EncodedMessage[] = [];
  let neutral: { readonly message: Message; readonly tag: MessageTag | undefined }[] = [];
  const flush = (): void => {
    const named = withToolNames(
      neutral.map(({ message }) => message),
      lastAnswer,
    );
    const tags = neutral.map(({ tag }) => tag);
    const encode = (some: readonly Message[]): readonly JsonObject[] => wire.messages.encode(some);
    const placed = tagsAfter(named, tags, (some) => encode(some).length);
    encoded.push(...encode(named).map((json, index) => ({ json, tag: placed.get(index) })));
    neutral = [];
  };
  for (const { message, tag } of pending) {
    if (isNeutral(message)) {
      neutral.push({ message, tag });
      continue;
    }
    const written = wireToRead(message, wire.name);
    if (written === wire.name) {
      flush();
      encoded.push({ json: message, tag });
    } else neutral.push({ message: wires[written].messages.decode(message), tag });
  }
  flush();
  return encoded;
}

/**
 * The tags by the index of the encoded message. One message may become several, and several may become one, which then has all
 * their tags.
 */
function tagsAfter(
  messages: readonly Message[],
  tags: readonly (MessageTag | undefined)[],
  countOf: (messages: readonly Message[]) => number,
): ReadonlyMap<number, MessageTag | undefined> {
  const placed = new Map<number, MessageTag | undefined>();
  for (const [at, tag] of tags.entries()) {
    if (tag === undefined) continue;
    const end = countOf(messages.slice(0, at + 1));
    const first = Math.min(countOf(messages.slice(0, at)), end - 1);
    for (let index = first; index < end; index++)
      placed.set(index, mergedTag([placed.get(index), tag]));
  }
  return placed;
}

function isNeutral(message: JsonObject | Message): message is Message {
  const parts = "parts" in message ? message["parts"] : undefined;
  return Array.isArray(parts) && parts.every((part) => isObject(part) && "kind" in part);
}

/** The bytes of a message in the form that the log stores. */
export function encodeMessage(message: JsonObject): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(message));
}

export function decodeMessage(bytes: Uint8Array): JsonObject {
  return JSON.parse(new TextDecoder().decode(bytes)) as JsonObject;
}

export function usage(message: string): PlimsollError {
  return new PlimsollError("USAGE", message, { status: 400 });
}

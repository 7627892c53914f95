/** Converts appended messages, in any wire format or in Plimsoll's neutral form, into messages of one wire. */

import { errorMessage, PlimsollError } from "../../message/error.ts";
import { isObject, type JsonObject } from "../../message/json.ts";
import type { Message } from "../../message/message.ts";
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

/**
 * Consecutive neutral messages are encoded together, because parallel results may become one message. `lastAnswer` is the answer
 * before them, whose calls they may answer.
 */
export function encodePending(
  pending: readonly (JsonObject | Message)[],
  wire: Wire,
  lastAnswer: readonly Message[] = [],
): readonly JsonObject[] {
  const encoded: JsonObject[] = [];
  let neutral: Message[] = [];
  const flush = (): void => {
    encoded.push(...wire.messages.encode(withToolNames(neutral, lastAnswer)));
    neutral = [];
  };
  for (const message of pending) {
    if (isNeutral(message)) {
      neutral.push(message);
      continue;
    }
    const written = wireToRead(message, wire.name);
    if (written === wire.name) {
      flush();
      encoded.push(message);
    } else neutral.push(wires[written].messages.decode(message));
  }
  flush();
  return encoded;
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

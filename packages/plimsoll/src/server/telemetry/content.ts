/**
 * The messages of a turn in the form of the GenAI conventions. They are read only if the user has enabled this, and are limited
 * in size.
 */

import type { Attributes } from "@opentelemetry/api";
import type { TurnEndEvent } from "../../message/event.ts";
import { type JsonObject, type JsonValue, parseObject } from "../../message/json.ts";
import { type Message, messageText, type Part } from "../../message/message.ts";
import type { MessageRecord, Store } from "../../store/store.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";

/**
 * Reads the messages of a turn. `newMessages` is the number of messages that the client had not sent before. Contract: never
 * rejects; unreadable content is left out.
 */
export type ReadContent = (event: TurnEndEvent, newMessages: number) => Promise<Attributes>;

/** Maximum number of messages of the request, and of messages of the answer. The last messages are kept. */
const maxMessages = 32;
/** Maximum number of characters of one text, and maximum number of characters of one attribute. */
const longestText = 8_192;
const longestAttribute = 65_536;
/** Number of recent turns in which to look for the ended turn. Other turns of the session may have ended since then. */
const recentTurns = 16;

export function contentReader(store: Pick<Store, "session" | "turns" | "messages">): ReadContent {
  return async (event, newMessages) => {
    try {
      const wire = wireNamed((await store.session(event.session))?.wire ?? "");
      if (wire === undefined) return {};
      const messages = await messagesOf(store, event, Math.min(newMessages, maxMessages));
      return attributesOf(messages, wire, event.stopReason);
    } catch {
      // Other code reports that the store fails.
      return {};
    }
  };
}

function wireNamed(name: string): Wire | undefined {
  return Object.values(wires).find((wire) => wire.name === name);
}

/**
 * The new messages of a turn, and its answer. Message numbers of a session only increase, so the new messages are the last ones
 * of the request, and the answer comes after them.
 */
async function messagesOf(
  store: Pick<Store, "turns" | "messages">,
  { session, turn }: TurnEndEvent,
  count: number,
): Promise<readonly MessageRecord[]> {
  const turns = await store.turns(session, recentTurns);
  const tip = turns.find(({ id }) => id === turn)?.requestTip ?? 0;
  const after = Math.max(0, tip - count);
  const messages = await store.messages(session, { after, limit: count + maxMessages });
  return messages.filter((message) => message.turn === turn);
}

function attributesOf(
  messages: readonly MessageRecord[],
  wire: Wire,
  stopReason: string | undefined,
): Attributes {
  const messagesFrom = (source: MessageRecord["source"], more: JsonObject): string =>
    lastOnes(
      messages
        .filter((message) => message.source === source)
        .map((message) => ({ ...telemetryMessage(decoded(message, wire)), ...more })),
    );
  const finish = stopReason === undefined ? {} : { finish_reason: stopReason };
  return {
    "gen_ai.input.messages": messagesFrom("request", {}),
    "gen_ai.output.messages": messagesFrom("answer", finish),
  };
}

function decoded({ body }: MessageRecord, wire: Wire): Message {
  return wire.messages.decode(parseObject(new TextDecoder().decode(body)) ?? {});
}

/** The last messages as JSON. If not all messages have room, the oldest are dropped first. */
function lastOnes(messages: readonly JsonObject[]): string {
  for (let from = 0; from < messages.length; from++) {
    const text = JSON.stringify(messages.slice(from));
    if (text.length <= longestAttribute) return text;
  }
  return "[]";
}

function telemetryMessage({ role, parts }: Message): JsonObject {
  return { role, parts: parts.map(telemetryPart) };
}

/** One part of a message. Images and documents are only named; their data is never included. */
function telemetryPart(part: Part): JsonValue {
  switch (part.kind) {
    case "text":
    case "reasoning":
      return { type: part.kind, content: cut(part.text) };
    case "tool-call":
      return { type: "tool_call", id: part.id, name: part.name, arguments: cut(part.input) };
    case "tool-result": {
      const response = cut(messageText({ role: "tool", parts: part.content }));
      return { type: "tool_call_response", id: part.callId, response };
    }
    case "image":
    case "document":
      return { type: part.kind };
    case "opaque":
      return { type: part.type };
  }
}

function cut(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText)}…`;
}

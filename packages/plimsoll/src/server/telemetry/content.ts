/** What was said in a turn, as the GenAI conventions write it. Only read where somebody asked for it, and bounded. */

import type { Attributes } from "@opentelemetry/api";
import type { TurnEndEvent } from "../../message/event.ts";
import { type JsonObject, type JsonValue, parseObject } from "../../message/json.ts";
import { type Message, messageText, type Part } from "../../message/message.ts";
import type { MessageRecord, Store } from "../../store/store.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";

/** `newMessages`: how many the client had not sent before. Contract: never rejects; what cannot be read is not told. */
export type ReadContent = (event: TurnEndEvent, newMessages: number) => Promise<Attributes>;

/** Of the request, and of the answer: so many messages, the last ones. */
const maxMessages = 32;
/** Of one text, and of one attribute, in characters. */
const longestText = 8_192;
const longestAttribute = 65_536;
/** Turns of a session that may end between the end of one and the reading of it. */
const recentTurns = 16;

export function contentReader(store: Pick<Store, "session" | "turns" | "messages">): ReadContent {
  return async (event, newMessages) => {
    try {
      const wire = wireNamed((await store.session(event.session))?.wire ?? "");
      if (wire === undefined) return {};
      const messages = await messagesOf(store, event, Math.min(newMessages, maxMessages));
      return attributesOf(messages, wire, event.stopReason);
    } catch {
      // A store that fails is told by others.
      return {};
    }
  };
}

function wireNamed(name: string): Wire | undefined {
  return Object.values(wires).find((wire) => wire.name === name);
}

/** Numbers of a session only grow: what is new in a turn stands just before its request's end, the answer behind it. */
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

/** The oldest go first where not all have room. */
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

/** Media are named, never copied. */
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

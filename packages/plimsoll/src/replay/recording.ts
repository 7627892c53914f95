/** From a recorded conversation or a request body, of any wire, to a recording. */

import { PlimsollError } from "../message/error.ts";
import { isObject, type JsonObject } from "../message/json.ts";
import { wireOfBody, wireOfMessage } from "../wire/detect.ts";
import { wires } from "../wire/wires.ts";
import { impliedTools, type Recording } from "./turns.ts";

/** Fields of a recorded chat message; others are somebody's notes. */
const chatFields = ["role", "content", "name", "tool_calls", "tool_call_id", "refusal"];

/**
 * `{messages, tools?, meta?}`, a request body, or a bare list of messages. Contract: throws USAGE when there are no messages;
 * `place` is where it was found.
 */
export function recordingOf(value: unknown, place: string): Recording {
  const body = Array.isArray(value) ? { [fieldOf(value)]: value } : value;
  if (!isObject(body)) throw noMessages(place);
  const wire = wireOfBody(body);
  const { messagesField } = wires[wire];
  const { [messagesField]: list, meta, ...head } = body;
  const messages = Array.isArray(list) ? list : [];
  if (messages.length === 0 || !messages.every(isObject)) throw noMessages(place);
  const named = isObject(meta) && typeof meta["id"] === "string" ? meta["id"] : undefined;
  const given = { id: named ?? place, wire, head, messages };
  // A body that names its model was sent; one without was written down.
  return head["model"] === undefined ? asSent(given) : given;
}

/** A conversation that was written down, as a client would send it: nothing in it that is not the wire's, and tools for its calls. */
function asSent({ id, wire, head, messages }: Recording): Recording {
  const { tools, system, instructions } = head;
  const bare: Recording = {
    id,
    wire,
    head: pickPresent({ tools, system, instructions }),
    messages: wire === "openai-chat" ? messages.map(chatMessage) : messages,
  };
  if (tools !== undefined) return bare;
  const implied = impliedTools(bare);
  return implied.length === 0 ? bare : { ...bare, head: { ...bare.head, tools: implied } };
}

function chatMessage(message: JsonObject): JsonObject {
  // The name on a result is a note of ours: which tool it came from.
  const isResult = message["role"] === "tool";
  const names = isResult ? chatFields.filter((name) => name !== "name") : chatFields;
  return pickPresent(Object.fromEntries(names.map((name) => [name, message[name]])));
}

function pickPresent(fields: Readonly<Record<string, JsonObject[string] | undefined>>): JsonObject {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as JsonObject;
}

/** A list of messages without its body: where would it stand? */
function fieldOf(messages: readonly unknown[]): string {
  const known = messages.filter(isObject).map(wireOfMessage);
  return known.includes("openai-responses") ? "input" : "messages";
}

function noMessages(place: string): PlimsollError {
  return new PlimsollError(
    "USAGE",
    `${place} holds no conversation: give lines of JSON with \`messages\`, a request body, or a session id.`,
  );
}

/** Detects the wire of messages and request files that do not name their wire. */

import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";
import type { WireName } from "./format/wire.ts";
import { wires } from "./wires.ts";

const anthropicBlocks = new Set([
  "tool_use",
  "tool_result",
  "thinking",
  "redacted_thinking",
  "image",
  "document",
  "server_tool_use",
]);
const chatParts = new Set(["image_url", "input_audio", "file", "refusal"]);
const responsesParts = new Set(["input_text", "output_text", "input_image", "input_file"]);

/** The wire that a message belongs to. Undefined if the message looks the same on every wire. */
export function wireOfMessage(message: JsonObject): WireName | undefined {
  const { role } = message;
  if (message["parts"] !== undefined && message["content"] === undefined) return "gemini";
  const types = partTypes(message);
  if (isResponsesItem(message, types)) return "openai-responses";
  if (role === "tool" || role === "developer" || role === "function") return "openai-chat";
  if (message["tool_calls"] !== undefined || message["tool_call_id"] !== undefined)
    return "openai-chat";
  for (const type of types) {
    if (anthropicBlocks.has(type)) return "anthropic";
    if (chatParts.has(type)) return "openai-chat";
  }
  return undefined;
}

/** The wire in whose format to read a message that was appended to a session of this wire. */
export function wireToRead(message: JsonObject, session: WireName): WireName {
  const found = wireOfMessage(message);
  if (found !== undefined) return found;
  // A message with a role and a text looks the same on three wires. Gemini has no such message.
  return session === "gemini" ? "openai-chat" : session;
}

function partTypes({ content }: JsonObject): readonly string[] {
  return (Array.isArray(content) ? content : []).flatMap((part: JsonValue) =>
    isObject(part) && typeof part["type"] === "string" ? [part["type"]] : [],
  );
}

/**
 * Only the Responses wire has items that are not messages. The type `message` alone proves nothing, because Anthropic's answers
 * have it too.
 */
function isResponsesItem(message: JsonObject, types: readonly string[]): boolean {
  const { type, role, content, id } = message;
  if (typeof type === "string" && type !== "message") return true;
  if (role === undefined && content === undefined && typeof id === "string") return true;
  const isTyped = type === "message";
  if (isTyped && (typeof content === "string" || types.includes("refusal"))) return true;
  return types.some((part) => responsesParts.has(part));
}

/** Builds a request body for messages that came without one. */
export function bodyOfMessages(messages: readonly JsonValue[]): JsonObject {
  const names = messages.filter(isObject).flatMap((message) => wireOfMessage(message) ?? []);
  const [special] = names.filter((name) => name === "openai-responses" || name === "gemini");
  const { fields } = wires[special ?? "openai-chat"];
  return { [fields.messages]: messages };
}

/** Fields that only a body of the Responses wire has. Such a body has no field `messages`. */
const responsesFields = ["input", "instructions", "previous_response_id", "conversation"];

/** Detects the wire of a whole request body by its fields first, then by its messages. */
export function wireOfBody(body: JsonObject): WireName {
  if (body["contents"] !== undefined) return "gemini";
  if (body["messages"] === undefined && responsesFields.some((name) => body[name] !== undefined))
    return "openai-responses";
  if (body["system"] !== undefined) return "anthropic";
  const tools = Array.isArray(body["tools"]) ? body["tools"].filter(isObject) : [];
  if (tools.some((tool) => tool["input_schema"] !== undefined)) return "anthropic";
  if (tools.some((tool) => tool["function"] !== undefined)) return "openai-chat";
  const messages = Array.isArray(body["messages"]) ? body["messages"].filter(isObject) : [];
  for (const message of messages) {
    const wire = message["role"] === "system" ? "openai-chat" : wireOfMessage(message);
    if (wire !== undefined) return wire;
  }
  return String(body["model"] ?? "").includes("claude") ? "anthropic" : "openai-chat";
}

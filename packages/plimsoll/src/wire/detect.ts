/** Tells the wires apart: for messages and request files that come without a name. */

import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";
import type { WireName } from "./wire.ts";

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

/** Undefined: the message reads the same on every wire. */
export function wireOfMessage(message: JsonObject): WireName | undefined {
  const { role, content } = message;
  if (role === "tool" || role === "developer" || role === "function") return "openai-chat";
  if (message["tool_calls"] !== undefined || message["tool_call_id"] !== undefined)
    return "openai-chat";
  for (const block of Array.isArray(content) ? content : []) {
    const type: JsonValue | undefined = isObject(block) ? block["type"] : undefined;
    if (typeof type !== "string") continue;
    if (anthropicBlocks.has(type)) return "anthropic";
    if (chatParts.has(type)) return "openai-chat";
  }
  return undefined;
}

/** For a whole request body: its own fields first, then its messages. */
export function wireOfBody(body: JsonObject): WireName {
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

/** The conversation of any wire, in the form that the rules for all wires need. */
import type { JsonObject } from "../../../message/json.ts";
import { canonical, type Field, isGiven, objectsOf, type Placed, placed } from "./fields.ts";
import type { ValidatedWire } from "./rule.ts";

export const messagesKey: Readonly<Record<ValidatedWire, string>> = {
  anthropic: "messages",
  "openai-chat": "messages",
  "openai-responses": "input",
  gemini: "contents",
};

/** Fields that come before the conversation. */
export const headKeys: readonly string[] = ["tools", "system", "systemInstruction", "instructions"];

export function messagesOf(wire: ValidatedWire, body: JsonObject | undefined): readonly Placed[] {
  const key = messagesKey[wire];
  const list = body?.[key];
  // Responses accepts a string as one user message.
  if (typeof list === "string") return [...placed([{ role: "user", content: list }], `/${key}`)];
  return [...placed(list, `/${key}`)];
}

/**
 * The content parts and calls of a message. Items of Responses that are not messages, and tool messages of Chat, are parts
 * themselves.
 */
export function partsOf(message: JsonObject): readonly JsonObject[] {
  const content = message["content"] ?? message["parts"];
  const isMessage = isGiven(message["role"]) || isGiven(content);
  if (!isMessage) return [message];
  const parts =
    typeof content === "string" ? [{ type: "text", text: content }] : objectsOf(content);
  const answer = isGiven(message["tool_call_id"]) ? [message] : [];
  return [...answer, ...parts, ...objectsOf(message["tool_calls"])];
}

/** Whether the part is the result of a call. The user did not write it. */
export function isResult(part: JsonObject): boolean {
  return part["type"] === "tool_result" || isGiven(part["functionResponse"]);
}

const knownTypes =
  /^(text|input_text|output_text|refusal|image|image_url|input_image|input_audio|document|file|input_file|thinking|redacted_thinking|tool_use|tool_result|server_tool_use|mcp_tool_use|.+_tool_result|compaction|fallback|tool_addition|tool_removal|function|custom)$/;
const knownItems =
  /^(message|reasoning|compaction|additional_tools|.*_call(_output)?|tool_search_output)$/;

/** Whether rules other than X6 cover this part. Gemini's parts have no type. */
export function isKnownPart(part: JsonObject): boolean {
  const type = String(part["type"] ?? "text");
  return knownTypes.test(type) || isKnownItem(part);
}

/** Whether rules other than R10 cover this item of Responses. */
export function isKnownItem(item: JsonObject): boolean {
  return knownItems.test(String(item["type"] ?? "message"));
}

/** Whether the message contains something that the user wrote. */
export function isFromUser(wire: ValidatedWire, message: JsonObject): boolean {
  const role = message["role"] ?? (wire === "gemini" ? "user" : undefined);
  return role === "user" && partsOf(message).some((part) => !isResult(part));
}

const nameKeys = ["id", "tool_use_id", "tool_call_id", "call_id"];
const payloadKeys = [
  "text",
  "functionCall",
  "functionResponse",
  "inlineData",
  "fileData",
  "source",
  "image_url",
  "input_audio",
  "file",
];

/** A name by which a part can be found in another body: its id, or its content if it has no id. */
export function partName(part: JsonObject): string {
  const name = nameKeys.find((key) => isGiven(part[key]));
  const payload = name ?? payloadKeys.find((key) => isGiven(part[key]));
  const value: Field = payload === undefined ? part : part[payload];
  return `${part["type"]} ${payload} ${canonical(value)}`;
}

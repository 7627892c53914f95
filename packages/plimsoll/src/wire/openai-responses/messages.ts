/** The OpenAI Responses wire: reads items. encode.ts writes them. */

import {
  canonicalJson,
  isObject,
  type JsonObject,
  type JsonValue,
  stringOr,
} from "../../message/json.ts";
import type { Media, Message, Part, Role, ToolCallPart } from "../../message/message.ts";
import { keepingUnknown, opaquePart, responsesTypes } from "../format/known-parts.ts";
import type { WireMessages } from "../format/wire.ts";
import { encodeItems, wholeItem } from "./encode.ts";
import { isToolSearch } from "./tool-search.ts";
import { bringsTools } from "./tools.ts";

export const responsesMessages: WireMessages = {
  asMessage,
  identity: (message, { long } = {}) => canonicalJson(plainItem(message), { long }),
  decode,
  encode: (messages) => messages.flatMap(encodeItems),
  withoutNotes: (message) => message,
  toolCalls,
  ownIds,
  referenceTo,
};

function asMessage(json: JsonValue): JsonObject | undefined {
  if (typeof json === "string") return { type: "message", role: "user", content: json };
  return isObject(json) ? json : undefined;
}

/** Messages may omit their type, and so may references, which consist only of an id. */
function typeOf(item: JsonObject): string {
  if (typeof item["type"] === "string") return item["type"];
  const keys = Object.keys(item).filter((key) => item[key] !== null);
  return keys.length === 1 && keys[0] === "id" ? "item_reference" : "message";
}

/**
 * Fields that the provider adds to an answer and that clients may or may not send back. They are names or explanations, not
 * content.
 */
const volatileOfItems = new Set(["id", "parsed_arguments", "prompt_cache_breakpoint", "status"]);

const volatileOfParts = new Set(["annotations", "logprobs", "parsed", "prompt_cache_breakpoint"]);

/** For these types the id is part of the content, not only a name. */
const namedById = new Set(["item_reference", "local_shell_call_output", "mcp_approval_request"]);

function plainItem(item: JsonObject): JsonObject {
  const type = typeOf(item);
  const { id, status, content, output } = item;
  const plain = { ...without(item, volatileOfItems), type };
  if (namedById.has(type)) return { ...plain, id };
  switch (type) {
    case "message": {
      const part = item["role"] === "assistant" ? "output_text" : "input_text";
      return { ...plain, content: plainContent(content, part) };
    }
    case "reasoning":
      return plainReasoning(plain, id);
    case "apply_patch_call_output":
      return { ...plain, status };
    default:
      return output === undefined
        ? plain
        : { ...plain, output: plainContent(output, "input_text") };
  }
}

/**
 * Leaves out the readable part of reasoning, because clients drop it. The provider reads only the encrypted part, or the
 * reasoning that it has kept under the id.
 */
function plainReasoning(item: JsonObject, id: JsonValue | undefined): JsonObject {
  const { summary: _summary, content: _content, ...rest } = item;
  if (typeof item["encrypted_content"] === "string") return rest;
  return typeof id === "string" ? { ...rest, id } : item;
}

function without(value: JsonObject, keys: ReadonlySet<string>): JsonObject {
  const kept = Object.entries(value).filter(
    ([key, field]) => !keys.has(key) && !(Array.isArray(field) && field.length === 0),
  );
  return Object.fromEntries(kept);
}

function plainContent(content: JsonValue | undefined, textType: string): JsonValue | undefined {
  if (!Array.isArray(content)) return content;
  const parts = content.map((part) => (isObject(part) ? without(part, volatileOfParts) : part));
  const only = parts.length === 1 ? parts[0] : undefined;
  return isPlainText(only, textType) ? stringOr(only["text"], "") : parts;
}

function isPlainText(part: JsonValue | undefined, textType: string): part is JsonObject {
  if (!isObject(part) || part["type"] !== textType) return false;
  return Object.keys(part).every((key) => key === "type" || key === "text" || part[key] === null);
}

function decode(item: JsonObject): Message {
  const type = typeOf(item);
  // One agent gives another agent its task in this item. It stays, because nothing else in the request contains the task.
  if (type === "agent_message")
    return { role: "user", parts: decodeContent(item["content"]), stays: "whole" };
  const role = type === "message" ? item["role"] : undefined;
  return keepingUnknown(decodeItem(item, type), role, responsesTypes);
}

function decodeItem(item: JsonObject, type: string): Message {
  if (type === "message")
    return { role: roleOf(item["role"]), parts: decodeContent(item["content"]) };
  if (type === "reasoning") return { role: "assistant", parts: [decodeReasoning(item)] };
  const call = decodeCall(item, type);
  if (call !== undefined) return { role: "assistant", parts: [call] };
  const result = decodeResult(item, type);
  if (result !== undefined) return { role: "tool", parts: [result] };
  // All other items were written by the provider, such as compactions and searches, or refer to such items. They become assistant
  // messages, so that Plimsoll never takes them for the user's words and they stay with the reasoning that led to them.
  const role = item["role"] === undefined ? "assistant" : roleOf(item["role"]);
  const opaque: Part = { kind: "opaque", type: wholeItem + type, json: item };
  return { role, parts: [bringsTools(item) ? { ...opaque, isTools: true } : opaque] };
}

function roleOf(role: JsonValue | undefined): Role {
  if (role === "system" || role === "developer") return "system";
  return role === "assistant" ? "assistant" : "user";
}

function decodeReasoning(item: JsonObject): Part {
  const texts = [item["summary"], item["content"]]
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .map((part: JsonValue) => (isObject(part) ? stringOr(part["text"], "") : ""));
  const signature = item["encrypted_content"];
  return {
    kind: "reasoning",
    text: texts.filter(Boolean).join("\n"),
    ...(typeof signature === "string" ? { signature } : {}),
  };
}

/** Fields that contain the arguments of a call. Each type of call uses one of them. */
const inputFields = ["arguments", "input", "action", "actions", "operation", "code"];

const outputFields = ["output", "result", "tools"];

const callType = /_call$|^program$|^mcp_approval_request$/;

const resultType = /_call_output$|^(?:tool_search|program)_output$|^mcp_approval_response$/;

/** Decodes a call that another item answers. Calls that the provider runs itself (searches, MCP) have no such item. */
function decodeCall(item: JsonObject, type: string): ToolCallPart | undefined {
  const id = item[type === "mcp_approval_request" ? "id" : "call_id"];
  if (!callType.test(type) || typeof id !== "string" || item["execution"] === "server")
    return undefined;
  const input = firstOf(item, inputFields);
  return {
    kind: "tool-call",
    id,
    name: stringOr(item["name"], type.replace(/_call$/, "")),
    input: typeof input === "string" ? input : JSON.stringify(input ?? null),
    ...(isToolSearch(item) ? { isToolSearch: true } : {}),
  };
}

function decodeResult(item: JsonObject, type: string): Part | undefined {
  if (!resultType.test(type) || item["execution"] === "server") return undefined;
  const callId = firstOf(item, ["call_id", "approval_request_id", "id"]);
  const content = firstOf(item, outputFields);
  return {
    kind: "tool-result",
    callId: stringOr(callId, ""),
    content: decodeContent(isObject(content) ? [content] : content),
    isError: item["status"] === "failed",
  };
}

function firstOf(item: JsonObject, fields: readonly string[]): JsonValue | undefined {
  const field = fields.find((name) => item[name] !== undefined && item[name] !== null);
  return field === undefined ? undefined : item[field];
}

export function decodeContent(content: JsonValue | undefined): readonly Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ kind: "text", text: content }];
  return Array.isArray(content) ? content.map(decodePart) : [];
}

function decodePart(part: JsonValue): Part {
  const opaque = opaquePart(part);
  if (!isObject(part)) return opaque;
  switch (part["type"]) {
    case "text":
    case "input_text":
    case "output_text":
      return typeof part["text"] === "string" ? { kind: "text", text: part["text"] } : opaque;
    case "refusal":
      return { kind: "text", text: stringOr(part["refusal"], "") };
    case "input_image":
    case "computer_screenshot":
      return decodeImage(part) ?? opaque;
    case "input_file":
      return decodeFile(part) ?? opaque;
    default:
      return typeof part["stdout"] === "string" ? decodeShellOutput(part) : opaque;
  }
}

function decodeShellOutput(entry: JsonObject): Part {
  const texts = [stringOr(entry["stdout"], ""), stringOr(entry["stderr"], "")];
  return { kind: "text", text: texts.filter(Boolean).join("\n") };
}

function decodeImage(part: JsonObject): Part | undefined {
  const media = decodeMedia(part, "image_url");
  if (media === undefined) return undefined;
  const { detail } = part;
  return detail === "low" || detail === "high" || detail === "auto"
    ? { kind: "image", media, detail }
    : { kind: "image", media };
}

function decodeFile(part: JsonObject): Part | undefined {
  const data = part["file_data"];
  const isPlain = typeof data === "string" && !data.startsWith("data:");
  const media: Media | undefined = isPlain
    ? { kind: "base64", mediaType: "", data }
    : (decodeMedia(part, "file_data") ?? decodeMedia(part, "file_url"));
  return media === undefined ? undefined : { kind: "document", media };
}

function decodeMedia(part: JsonObject, field: string): Media | undefined {
  const url = part[field];
  if (typeof url !== "string") {
    return typeof part["file_id"] === "string" ? { kind: "file", id: part["file_id"] } : undefined;
  }
  if (!url.startsWith("data:")) return { kind: "url", url };
  const comma = url.indexOf(",");
  const mediaType = url.slice(5, comma).split(";")[0] ?? "";
  return { kind: "base64", mediaType, data: url.slice(comma + 1) };
}

/**
 * The calls that the client has to run itself. Programs are left out because the provider runs them, and approvals because they
 * run nothing.
 */
function toolCalls(message: JsonObject): readonly ToolCallPart[] {
  const type = typeOf(message);
  const call = type.endsWith("_call") ? decodeCall(message, type) : undefined;
  return call === undefined ? [] : [call];
}

/**
 * Leaves out ids that belong to other items: the output of a shell has the id of its call, and a reference has the id of its
 * target.
 */
function ownIds(message: JsonObject): readonly string[] {
  const type = typeOf(message);
  const isForeign = type === "item_reference" || type === "local_shell_call_output";
  return typeof message["id"] === "string" && !isForeign ? [message["id"]] : [];
}

function referenceTo(message: JsonObject): string | undefined {
  const { id } = message;
  return typeOf(message) === "item_reference" && typeof id === "string" ? id : undefined;
}

/** The OpenAI Responses wire: items, read; encode.ts writes them. */

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

/** Messages may leave their type out, and references, which are nothing but an id. */
function typeOf(item: JsonObject): string {
  if (typeof item["type"] === "string") return item["type"];
  const keys = Object.keys(item).filter((key) => item[key] !== null);
  return keys.length === 1 && keys[0] === "id" ? "item_reference" : "message";
}

/** What the provider adds to an answer, and clients send back or not: it names or explains, but says nothing. */
const volatileOfItems = new Set(["id", "parsed_arguments", "prompt_cache_breakpoint", "status"]);

const volatileOfParts = new Set(["annotations", "logprobs", "parsed", "prompt_cache_breakpoint"]);

/** Of these the id is what they say, not only what they are called. */
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

/** Clients drop the readable part of reasoning; what the provider reads is the encrypted one, or what it kept. */
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
  // One agent gives another its task: nothing else in the request says what is to be done.
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
  // What is neither said by a person nor an answer of the client's tools was written by the provider, as
  // compactions and searches were, or refers to such. On the model's side it never counts as the user's
  // words, and stays with the reasoning that led to it.
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

/** Where the different calls keep their arguments, and their outputs what came out. */
const inputFields = ["arguments", "input", "action", "actions", "operation", "code"];

const outputFields = ["output", "result", "tools"];

const callType = /_call$|^program$|^mcp_approval_request$/;

const resultType = /_call_output$|^(?:tool_search|program)_output$|^mcp_approval_response$/;

/** Calls that another item answers. What the provider runs by itself (searches, MCP) has no partner. */
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

/** What the client has to run itself; a program runs at the provider, an approval is no run at all. */
function toolCalls(message: JsonObject): readonly ToolCallPart[] {
  const type = typeOf(message);
  const call = type.endsWith("_call") ? decodeCall(message, type) : undefined;
  return call === undefined ? [] : [call];
}

/** The id of a shell's output is the name of its call, that of a reference the name of something else. */
function ownIds(message: JsonObject): readonly string[] {
  const type = typeOf(message);
  const isForeign = type === "item_reference" || type === "local_shell_call_output";
  return typeof message["id"] === "string" && !isForeign ? [message["id"]] : [];
}

function referenceTo(message: JsonObject): string | undefined {
  const { id } = message;
  return typeOf(message) === "item_reference" && typeof id === "string" ? id : undefined;
}

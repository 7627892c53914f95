/** The OpenAI Responses wire: requests. One item of `input` is one message. Its answers are in openai-responses-answer.ts. */

import {
  canonicalJson,
  isObject,
  type JsonObject,
  type JsonValue,
  stringOr,
} from "../../message/json.ts";
import type { Media, Message, Part, Role, ToolCallPart } from "../../message/message.ts";
import { type FieldReader, otherPlans, readFields } from "../format/body-fields.ts";
import { keepingUnknown, opaquePart, responsesTypes } from "../format/known-parts.ts";
import { openaiMediaLimits } from "../format/openai-limits.ts";
import type { BodySlices, Slice } from "../format/slices.ts";
import type { Wire, WireRequest } from "../format/wire.ts";
import { createResponsesAccumulator, readResponsesAnswer } from "./answer.ts";
import { ownResponsesMessage, replaceResponsesPart, responsesCacheMark } from "./edit.ts";
import {
  composeResponsesBody,
  encodeResponsesMessage,
  encodeResponsesTool,
  wholeItem,
} from "./encode.ts";
import {
  mergeResponsesRounds,
  openResponsesRounds,
  withoutLookups,
  withoutOwnItems,
} from "./rounds.ts";
import { isToolSearch, responsesDeferral } from "./tool-search.ts";
import {
  additionalTools,
  bringsTools,
  decodeTool,
  isDeferring,
  toolName,
  toolsInside,
} from "./tools.ts";

const cutShort = new Set(["max_output_tokens", "content_filter"]);

export const openaiResponsesWire: Wire = {
  name: "openai-responses",
  vendor: "openai",
  fields: {
    model: "model",
    messages: "input",
    tools: "tools",
    system: "instructions",
    output: ["max_output_tokens"],
  },
  headers: [],
  modelByHeaders: () => undefined,
  mediaLimits: openaiMediaLimits,
  profileOf: () => undefined,
  readRequest,
  asMessage,
  identity: (message, { long } = {}) => canonicalJson(plainItem(message), { long }),
  decode,
  withoutNotes: (message) => message,
  replacePart: replaceResponsesPart,
  ownMessage: ownResponsesMessage,
  ownTextStands: "alone",
  carryText: () => undefined,
  joinMessages: () => undefined,
  markField: "prompt_cache_breakpoint",
  isLongMark: () => false,
  cacheBlocks: (message) => [message],
  countMarks: () => 0,
  hasLongMarks: () => false,
  cacheMark: responsesCacheMark,
  withMark: () => undefined,
  noTools: new Map([["tool_choice", "none"]]),
  nothingHeld: new Map([["previous_response_id", null]]),
  nothingKept: new Map([["store", false]]),
  decodeSystem: decodeContent,
  encode: (messages) => messages.flatMap(encodeResponsesMessage),
  composeBody: composeResponsesBody,
  openAnswer: createResponsesAccumulator,
  readAnswer: readResponsesAnswer,
  isCutShort: ({ stopReason }) => cutShort.has(stopReason ?? ""),
  openRounds: openResponsesRounds,
  mergeRounds: mergeResponsesRounds,
  withoutOwnCalls: withoutOwnItems,
  withoutLookups,
  repeatable: (items) =>
    items.filter(
      ({ type, encrypted_content: sealed }) => type !== "reasoning" || typeof sealed === "string",
    ),
  errorEvent: (status, message) => ({
    name: "error",
    data: JSON.stringify({
      type: "error",
      code: status < 500 ? "invalid_request_error" : "server_error",
      message,
      param: null,
    }),
  }),
  encodeTool: encodeResponsesTool,
  toolName,
  toolsInside,
  decodeTool,
  isDeferring,
  deferral: responsesDeferral,
  markOn: () => undefined,
  markTool: (tool) => tool,
  toolCalls,
  ownIds,
  referenceTo,
  outputFields: (_body, _slices, { maxTokens }) => new Map([["max_output_tokens", maxTokens]]),
  errorBody: (status, message) => ({
    error: {
      message,
      type: status < 500 ? "invalid_request_error" : "server_error",
      param: null,
      code: null,
    },
  }),
  overflowBody: (needTokens, limitTokens) => ({
    error: {
      message: `Your input exceeds the context window of this model. The maximum context length is ${limitTokens} tokens. However, your input resulted in ${needTokens} tokens. Please adjust your input and try again.`,
      type: "invalid_request_error",
      param: "input",
      code: "context_length_exceeded",
    },
  }),
};

function readRequest(body: Uint8Array, slices: BodySlices): WireRequest {
  const fields = readFields(body, slices);
  const maxOutputTokens = fields.optionalCount("max_output_tokens");
  const system = fields.slice("instructions");
  const tools = fields.slice("tools");
  const messages = readInput(body, fields);
  const isListed = (slices.elements.get("tools") ?? []).length > 0;
  const toolsInMessage = isListed ? undefined : additionalTools(body, messages);
  const clientSession = sessionOfCacheKey(fields.value("prompt_cache_key"));
  const continues =
    fields.optionalText("previous_response_id") ?? conversationOf(fields.value("conversation"));
  return {
    model: fields.optionalText("model") ?? "",
    messages,
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools }),
    ...(toolsInMessage === undefined ? {} : { toolsInMessage }),
    ...(clientSession === undefined ? {} : { clientSession }),
    ...(continues === undefined ? {} : { continues }),
    ...(fields.value("store") === false ? { isForgotten: true } : {}),
    ...otherPlans(fields, isPlainTurn(fields)),
  };
}

/** Answered while the client waits, with or without calls as the model likes. */
function isPlainTurn(fields: FieldReader): boolean {
  const choice = fields.value("tool_choice") ?? "auto";
  return (choice === "auto" || choice === "none") && fields.value("background") !== true;
}

const quote = 0x22;

/** A text is one message. None at all is fine: a stored prompt or the provider's history may say everything. */
function readInput(body: Uint8Array, fields: FieldReader): readonly Slice[] {
  const input = fields.slice("input");
  if (input === undefined) return [];
  return body[input.start] === quote ? [input] : fields.array("input");
}

/** Codex names its thread here, as in its `session_id` header. Others share one key among many conversations. */
function sessionOfCacheKey(key: JsonValue | undefined): string | undefined {
  const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
  return typeof key === "string" && uuid.test(key) ? `codex:${key}` : undefined;
}

function conversationOf(conversation: JsonValue | undefined): string | undefined {
  const id = isObject(conversation) ? conversation["id"] : conversation;
  return typeof id === "string" ? `conversation:${id}` : undefined;
}

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

function decodeContent(content: JsonValue | undefined): readonly Part[] {
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

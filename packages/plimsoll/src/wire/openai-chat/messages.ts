/** The OpenAI Chat Completions wire: reads and writes messages. */

import {
  canonicalJson,
  isObject,
  type JsonObject,
  type JsonValue,
  stringOr,
} from "../../message/json.ts";
import type { Media, Message, Part, Role, ToolCallPart } from "../../message/message.ts";
import { chatTypes, keepingUnknown, opaquePart } from "../format/known-parts.ts";
import type { WireMessages } from "../format/wire.ts";

export const chatMessages: WireMessages = {
  asMessage: (json) => (isObject(json) ? json : undefined),
  identity: (message, { long } = {}) => canonicalJson(plainMessage(message), { long }),
  decode,
  encode: (messages) => joinAnswers(messages).flatMap(encodeMessage),
  withoutNotes,
  toolCalls: decodeCalls,
  ownIds: () => [],
  referenceTo: () => undefined,
};

/** Fields that clients may or may not send back. Most of them contain the reasoning that compatible servers show. */
const volatileFields = new Set([
  "cache_control",
  "parsed",
  "reasoning",
  "reasoning_content",
  "reasoning_details",
]);

/**
 * Removes volatile fields and the empty extras that the provider added (`annotations: []`, `refusal: null`, `content: ""` next to
 * calls, `index` inside calls), because clients send an answer back with or without them.
 */
function plainMessage(message: JsonObject): JsonObject {
  const plain: Record<string, JsonValue | undefined> = {};
  for (const [key, value] of Object.entries(message)) {
    if (volatileFields.has(key)) continue;
    if (Array.isArray(value) && value.length === 0 && key !== "content") continue;
    plain[key] = value;
  }
  plain["content"] = plainContent(message["content"]);
  const calls = message["tool_calls"];
  if (Array.isArray(calls) && calls.length > 0) {
    plain["tool_calls"] = calls.map(plainCall);
    if (plain["content"] === "") delete plain["content"];
  }
  return plain;
}

function plainCall(call: JsonValue): JsonValue {
  if (!isObject(call)) return call;
  const { index: _index, ...rest } = call;
  const { function: called } = rest;
  if (!isObject(called)) return rest;
  const { parsed_arguments: _parsed, ...plain } = called;
  return { ...rest, function: plain };
}

function plainContent(content: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(content)) return content;
  const parts = content.map((part) => {
    if (!isObject(part)) return part;
    const { cache_control: _mark, ...rest } = part;
    return rest;
  });
  const only = parts.length === 1 ? parts[0] : undefined;
  return isObject(only) && only["type"] === "text" && Object.keys(only).length === 2
    ? stringOr(only["text"], "")
    : parts;
}

/** The fields that a message may have. All other fields are the writer's own notes. */
const messageFields = ["role", "content", "name", "tool_calls", "tool_call_id", "refusal"];

/** Removes the writer's notes. Also removes the `name` of a result, because it only repeats the name of the tool. */
function withoutNotes(message: JsonObject): JsonObject {
  const isResult = message["role"] === "tool";
  const names = isResult ? messageFields.filter((name) => name !== "name") : messageFields;
  return Object.fromEntries(
    names.flatMap((name) => (message[name] === undefined ? [] : [[name, message[name]]])),
  );
}

function decode(message: JsonObject): Message {
  const role = roleOf(message["role"]);
  const decoded = { role, parts: decodeParts(message, role) };
  return keepingUnknown(decoded, message["role"], chatTypes);
}

function decodeParts(message: JsonObject, role: Role): readonly Part[] {
  const content = decodeContent(message["content"]);
  if (role === "tool") {
    const callId = stringOr(message["tool_call_id"], "");
    return [{ kind: "tool-result", callId, content, isError: false }];
  }
  const { refusal } = message;
  const reasoning = message["reasoning_content"] ?? message["reasoning"];
  const thought: readonly Part[] =
    typeof reasoning === "string" && reasoning !== ""
      ? [{ kind: "reasoning", text: reasoning }]
      : [];
  const refused: readonly Part[] =
    typeof refusal === "string" ? [{ kind: "text", text: refusal }] : [];
  return [...thought, ...content, ...refused, ...decodeCalls(message)];
}

function roleOf(role: JsonValue | undefined): Role {
  switch (role) {
    case "assistant":
    case "tool":
      return role;
    case "system":
    case "developer":
      return "system";
    case "function":
      return "tool";
    default:
      return "user";
  }
}

function decodeCalls(message: JsonObject): readonly ToolCallPart[] {
  const calls = message["tool_calls"];
  if (!Array.isArray(calls)) return [];
  return calls.filter(isObject).map((call) => {
    const called = isObject(call["function"]) ? call["function"] : call["custom"];
    const details = isObject(called) ? called : {};
    return {
      kind: "tool-call",
      id: stringOr(call["id"], ""),
      name: stringOr(details["name"], ""),
      input: stringOr(details["arguments"] ?? details["input"], ""),
    };
  });
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
      return typeof part["text"] === "string" ? { kind: "text", text: part["text"] } : opaque;
    case "refusal":
      return { kind: "text", text: stringOr(part["refusal"], "") };
    case "image_url":
      return decodeImage(part["image_url"]) ?? opaque;
    case "file":
      return decodeFile(part["file"]) ?? opaque;
    default:
      return opaque;
  }
}

function decodeImage(image: JsonValue | undefined): Part | undefined {
  if (!isObject(image)) return undefined;
  const media = mediaOfUrl(stringOr(image["url"], ""));
  const { detail } = image;
  return detail === "low" || detail === "high" || detail === "auto"
    ? { kind: "image", media, detail }
    : { kind: "image", media };
}

function decodeFile(file: JsonValue | undefined): Part | undefined {
  if (!isObject(file)) return undefined;
  if (typeof file["file_data"] === "string") {
    return { kind: "document", media: mediaOfUrl(file["file_data"]) };
  }
  return { kind: "document", media: { kind: "file", id: stringOr(file["file_id"], "") } };
}

function mediaOfUrl(url: string): Media {
  if (!url.startsWith("data:")) return { kind: "url", url };
  const comma = url.indexOf(",");
  const mediaType = url.slice(5, comma).split(";")[0] ?? "";
  return { kind: "base64", mediaType, data: url.slice(comma + 1) };
}

/**
 * On other wires, an answer may be several messages. On this wire it must be one, because all its calls must come before their
 * results.
 */
function joinAnswers(messages: readonly Message[]): readonly Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last?.role === "assistant" && message.role === "assistant")
      joined[joined.length - 1] = { ...last, parts: [...last.parts, ...message.parts] };
    else joined.push(message);
  }
  return joined;
}

function encodeMessage(message: Message): readonly JsonObject[] {
  const results = message.parts.filter((part) => part.kind === "tool-result");
  const rest = message.parts.filter((part) => part.kind !== "tool-result");
  const answers = results.map((part) => ({
    role: "tool",
    tool_call_id: part.callId,
    content: part.content
      .flatMap((inner) => (inner.kind === "text" ? [inner.text] : []))
      .join("\n"),
  }));
  if (rest.length === 0) return answers;
  return [
    ...answers,
    message.role === "assistant" ? encodeAssistant(rest) : encodePlain(message.role, rest),
  ];
}

function encodeAssistant(parts: readonly Part[]): JsonObject {
  const calls = parts.filter((part) => part.kind === "tool-call");
  const text = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("");
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map((call) => ({
            id: call.id,
            type: "function",
            function: { name: call.name, arguments: call.input },
          })),
        }),
  };
}

function encodePlain(role: Role, parts: readonly Part[]): JsonObject {
  const content = parts.flatMap(encodePart);
  const only = content.length === 1 ? content[0] : undefined;
  return {
    role: role === "system" ? "system" : "user",
    content: isObject(only) && only["type"] === "text" ? (only["text"] ?? "") : content,
  };
}

function encodePart(part: Part): readonly JsonValue[] {
  switch (part.kind) {
    case "text":
      return [{ type: "text", text: part.text }];
    case "image":
      return [{ type: "image_url", image_url: { url: urlOfMedia(part.media) } }];
    case "document":
      return part.media.kind === "file"
        ? [{ type: "file", file: { file_id: part.media.id } }]
        : [{ type: "file", file: { file_data: urlOfMedia(part.media) } }];
    case "opaque":
      return [part.json];
    case "reasoning":
    case "tool-call":
    case "tool-result":
      return [];
  }
}

function urlOfMedia(media: Media): string {
  switch (media.kind) {
    case "base64":
      return `data:${media.mediaType};base64,${media.data}`;
    case "url":
      return media.url;
    case "file":
      return media.id;
  }
}

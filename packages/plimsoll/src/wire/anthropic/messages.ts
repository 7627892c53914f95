/** The Anthropic Messages wire: reads and writes messages. */

import {
  canonicalJson,
  isObject,
  type JsonObject,
  type JsonValue,
  stringOr,
} from "../../message/json.ts";
import type { Media, Message, Part, Role } from "../../message/message.ts";
import { anthropicTypes, keepingUnknown, opaquePart } from "../format/known-parts.ts";
import type { WireMessages } from "../format/wire.ts";
import { withoutCacheMarks } from "./cache.ts";

/** The field with the arguments of a call. */
const argumentKeys: ReadonlySet<string> = new Set(["input"]);

export const anthropicMessages: WireMessages = {
  asMessage: (json) => (isObject(json) ? json : undefined),
  identity: (message, { long, isOld = false } = {}) =>
    canonicalJson(
      { ...withoutCacheMarks(message), content: plainContent(message["content"]) },
      isOld ? { long } : { long, exactKeys: argumentKeys },
    ),
  decode,
  encode,
  withoutNotes: (message) => message,
  toolCalls: (message) => decode(message).parts.filter((part) => part.kind === "tool-call"),
  ownIds: () => [],
  referenceTo: () => undefined,
};

function plainContent(content: JsonValue | undefined): JsonValue {
  if (!Array.isArray(content)) return content ?? null;
  const blocks = content.map(plainBlock);
  const only = blocks.length === 1 ? blocks[0] : undefined;
  return isPlainText(only) ? stringOr(only["text"], "") : blocks;
}

function plainBlock(block: JsonValue): JsonValue {
  if (!isObject(block)) return block;
  const unmarked = withoutCacheMarks(block);
  return block["type"] === "tool_result"
    ? { ...unmarked, content: plainContent(block["content"]) }
    : unmarked;
}

function isPlainText(block: JsonValue | undefined): block is JsonObject {
  if (!isObject(block) || block["type"] !== "text") return false;
  return Object.keys(block).every((key) => key === "type" || key === "text" || block[key] === null);
}

function decode(message: JsonObject): Message {
  const { role, content } = message;
  const decoded = { role: roleOf(role), parts: decodeContent(content) };
  return keepingUnknown(decoded, role, anthropicTypes);
}

function roleOf(role: JsonValue | undefined): Role {
  return role === "assistant" || role === "system" ? role : "user";
}

export function decodeContent(content: JsonValue | undefined): readonly Part[] {
  if (typeof content === "string") return [{ kind: "text", text: content }];
  return Array.isArray(content) ? content.map(decodeBlock) : [];
}

function decodeBlock(block: JsonValue): Part {
  const opaque = opaquePart(block);
  if (!isObject(block)) return opaque;
  switch (block["type"]) {
    case "text":
      return typeof block["text"] === "string" ? { kind: "text", text: block["text"] } : opaque;
    case "thinking":
      return {
        kind: "reasoning",
        text: stringOr(block["thinking"], ""),
        ...(typeof block["signature"] === "string" ? { signature: block["signature"] } : {}),
      };
    case "tool_use":
      return {
        kind: "tool-call",
        id: stringOr(block["id"], ""),
        name: stringOr(block["name"], ""),
        input: JSON.stringify(block["input"] ?? {}),
      };
    case "tool_result":
      return {
        kind: "tool-result",
        callId: stringOr(block["tool_use_id"], ""),
        content: decodeContent(block["content"]),
        isError: block["is_error"] === true,
      };
    case "image":
    case "document":
      return decodeMedia(block["type"], block) ?? opaque;
    default:
      return opaque;
  }
}

function decodeMedia(kind: "image" | "document", block: JsonObject): Part | undefined {
  const source = block["source"];
  if (!isObject(source)) return undefined;
  if (source["type"] === "text") return { kind: "text", text: stringOr(source["data"], "") };
  const media = decodeSource(source);
  return media === undefined ? undefined : { kind, media };
}

function decodeSource(source: JsonObject): Media | undefined {
  switch (source["type"]) {
    case "base64":
      return {
        kind: "base64",
        mediaType: stringOr(source["media_type"], ""),
        data: stringOr(source["data"], ""),
      };
    case "url":
      return { kind: "url", url: stringOr(source["url"], "") };
    case "file":
      return { kind: "file", id: stringOr(source["file_id"], "") };
    default:
      return undefined;
  }
}

/** Neighbouring messages of the same role become one, because the results of parallel calls must be in one message. */
function encode(messages: readonly Message[]): readonly JsonObject[] {
  const encoded: { role: string; content: JsonValue[] }[] = [];
  for (const message of messages) {
    const role = message.role === "tool" ? "user" : message.role;
    const content = message.parts.flatMap(encodePart);
    const last = encoded.at(-1);
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) encoded.push({ role, content });
  }
  return encoded.map(({ role, content }) => ({ role, content: resultsFirst(content) }));
}

function resultsFirst(content: readonly JsonValue[]): readonly JsonValue[] {
  const isResult = (block: JsonValue): boolean =>
    isObject(block) && block["type"] === "tool_result";
  return [...content.filter(isResult), ...content.filter((block) => !isResult(block))];
}

function encodePart(part: Part): readonly JsonValue[] {
  switch (part.kind) {
    case "text":
      return part.text.trim() === "" ? [] : [{ type: "text", text: part.text }];
    case "tool-call":
      return [{ type: "tool_use", id: part.id, name: part.name, input: parseInput(part.input) }];
    case "tool-result":
      return [
        {
          type: "tool_result",
          tool_use_id: part.callId,
          content: part.content.flatMap(encodePart),
          ...(part.isError ? { is_error: true } : {}),
        },
      ];
    case "reasoning":
      // The provider refuses reasoning that it has not signed.
      return part.signature === undefined
        ? []
        : [{ type: "thinking", thinking: part.text, signature: part.signature }];
    case "image":
    case "document":
      return [{ type: part.kind, source: encodeSource(part.media) }];
    case "opaque":
      return [part.json];
  }
}

function parseInput(input: string): JsonValue {
  try {
    return JSON.parse(input) as JsonValue;
  } catch {
    return { input };
  }
}

function encodeSource(media: Media): JsonObject {
  switch (media.kind) {
    case "base64":
      return { type: "base64", media_type: media.mediaType, data: media.data };
    case "url":
      return { type: "url", url: media.url };
    case "file":
      return { type: "file", file_id: media.id };
  }
}

/** The Anthropic Messages wire: requests. Its answers are in anthropic-answer.ts. */

import {
  canonicalJson,
  isObject,
  type JsonObject,
  type JsonValue,
  stringOr,
} from "../../message/json.ts";
import type { Media, Message, OutputSize, Part, Role } from "../../message/message.ts";
import { type FieldReader, otherPlans, readFields } from "../format/body-fields.ts";
import { anthropicTypes, keepingUnknown, opaquePart } from "../format/known-parts.ts";
import { namedTool } from "../format/named-tool.ts";
import type { BodySlices, Slice } from "../format/slices.ts";
import type { BodyParts, FieldValues, Wire, WireRequest } from "../format/wire.ts";
import { createAnthropicAccumulator, readAnthropicAnswer } from "./answer.ts";
import {
  anthropicCacheMark,
  carryAnthropicText,
  countAnthropicMarks,
  hasLongAnthropicMarks,
  joinAnthropicMessages,
  markAnthropicMessage,
  replaceAnthropicPart,
  textBlock,
  withoutLastThinking,
} from "./edit.ts";
import { mergeAnthropicRounds, openAnthropicRounds, withoutOwnBlocks } from "./rounds.ts";
import { anthropicDeferral, encodeTool, isDeferring, withoutCacheMarks } from "./tools.ts";

/** Where a call has its arguments. */
const argumentKeys: ReadonlySet<string> = new Set(["input"]);

const betaHeader = "anthropic-beta";
/** The beta that gives a model a window of a million tokens, whatever its date. */
const longWindow = /context-1m/;

const cutShort = new Set(["max_tokens", "model_context_window_exceeded", "pause_turn", "refusal"]);

export const anthropicWire: Wire = {
  name: "anthropic",
  vendor: "anthropic",
  fields: {
    model: "model",
    messages: "messages",
    tools: "tools",
    system: "system",
    output: ["max_tokens"],
  },
  headers: [betaHeader],
  modelByHeaders: (model, headers) =>
    longWindow.test(headers[betaHeader] ?? "") ? `${model}[1m]` : undefined,
  // Vision guide, 2026-11.
  mediaLimits: (window) => ({ maxBytes: 32_000_000, maxCount: window >= 1_000_000 ? 600 : 100 }),
  profileOf: () => undefined,
  readRequest,
  asMessage: (json) => (isObject(json) ? json : undefined),
  identity: (message, { long, isOld = false } = {}) =>
    canonicalJson(
      { ...withoutCacheMarks(message), content: plainContent(message["content"]) },
      isOld ? { long } : { long, exactKeys: argumentKeys },
    ),
  decode,
  withoutNotes: (message) => message,
  replacePart: replaceAnthropicPart,
  ownMessage: (own) => ({ role: "user", content: [textBlock(own)] }),
  ownTextStands: "inside",
  carryText: carryAnthropicText,
  joinMessages: joinAnthropicMessages,
  markField: "cache_control",
  isLongMark: (mark) => isObject(mark) && mark["ttl"] === "1h",
  cacheBlocks: (message) => {
    const { content } = message;
    return Array.isArray(content) && content.length > 0 ? content : [message];
  },
  usualMark: { type: "ephemeral" },
  countMarks: countAnthropicMarks,
  hasLongMarks: hasLongAnthropicMarks,
  cacheMark: anthropicCacheMark,
  withMark: markAnthropicMessage,
  noTools: new Map([["tool_choice", { type: "none" }]]),
  nothingHeld: new Map(),
  nothingKept: new Map(),
  decodeSystem: decodeContent,
  encode,
  composeBody,
  openAnswer: createAnthropicAccumulator,
  readAnswer: readAnthropicAnswer,
  isCutShort: ({ stopReason }) => cutShort.has(stopReason ?? ""),
  openRounds: openAnthropicRounds,
  mergeRounds: mergeAnthropicRounds,
  withoutOwnCalls: withoutOwnBlocks,
  withoutLookups: withoutLastThinking,
  repeatable: (messages) => messages,
  errorEvent: (status, message) => ({
    name: "error",
    data: JSON.stringify(errorBody(status, message)),
  }),
  encodeTool,
  toolName: (tool) => (isObject(tool) ? stringOr(tool["name"], "") || undefined : undefined),
  decodeTool: (tool) => namedTool(tool, "input_schema"),
  toolsInside: () => [],
  isDeferring,
  deferral: anthropicDeferral,
  markTool: (tool, mark) => ({
    ...withoutCacheMarks(tool),
    ...(mark === undefined ? {} : { cache_control: mark }),
  }),
  markOn: (block) => (isObject(block) ? (block["cache_control"] ?? undefined) : undefined),
  toolCalls: (message) => decode(message).parts.filter((part) => part.kind === "tool-call"),
  ownIds: () => [],
  referenceTo: () => undefined,
  outputFields,
  counting: { path: "/count_tokens", body: countBody, read: readCount },
  errorBody,
  overflowBody: (needTokens, limitTokens) =>
    errorBody(400, `prompt is too long: ${needTokens} tokens > ${limitTokens} maximum`),
};

function errorBody(status: number, message: string): JsonObject {
  return { type: "error", error: { type: errorType(status), message } };
}

function readRequest(body: Uint8Array, slices: BodySlices): WireRequest {
  const fields = readFields(body, slices);
  const maxOutputTokens = fields.optionalCount("max_tokens");
  const thinkingTokens = thinkingOf(fields)?.tokens;
  const system = fields.slice("system");
  const tools = fields.slice("tools");
  const clientSession = sessionOfMetadata(fields.value("metadata"));
  return {
    model: fields.optionalText("model") ?? "",
    messages: fields.array("messages"),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(thinkingTokens === undefined ? {} : { thinkingTokens }),
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools }),
    ...(clientSession === undefined ? {} : { clientSession }),
    ...otherPlans(fields, isFreeChoice(fields.value("tool_choice"))),
  };
}

function thinkingOf(
  fields: FieldReader,
): { readonly field: JsonObject; readonly tokens: number } | undefined {
  const field = fields.value("thinking");
  const tokens = isObject(field) ? field["budget_tokens"] : undefined;
  return isObject(field) && typeof tokens === "number" ? { field, tokens } : undefined;
}

function outputFields(body: Uint8Array, slices: BodySlices, output: OutputSize): FieldValues {
  const { maxTokens, thinkingTokens } = output;
  const thinking = thinkingOf(readFields(body, slices));
  const isOther = thinking !== undefined && thinking.tokens !== thinkingTokens;
  return new Map<string, JsonValue>([
    ["max_tokens", maxTokens],
    ...(isOther && thinkingTokens !== undefined
      ? ([["thinking", { ...thinking.field, budget_tokens: thinkingTokens }]] as const)
      : []),
  ]);
}

function countBody({ model, system, tools }: WireRequest, body: Uint8Array): Uint8Array {
  const textOf = ({ start, end }: Slice): string =>
    new TextDecoder().decode(body.subarray(start, end));
  const fields = [
    `"model":${JSON.stringify(model)}`,
    ...(system === undefined ? [] : [`"system":${textOf(system)}`]),
    ...(tools === undefined ? [] : [`"tools":${textOf(tools)}`]),
    '"messages":[{"role":"user","content":"."}]',
  ];
  return new TextEncoder().encode(`{${fields.join(",")}}`);
}

function readCount(answer: JsonValue): number | undefined {
  const tokens = isObject(answer) ? answer["input_tokens"] : undefined;
  return typeof tokens === "number" && tokens > 0 ? tokens : undefined;
}

function isFreeChoice(choice: JsonValue | undefined): boolean {
  return !isObject(choice) || choice["type"] === "auto" || choice["type"] === "none";
}

/** Claude Code puts its session id at the end of `metadata.user_id`, as text or as a JSON object. */
function sessionOfMetadata(metadata: JsonValue | undefined): string | undefined {
  if (!isObject(metadata)) return undefined;
  const userId = stringOr(metadata["user_id"], "");
  const id =
    /session_([0-9A-Za-z-]{8,64})$/.exec(userId)?.[1] ??
    /"session_id"\s*:\s*"([0-9A-Za-z-]{8,64})"/.exec(userId)?.[1];
  return id === undefined ? undefined : `claude-code:${id}`;
}

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

function decodeContent(content: JsonValue | undefined): readonly Part[] {
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

/** Neighbours of one role become one message: results of parallel calls must stand together. */
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
      // Reasoning without a signature of this provider's own would be refused.
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

/** One text without a mark is a text. */
function systemJson(system: NonNullable<BodyParts["system"]>): JsonValue {
  if (typeof system === "string") return system;
  const [first, ...others] = system;
  const isPlain = first !== undefined && others.length === 0 && first.mark === undefined;
  return isPlain ? first.text : system.map(textBlock);
}

function composeBody(parts: BodyParts): JsonObject {
  return {
    model: parts.model,
    max_tokens: parts.maxOutputTokens,
    ...(parts.system === undefined ? {} : { system: systemJson(parts.system) }),
    ...(parts.tools.length === 0 ? {} : { tools: parts.tools.map(encodeTool) }),
    messages: parts.messages,
    ...parts.extra,
  };
}

function errorType(status: number): string {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 529:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

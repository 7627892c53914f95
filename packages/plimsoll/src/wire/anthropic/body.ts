/** The Anthropic Messages wire: request bodies and their limits. */

import { isObject, type JsonObject, type JsonValue, stringOr } from "../../message/json.ts";
import type { OutputSize } from "../../message/message.ts";
import { type FieldReader, otherPlans, readFields } from "../format/body-fields.ts";
import type { BodySlices, Slice } from "../format/slices.ts";
import type { BodyParts, FieldValues, WireBody, WireRequest } from "../format/wire.ts";
import { textBlock } from "./cache.ts";
import { decodeContent } from "./messages.ts";
import { reasoningFields } from "./thinking.ts";
import { encodeTool } from "./tools.ts";

const betaHeader = "anthropic-beta";

/** Matches the beta `context-1m-…`, which gives a model a window of a million tokens. The date at the end does not matter. */
const longWindow = /context-1m/;

export const anthropicBody: WireBody = {
  read: readRequest,
  compose: composeBody,
  decodeSystem: decodeContent,
  outputFields,
  noTools: () => new Map([["tool_choice", { type: "none" }]]),
  onlyTool: (body, slices) =>
    isFreeChoice(readFields(body, slices).value("tool_choice"), [])
      ? new Map()
      : new Map([["tool_choice", { type: "auto" }]]),
  reasoningFields,
  withoutServerSideHistory: new Map(),
  nothingKept: new Map(),
  headers: [betaHeader],
  modelByHeaders: (model, headers) =>
    longWindow.test(headers[betaHeader] ?? "") ? `${model}[1m]` : undefined,
  // Limits from Anthropic's vision guide, 2026-11.
  mediaLimits: (window) => ({ maxBytes: 32_000_000, maxCount: window >= 1_000_000 ? 600 : 100 }),
  profileOf: () => undefined,
  counting: {
    place: (conversation) => {
      const place = new URL(conversation);
      place.pathname += "/count_tokens";
      return place;
    },
    body: countBody,
    read: readCount,
  },
};

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
    ...otherPlans(fields, isFreeChoice(fields.value("tool_choice"), ["none"])),
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

function isFreeChoice(choice: JsonValue | undefined, others: readonly string[]): boolean {
  if (!isObject(choice)) return true;
  const type = stringOr(choice["type"], "");
  return type === "auto" || others.includes(type);
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

/** A single text without a cache mark is written as a plain string. */
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

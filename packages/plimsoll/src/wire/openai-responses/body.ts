/** The OpenAI Responses wire: request bodies and their limits. */

import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";
import { type FieldReader, otherPlans, readFields } from "../format/body-fields.ts";
import { openaiMediaLimits } from "../format/openai-limits.ts";
import { openaiEffort } from "../format/openai-reasoning.ts";
import type { BodySlices, Slice } from "../format/slices.ts";
import { type BodyParts, type WireBody, type WireRequest, wholeSystem } from "../format/wire.ts";
import { decodeContent } from "./messages.ts";
import { additionalTools, encodeTool } from "./tools.ts";

export const responsesBody: WireBody = {
  read: readRequest,
  compose: composeBody,
  decodeSystem: decodeContent,
  outputFields: (_body, _slices, { maxTokens }) => new Map([["max_output_tokens", maxTokens]]),
  noTools: () => new Map([["tool_choice", "none"]]),
  onlyTool: (body, slices) =>
    (readFields(body, slices).value("tool_choice") ?? "auto") === "auto"
      ? new Map()
      : new Map([["tool_choice", "auto"]]),
  reasoningFields: (body, slices, wanted) => {
    const effort = openaiEffort(wanted);
    const known = readFields(body, slices).value("reasoning");
    const reasoning = isObject(known) ? known : {};
    return effort === undefined || reasoning["effort"] !== undefined
      ? new Map()
      : new Map([["reasoning", { ...reasoning, effort }]]);
  },
  withoutServerSideHistory: new Map([["previous_response_id", null]]),
  nothingKept: new Map([["store", false]]),
  headers: [],
  modelByHeaders: () => undefined,
  mediaLimits: openaiMediaLimits,
  profileOf: () => undefined,
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
    ...(fields.value("store") === false ? { isNotStored: true } : {}),
    ...otherPlans(fields, isPlainTurn(fields)),
  };
}

/** Whether the client waits for the answer, and the model may decide whether to call tools. */
function isPlainTurn(fields: FieldReader): boolean {
  const choice = fields.value("tool_choice") ?? "auto";
  return (choice === "auto" || choice === "none") && fields.value("background") !== true;
}

const quote = 0x22;

/**
 * The messages of the input. A plain text is one message. The input may be absent, because a stored prompt or the provider's
 * history may contain everything.
 */
function readInput(body: Uint8Array, fields: FieldReader): readonly Slice[] {
  const input = fields.slice("input");
  if (input === undefined) return [];
  return body[input.start] === quote ? [input] : fields.array("input");
}

/** Reads the thread id that Codex puts into `prompt_cache_key`. Other clients use one key for many conversations. */
function sessionOfCacheKey(key: JsonValue | undefined): string | undefined {
  const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
  return typeof key === "string" && uuid.test(key) ? `codex:${key}` : undefined;
}

function conversationOf(conversation: JsonValue | undefined): string | undefined {
  const id = isObject(conversation) ? conversation["id"] : conversation;
  return typeof id === "string" ? `conversation:${id}` : undefined;
}

function composeBody(parts: BodyParts): JsonObject {
  return {
    model: parts.model,
    max_output_tokens: parts.maxOutputTokens,
    ...(parts.system === undefined ? {} : { instructions: wholeSystem(parts.system) }),
    ...(parts.tools.length === 0 ? {} : { tools: parts.tools.map(encodeTool) }),
    input: parts.messages,
    ...parts.extra,
  };
}

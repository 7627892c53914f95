/** The OpenAI Chat Completions wire: request bodies and their limits. */

import type { JsonObject } from "../../message/json.ts";
import type { OutputSize } from "../../message/message.ts";
import { type FieldReader, otherPlans, readFields } from "../format/body-fields.ts";
import { openaiMediaLimits } from "../format/openai-limits.ts";
import { openaiEffort } from "../format/openai-reasoning.ts";
import type { BodySlices } from "../format/slices.ts";
import {
  type BodyParts,
  type FieldValues,
  type Profile,
  type WireBody,
  type WireRequest,
  wholeSystem,
} from "../format/wire.ts";
import { encodeTool } from "./tools.ts";

/** Newer models accept only `max_completion_tokens`. A body has at most one of the two. */
const usualOutputName = "max_completion_tokens";
const outputNames = [usualOutputName, "max_tokens"];

export const chatBody: WireBody = {
  read: readRequest,
  compose: composeBody,
  // In a request body, the system prompt is one of the messages. Before Plimsoll writes the body, the prompt may be a plain text.
  decodeSystem: (system) => (typeof system === "string" ? [{ kind: "text", text: system }] : []),
  outputFields,
  noTools: () => new Map([["tool_choice", "none"]]),
  onlyTool: (body, slices) =>
    (readFields(body, slices).value("tool_choice") ?? "auto") === "auto"
      ? new Map()
      : new Map([["tool_choice", "auto"]]),
  reasoningFields: (body, slices, wanted) => {
    const effort = openaiEffort(wanted);
    const isSaid = readFields(body, slices).value("reasoning_effort") !== undefined;
    return effort === undefined || isSaid ? new Map() : new Map([["reasoning_effort", effort]]);
  },
  withoutServerSideHistory: new Map(),
  nothingKept: new Map(),
  headers: [],
  modelByHeaders: () => undefined,
  mediaLimits: openaiMediaLimits,
  profileOf,
};

function outputFields(
  body: Uint8Array,
  slices: BodySlices,
  { maxTokens }: OutputSize,
): FieldValues {
  const fields = readFields(body, slices);
  const named = outputNames.flatMap((name) => {
    const asked = fields.optionalCount(name);
    return asked === undefined ? [] : [[name, Math.min(asked, maxTokens)] as const];
  });
  return new Map(named.length === 0 ? [[usualOutputName, maxTokens]] : named);
}

function readRequest(body: Uint8Array, slices: BodySlices): WireRequest {
  const fields = readFields(body, slices);
  const maxOutputTokens =
    fields.optionalCount("max_completion_tokens") ?? fields.optionalCount("max_tokens");
  const tools = fields.slice("tools");
  return {
    model: fields.optionalText("model") ?? "",
    messages: fields.array("messages"),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(tools === undefined ? {} : { tools }),
    ...otherPlans(fields, isPlainTurn(fields)),
  };
}

/** Whether the request asks for one answer, and the model may decide whether to call tools. */
function isPlainTurn(fields: FieldReader): boolean {
  const choice = fields.value("tool_choice") ?? "auto";
  const count = fields.value("n") ?? 1;
  return (choice === "auto" || choice === "none") && count === 1;
}

/** Servers that are stricter than OpenAI's, by the name of provider or model. */
function profileOf(target: string): Profile | undefined {
  if (/mistral|codestral|devstral|magistral/i.test(target)) return "mistral";
  return /deepseek/i.test(target) ? "deepseek" : undefined;
}

function composeBody(parts: BodyParts): JsonObject {
  return {
    model: parts.model,
    [parts.outputField ?? usualOutputName]: parts.maxOutputTokens,
    ...(parts.tools.length === 0 ? {} : { tools: parts.tools.map(encodeTool) }),
    messages:
      parts.system === undefined
        ? parts.messages
        : [{ role: "system", content: wholeSystem(parts.system) }, ...parts.messages],
    ...parts.extra,
  };
}

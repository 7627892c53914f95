/**
 * The OpenAI Responses wire: a tool search that the sender of the request runs itself ("Tool search" guide, client-executed,
 * 2026-11). The search is an item of its own. Its output contains the full tools, which the model can call from then on.
 */

import {
  isObject,
  type JsonObject,
  type JsonValue,
  parseObject,
  stringOr,
} from "../../message/json.ts";
import type { ToolCallPart, ToolResultPart } from "../../message/message.ts";
import { toolSearchTexts } from "../../text/for-models.ts";
import type { IsOwn, NativeDeferral } from "../format/wire.ts";

const callType = "tool_search_call";
const outputType = "tool_search_output";

export const responsesDeferral: NativeDeferral = {
  // Models from gpt-5.4 on support this ("Tool search" guide, 2026-11). The smallest models reportedly do not
  // (dust-tt/dust#29233).
  models: /^gpt-(?:5\.(?:[4-9]|[1-9]\d)|[6-9])(?!\d)(?!.*nano)/,
  refusal: /defer_loading|tool_search/,
  search: ({ description, parameters }) => ({
    type: "tool_search",
    execution: "client",
    ...(description === undefined ? {} : { description }),
    parameters,
  }),
  found: (tools) => [
    { type: outputType, execution: "client", status: "completed", tools: tools.map(loaded) },
  ],
  plain: plainSearch,
};

/** Marks tools as found by a search, as OpenAI's own Codex does. In a namespace, the members are marked. */
function loaded(tool: JsonObject): JsonObject {
  const { tools } = tool;
  if (!Array.isArray(tools)) return { ...tool, defer_loading: true };
  return { ...tool, tools: tools.map((one) => (isObject(one) ? loaded(one) : one)) };
}

function plainSearch(item: JsonObject): JsonObject {
  const { type, call_id, execution, arguments: input = {}, tools } = item;
  if (execution === "server" || typeof call_id !== "string") return item;
  const text = typeof input === "string" ? input : JSON.stringify(input);
  if (type === callType)
    return { type: "function_call", call_id, name: "tool_search", arguments: text };
  return type === outputType
    ? { type: "function_call_output", call_id, output: foundText(tools) }
    : item;
}

/** Lists only the names of the tools. For a provider without tool search, the tools themselves are in the list of tools. */
function foundText(tools: JsonValue | undefined): string {
  const names = (Array.isArray(tools) ? tools : []).filter(isObject).map(({ name }) => name);
  return names.length === 0
    ? toolSearchTexts.nothingFound
    : toolSearchTexts.found(names.map(String));
}

/** Whether the item is a search that needs an answer. A search that the provider runs itself needs none. */
export function isToolSearch({ type, execution }: JsonObject): boolean {
  return type === callType && execution !== "server";
}

export function encodeSearch({ id, input }: ToolCallPart): JsonObject {
  return {
    type: callType,
    call_id: id,
    execution: "client",
    status: "completed",
    arguments: parseObject(input) ?? {},
  };
}

/** The search output inside this result, or undefined if the result is not the output of a search. */
export function foundIn({ callId, content }: ToolResultPart): JsonObject | undefined {
  const [part, ...others] = content;
  if (part?.kind !== "opaque" || others.length > 0 || !isObject(part.json)) return undefined;
  return part.json["type"] === outputType ? { ...part.json, call_id: callId } : undefined;
}

/** Whether this is a call that Plimsoll answers. */
export function isOwnItem(item: JsonObject, isOwn: IsOwn): boolean {
  if (isToolSearch(item)) return isOwn("", true);
  return item["type"] === "function_call" && isOwn(stringOr(item["name"], ""));
}

/** Whether this is one of Plimsoll's tools, which the client does not know. */
export function isOwnTool(tool: JsonObject, isOwn: IsOwn): boolean {
  return tool["type"] === "tool_search" ? isOwn("", true) : isOwn(stringOr(tool["name"], ""));
}

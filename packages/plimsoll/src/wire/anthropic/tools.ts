/** The Anthropic Messages wire: tools, and the provider's own way to defer them. */

import { isObject, type JsonObject, type JsonValue, stringOr } from "../../message/json.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import { toolSearchTexts } from "../../text/for-models.ts";
import { namedTool } from "../format/named-tool.ts";
import { plainToolList } from "../format/tool-list.ts";
import type { NativeDeferral, WireTools } from "../format/wire.ts";
import { withoutCacheMarks } from "./cache.ts";

const deferral: NativeDeferral = {
  // Plimsoll assumes that this works from Claude 4 on. The field is in Anthropic's SDK, but no list of models was checked.
  models: /^claude-(?!3|2|instant)/,
  refusal: /defer_loading|tool_reference/,
  defer: (tool) => ({ ...withoutCacheMarks(tool), defer_loading: true }),
  found: (tools) =>
    [...new Set(tools.map((tool) => stringOr(tool["name"], "")))].map((name) => ({
      type: "tool_reference",
      tool_name: name,
    })),
  named: referencedIn,
  plain: plainReferences,
};

export const anthropicTools: WireTools = {
  list: plainToolList("tools"),
  encode: encodeTool,
  decode: (tool) => namedTool(tool, "input_schema"),
  nameOf: (tool) => (isObject(tool) ? stringOr(tool["name"], "") || undefined : undefined),
  inside: () => [],
  isDeferring: (tool) =>
    isObject(tool) &&
    (tool["defer_loading"] === true || stringOr(tool["type"], "").startsWith("tool_search")),
  deferral,
};

export function encodeTool({ name, description, parameters }: ToolDefinition): JsonObject {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    input_schema: parameters,
  };
}

function referencedIn({ content }: JsonObject): readonly string[] {
  const blocks = (Array.isArray(content) ? content : []).filter(isObject);
  return blocks
    .flatMap((block) => (Array.isArray(block["content"]) ? block["content"] : []))
    .filter(isReference)
    .map(({ tool_name: name }) => stringOr(name, ""));
}

/** Replaces each reference to a tool by a text with the tool's name, unless `isThere` accepts the tool. */
function plainReferences(
  message: JsonObject,
  isThere: (name: string) => boolean = () => false,
): JsonObject {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const isGone = (block: JsonValue): block is JsonObject =>
    isReference(block) && !isThere(stringOr(block["tool_name"], ""));
  const plain = content.map((block) => {
    if (!isObject(block) || !Array.isArray(block["content"])) return block;
    if (!block["content"].some(isGone)) return block;
    const inner = block["content"].map((one: JsonValue) =>
      isGone(one)
        ? { type: "text", text: toolSearchTexts.found([stringOr(one["tool_name"], "")]) }
        : one,
    );
    return { ...block, content: inner };
  });
  return plain.every((block, index) => block === content[index])
    ? message
    : { ...message, content: plain };
}

function isReference(block: JsonValue): block is JsonObject {
  return isObject(block) && block["type"] === "tool_reference";
}

/** The OpenAI Chat Completions wire: tools. */

import { isObject, type JsonObject, stringOr } from "../../message/json.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import { namedTool } from "../format/named-tool.ts";
import { plainToolList } from "../format/tool-list.ts";
import type { WireTools } from "../format/wire.ts";

export const chatTools: WireTools = {
  list: plainToolList("tools"),
  encode: encodeTool,
  decode: (tool) =>
    isObject(tool) ? namedTool(tool["function"] ?? tool["custom"], "parameters") : undefined,
  nameOf: (tool) => {
    const called = isObject(tool) ? (tool["function"] ?? tool["custom"]) : undefined;
    return isObject(called) ? stringOr(called["name"], "") || undefined : undefined;
  },
  inside: () => [],
  max: 128,
  isDeferring: () => false,
};

export function encodeTool({ name, description, parameters }: ToolDefinition): JsonObject {
  const described = description === undefined ? {} : { description };
  return { type: "function", function: { name, ...described, parameters } };
}

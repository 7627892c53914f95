/** A tool as most formats write it: a name, a description, and a schema in its own field. */

import { isObject, type JsonValue, stringOr } from "../../message/json.ts";
import type { ToolDefinition } from "../../message/tool.ts";

/** Removes the wrapper that OpenAI Chat puts around a tool. */
export function plainTool(tool: JsonValue): JsonValue {
  return isObject(tool) && isObject(tool["function"]) ? tool["function"] : tool;
}

/** Reads a tool of any wire or of MCP, without its wrapper. */
export function toolOfAnyForm(tool: JsonValue): ToolDefinition | undefined {
  return namedTool(tool, "parameters", "input_schema", "inputSchema");
}

/** `schemas` lists the names that the schema field may have. Returns undefined if the tool has no name. */
export function namedTool(
  tool: JsonValue | undefined,
  ...schemas: readonly string[]
): ToolDefinition | undefined {
  const name = isObject(tool) ? stringOr(tool["name"], "") : "";
  if (!isObject(tool) || name === "") return undefined;
  const { description } = tool;
  const parameters = schemas.map((schema) => tool[schema]).find(isObject) ?? {};
  return { name, ...(typeof description === "string" ? { description } : {}), parameters };
}

/** A tool as most formats have it: a name, a description, and a schema in a field of its own. */

import { isObject, type JsonValue, stringOr } from "../../message/json.ts";
import type { ToolDefinition } from "../../message/tool.ts";

/** A tool without what OpenAI Chat wraps it in. */
export function plainTool(tool: JsonValue): JsonValue {
  return isObject(tool) && isObject(tool["function"]) ? tool["function"] : tool;
}

/** A tool of any wire or of MCP, without its wrapper. */
export function toolOfAnyForm(tool: JsonValue): ToolDefinition | undefined {
  return namedTool(tool, "parameters", "input_schema", "inputSchema");
}

/** `schemas` are the names that its schema may stand under. Undefined: it has no name. */
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

/** A tool that the model may call, in the neutral form. */

import { isObject, type JsonObject, type JsonValue, stringOr } from "./json.ts";

export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  readonly parameters: JsonObject;
  /** Who brought the tool: decides what may be deferred first. Unknown counts as built-in. */
  readonly source?: "builtin" | "skill" | "mcp";
}

/** A tool as most wires have it: a name, a description, and a schema in a field of its own. */
export function namedTool(tool: JsonValue | undefined, schema: string): ToolDefinition | undefined {
  const name = isObject(tool) ? stringOr(tool["name"], "") : "";
  if (!isObject(tool) || name === "") return undefined;
  const { description } = tool;
  const parameters = tool[schema];
  return {
    name,
    ...(typeof description === "string" ? { description } : {}),
    parameters: isObject(parameters) ? parameters : {},
  };
}

/** A tool as most formats write it: a name, a description, and a schema in its own field. */

import { isObject, type JsonValue, stringOr } from "../../message/json.ts";
import type { ToolDefinition } from "../../message/tool.ts";

/** Removes the wrapper that OpenAI Chat puts around a tool. */
export function plainTool(tool: JsonValue): JsonValue {
  return isObject(tool) && isObject(tool["function"]) ? tool["function"] : tool;
}

/** A tool as a program may give it to the library: in the neutral form, or as a provider or an MCP server writes it. */
export type GivenTool =
  | ToolDefinition
  | (GivenBase & {
      readonly name: string;
      readonly description?: string;
      readonly input_schema: object;
    })
  | (GivenBase & {
      readonly name: string;
      readonly description?: string;
      readonly inputSchema: object;
    })
  | (GivenBase & {
      readonly type: "function";
      readonly name: string;
      readonly description?: string;
      readonly parameters: object;
    })
  | (GivenBase & {
      readonly type: "function";
      readonly function: {
        readonly name: string;
        readonly description?: string;
        readonly parameters: object;
      };
    });

export const toolForms =
  'Give each tool as { name, description, parameters }, as { name, description, input_schema }, or as { type: "function", function: { name, description, parameters } }. A tool without arguments has the schema { type: "object", properties: {} }.';

type GivenBase = Pick<ToolDefinition, "source">;

const schemaFields = ["parameters", "input_schema", "inputSchema"] as const;

/** Reads a tool of any wire or of MCP, without its wrapper. */
export function toolOfAnyForm(tool: JsonValue): ToolDefinition | undefined {
  return namedTool(tool, ...schemaFields);
}

/** Reads a tool of a program. Returns undefined if the tool has no name or no schema, because a model could not call it. */
export function givenTool(given: JsonValue): ToolDefinition | undefined {
  const plain = plainTool(given);
  const hasSchema = isObject(plain) && schemaFields.some((field) => isObject(plain[field]));
  const tool = hasSchema ? toolOfAnyForm(plain) : undefined;
  const source = isObject(given) ? given["source"] : undefined;
  const isKnown = source === "builtin" || source === "skill" || source === "mcp";
  return tool && (isKnown ? { ...tool, source } : tool);
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

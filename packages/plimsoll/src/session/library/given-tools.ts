/** The tools that a program gives to the library, in any form that programs use. */

import { isToolAllowed, type ToolRules } from "../../budget/tool-budget.ts";
import { PlimsollError } from "../../message/error.ts";
import type { JsonValue } from "../../message/json.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import { type GivenTool, givenTool, toolForms } from "../../wire/format/named-tool.ts";

/** The caller's tools that the rules allow. */
export function allowedTools({
  tools,
  ...rules
}: ToolRules & { readonly tools?: readonly GivenTool[] }): readonly ToolDefinition[] {
  return givenTools(tools).filter(({ name }) => isToolAllowed(rules, name));
}

/** Contract: throws USAGE if a tool has no name or no schema. */
export function givenTools(tools: readonly GivenTool[] = []): readonly ToolDefinition[] {
  if (!Array.isArray(tools)) throw badTool("tools is not a list");
  return tools.map(toolAt);
}

function toolAt(given: GivenTool, index: number): ToolDefinition {
  const tool = givenTool(given as unknown as JsonValue);
  if (tool === undefined) throw badTool(`tools[${index}] has no name or no schema`);
  return tool;
}

function badTool(problem: string): PlimsollError {
  return new PlimsollError("USAGE", `${problem}. ${toolForms}`);
}

/** The definitions of the tools that Plimsoll answers itself. They are short, because every request contains them. */

import type { ToolDefinition } from "../message/tool.ts";
import { ownToolTexts } from "../text/for-models.ts";
import { ownArguments, parametersOf } from "./own-arguments.ts";

export function ownDefinitions(nameOf: (tool: OwnToolName) => string): readonly ToolDefinition[] {
  const [read, recall] = [nameOf("read_result"), nameOf("recall")];
  return [
    {
      name: read,
      description: ownToolTexts.readResult,
      parameters: parametersOf(ownArguments.read_result),
    },
    {
      name: recall,
      description: ownToolTexts.recall(read),
      parameters: parametersOf(ownArguments.recall),
    },
    {
      name: nameOf("compact_context"),
      description: ownToolTexts.compactContext,
      parameters: parametersOf(ownArguments.compact_context),
    },
  ];
}

/** The only tool that a final turn offers to a program that takes its result from a tool call. */
export const finalReport: ToolDefinition = {
  name: "agent__final_report",
  description: ownToolTexts.finalReport,
  parameters: {
    type: "object",
    properties: { report: { type: "string", description: ownToolTexts.report } },
    required: ["report"],
  },
};

/**
 * The note is in the tool list, which comes before the conversation. So after any change to the note, the provider must read the
 * whole conversation again. The note therefore changes only when the tool list changes anyway.
 */
export function searchDefinition(
  nameOf: (tool: OwnToolName) => string,
  note: string,
): ToolDefinition {
  return {
    name: nameOf("tool_search"),
    description: ownToolTexts.toolSearch(note),
    parameters: parametersOf(ownArguments.tool_search),
  };
}

export type OwnToolName = "read_result" | "recall" | "compact_context" | "tool_search";

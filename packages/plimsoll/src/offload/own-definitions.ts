/** The definitions of the tools that Plimsoll answers itself. They are short, because every request carries them. */

import type { ToolDefinition } from "../message/tool.ts";
import { ownToolTexts } from "../text/for-models.ts";

/** Uses only keywords that every provider accepts: type, properties, required, additionalProperties, description. */
export function ownDefinitions(nameOf: (tool: OwnToolName) => string): readonly ToolDefinition[] {
  const [read, recall] = [nameOf("read_result"), nameOf("recall")];
  return [
    {
      name: read,
      description: ownToolTexts.readResult,
      parameters: {
        type: "object",
        properties: {
          ref_id: { type: "string" },
          offset: { type: "integer", description: ownToolTexts.offset },
          limit: { type: "integer", description: ownToolTexts.limit },
          grep: { type: "string", description: ownToolTexts.grep },
          lines: { type: "string", description: ownToolTexts.lines },
          json: { type: "string", description: ownToolTexts.json },
        },
        required: ["ref_id"],
        additionalProperties: false,
      },
    },
    {
      name: recall,
      description: ownToolTexts.recall(read),
      parameters: {
        type: "object",
        properties: {
          query: { type: "string" },
          budget: { type: "integer", description: ownToolTexts.budget },
        },
        required: ["query"],
        additionalProperties: false,
      },
    },
    {
      name: nameOf("compact_context"),
      description: ownToolTexts.compactContext,
      parameters: { type: "object", properties: {}, required: [], additionalProperties: false },
    },
  ];
}

/**
 * The note comes before the whole conversation, so any change to it makes the provider read everything again. It changes only
 * when the tool list changes anyway.
 */
export function searchDefinition(
  nameOf: (tool: OwnToolName) => string,
  note: string,
): ToolDefinition {
  return {
    name: nameOf("tool_search"),
    description: ownToolTexts.toolSearch(note),
    parameters: {
      type: "object",
      properties: { query: { type: "string" } },
      required: ["query"],
      additionalProperties: false,
    },
  };
}

export type OwnToolName = "read_result" | "recall" | "compact_context" | "tool_search";

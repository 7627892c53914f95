/** What the model is told of the tools that Plimsoll answers itself: few words, for they stand in every request. */

import type { ToolDefinition } from "../message/tool.ts";

/** Only keywords that every provider takes: type, properties, required, additionalProperties, description. */
export function ownDefinitions(nameOf: (tool: OwnToolName) => string): readonly ToolDefinition[] {
  const [read, recall] = [nameOf("read_result"), nameOf("recall")];
  return [
    {
      name: read,
      description:
        "Reads content that stands here only as a handle (pl_…). pl_…#12 or #12 is message 12. Gives a page and the next offset; grep, lines or json give only what you need.",
      parameters: {
        type: "object",
        properties: {
          ref_id: { type: "string" },
          offset: { type: "integer", description: "First byte." },
          limit: { type: "integer", description: "Bytes." },
          grep: { type: "string", description: "Lines that match this regular expression." },
          lines: { type: "string", description: "e.g. 120-180" },
          json: { type: "string", description: "e.g. items[3].name" },
        },
        required: ["ref_id"],
        additionalProperties: false,
      },
    },
    {
      name: recall,
      description: `Searches what was said and read earlier and is not shown any more. Gives passages word for word with their message numbers, for ${read}.`,
      parameters: {
        type: "object",
        properties: {
          query: { type: "string" },
          budget: { type: "integer", description: "Tokens." },
        },
        required: ["query"],
        additionalProperties: false,
      },
    },
    {
      name: nameOf("compact_context"),
      description:
        "Makes room by shortening the older part of this conversation now. Nothing is lost.",
      parameters: { type: "object", properties: {}, required: [], additionalProperties: false },
    },
  ];
}

/** The note changes only when what is told changes anyway: these bytes stand before the whole conversation. */
export function searchDefinition(
  nameOf: (tool: OwnToolName) => string,
  note: string,
): ToolDefinition {
  return {
    name: nameOf("tool_search"),
    description: `${note || "Finds tools that you are not told of."} Say what you want to do, or a tool's name; what is found can be called from then on.`,
    parameters: {
      type: "object",
      properties: { query: { type: "string" } },
      required: ["query"],
      additionalProperties: false,
    },
  };
}

export type OwnToolName = "read_result" | "recall" | "compact_context" | "tool_search";

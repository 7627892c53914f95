/** A tool that the model may call, in the neutral form. */

import type { JsonObject } from "./json.ts";

export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  readonly parameters: JsonObject;
  /** Who provides the tool. This affects which tools are deferred first. A tool of unknown source is treated as built-in. */
  readonly source?: "builtin" | "skill" | "mcp";
}

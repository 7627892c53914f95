/** A tool that the model may call, in the neutral form. */

import type { JsonObject } from "./json.ts";

export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  readonly parameters: JsonObject;
  /** Who provides the tool. Decides which tools are deferred first. A tool of unknown source counts as built-in. */
  readonly source?: "builtin" | "skill" | "mcp";
}

/** A tool that the model may call, in the neutral form. */

import type { JsonObject } from "./json.ts";

export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  readonly parameters: JsonObject;
  /** Who brought the tool: decides what may be deferred first. Unknown counts as built-in. */
  readonly source?: "builtin" | "skill" | "mcp";
}

/** The part of an MCP tool that clients see, and the form of its answers. */

import type { z } from "zod";
import type { JsonObject } from "../../message/json.ts";

export type McpAnswer =
  | { readonly kind: "given"; readonly content: Readonly<Record<string, unknown>> }
  /** A sentence for the model that describes the mistake. */
  | { readonly kind: "failed"; readonly sentence: string };

export interface McpToolFace {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly output: z.ZodObject;
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
  /** What the client may show people while the call runs. */
  readonly whileItRuns?: string;
}

export function given(content: object): McpAnswer {
  return { kind: "given", content: { ...content } };
}

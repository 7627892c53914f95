/** Finds the form of a wire. */

import type { WireName } from "../../src/wire/format/wire.ts";
import { anthropicClient } from "./anthropic/client.ts";
import { anthropicUpstream } from "./anthropic/upstream.ts";
import type { PathFields, WireForm } from "./form.ts";
import { geminiClient } from "./gemini/client.ts";
import { geminiUpstream } from "./gemini/upstream.ts";
import { chatClient } from "./openai-chat/client.ts";
import { chatUpstream } from "./openai-chat/upstream.ts";
import { responsesClient } from "./openai-responses/client.ts";
import { responsesUpstream } from "./openai-responses/upstream.ts";

export const wireForms: Readonly<Record<WireName, WireForm>> = {
  anthropic: {
    wire: "anthropic",
    vendor: "anthropic",
    callIdStart: "toolu",
    client: anthropicClient,
    upstream: anthropicUpstream,
  },
  "openai-chat": {
    wire: "openai-chat",
    vendor: "openai",
    callIdStart: "call",
    client: chatClient,
    upstream: chatUpstream,
  },
  "openai-responses": {
    wire: "openai-responses",
    vendor: "openai",
    callIdStart: "call",
    client: responsesClient,
    upstream: responsesUpstream,
  },
  gemini: {
    wire: "gemini",
    vendor: "gemini",
    callIdStart: "call",
    client: geminiClient,
    upstream: geminiUpstream,
  },
};

/** The form of the wire that has this path, with the fields that the path says. The path includes its query string. */
export function formOfPath(
  path: string,
): { readonly form: WireForm; readonly fields: PathFields } | undefined {
  for (const form of Object.values(wireForms)) {
    const fields = form.upstream.route(path);
    if (fields !== undefined) return { form, fields };
  }
  return undefined;
}

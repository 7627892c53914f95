/** The table of wires. A new wire needs one implementation and one line here. */

import { anthropicWire } from "./anthropic/anthropic.ts";
import type { Wire, WireName } from "./format/wire.ts";
import { geminiWire } from "./gemini/gemini.ts";
import { openaiChatWire } from "./openai-chat/openai-chat.ts";
import { openaiResponsesWire } from "./openai-responses/openai-responses.ts";

export const wires: Readonly<Record<WireName, Wire>> = {
  anthropic: anthropicWire,
  "openai-chat": openaiChatWire,
  "openai-responses": openaiResponsesWire,
  gemini: geminiWire,
};

export function wireNamed(name: string): Wire | undefined {
  return Object.values(wires).find((known) => known.name === name);
}

/**
 * The wire for a provider of this vendor, if the client has the wire `from`. Servers that are compatible with OpenAI count as
 * OpenAI's, which has two wires.
 */
export function wireFor(vendor: string, api: "chat" | "responses" | undefined, from?: Wire): Wire {
  if (vendor === "anthropic" || vendor === "gemini") return wires[vendor];
  const same = from?.name === "openai-responses" ? "responses" : "chat";
  return wires[`openai-${api ?? same}`];
}

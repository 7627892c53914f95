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

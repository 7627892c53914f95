/** Random conversations of texts, tools and images, which every wire can say. */

import type { Json, JsonObject } from "../harness/json.ts";
import { requestsOf } from "./conversations.ts";
import type { Result, Script } from "./script.ts";

export const TRANSLATED_WIRES = ["anthropic", "openai-chat", "openai-responses"] as const;
export type TranslatedWire = (typeof TRANSLATED_WIRES)[number];

/** The bodies of a conversation, request by request, without what only one provider knows. */
export function translatableBodies(wire: TranslatedWire, script: Script): readonly JsonObject[] {
  const head: JsonObject = wire === "openai-responses" ? { store: false } : {};
  return requestsOf(wire, plain(script), () => head).map(({ body }) => {
    const { x_future: _future, ...known } = wellFormed(
      JSON.parse(new TextDecoder().decode(body)) as JsonObject,
    ) as JsonObject;
    return wire === "openai-responses" ? withPlainItems(known) : known;
  });
}

function plain(script: Script): Script {
  const result = (one: Result): Result => (one.form === "image" ? { ...one, form: "text" } : one);
  return {
    ...script,
    rounds: script.rounds.map(({ said, steps, answer }) => ({
      answer,
      said: {
        ...said,
        hasDocument: false,
        hasUnknownPart: false,
        hasUnknownField: false,
        hasInstruction: false,
      },
      steps: steps.map((step) => ({
        ...step,
        calls: step.calls.map((call) => ({ ...call, result: result(call.result) })),
      })),
    })),
  };
}

/** No provider accepts half of a character. */
function wellFormed(json: Json | undefined): Json {
  // The arguments of a call are JSON inside a text.
  if (typeof json === "string") return json.toWellFormed().replace(/\\ud[89a-f][0-9a-f]{2}/gi, "x");
  if (Array.isArray(json)) return json.map(wellFormed);
  if (typeof json !== "object" || json === null) return json ?? null;
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, wellFormed(value)]));
}

/** Only OpenAI has searches of its own, and calls with free text. */
function withPlainItems(body: JsonObject): JsonObject {
  const items = Array.isArray(body["input"]) ? (body["input"] as JsonObject[]) : [];
  const input = items.flatMap((item): JsonObject[] => {
    const { type, input: text, ...rest } = item;
    if (type === "web_search_call") return [];
    if (type === "custom_tool_call")
      return [{ ...rest, type: "function_call", arguments: JSON.stringify({ text: text ?? "" }) }];
    return [type === "custom_tool_call_output" ? { ...item, type: "function_call_output" } : item];
  });
  return { ...body, input };
}

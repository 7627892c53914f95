/** Single requests, written by hand: what a test wants to say, in the words of each wire. */
import { isObject, type Json, type JsonObject, type Wire } from "../harness/json.ts";
import type { Request } from "./conversations.ts";
import { MESSAGES_FIELD, MODELS } from "./rehearsal.ts";
import { MAX_OUTPUT_TOKENS } from "./writer.ts";

/** The field that says how long the answer may be. */
const OUTPUT_FIELD: Readonly<Record<Exclude<Wire, "gemini">, string>> = {
  anthropic: "max_tokens",
  "openai-chat": "max_completion_tokens",
  "openai-responses": "max_output_tokens",
};

/** The field of a body that says how long the answer may be. */
export function limitedTo(wire: Wire, maxTokens: number | undefined): JsonObject {
  if (wire === "gemini") return { generationConfig: { maxOutputTokens: maxTokens } } as JsonObject;
  return { [OUTPUT_FIELD[wire]]: maxTokens } as JsonObject;
}

/** How long the answer to this body may be. */
export function limitIn(wire: Wire, body: JsonObject): number {
  if (wire !== "gemini") return Number(body[OUTPUT_FIELD[wire]]);
  const config = body["generationConfig"];
  return Number(isObject(config) ? config["maxOutputTokens"] : undefined);
}

/** A message of `said` or `answered`, which three wires write alike, in the words of this wire. */
export function inWordsOf(wire: Wire, message: JsonObject): JsonObject {
  const { role, content, ...rest } = message;
  if (wire !== "gemini" || typeof content !== "string") return message;
  return { role: role === "assistant" ? "model" : "user", parts: [{ text: content }], ...rest };
}

/** The approximate tokenizer takes four characters for one token. */
export function tokensOfText(tokens: number): string {
  return "load ".repeat(Math.ceil((tokens * 4) / 5)).slice(0, tokens * 4);
}

export function said(words: Json): JsonObject {
  return { role: "user", content: words };
}

export function answered(words: string): JsonObject {
  return { role: "assistant", content: words };
}

export function called(wire: Wire, id: string, place = "deck"): JsonObject {
  switch (wire) {
    case "anthropic":
      return {
        role: "assistant",
        content: [{ type: "tool_use", id, name: "look", input: { place } }],
      };
    case "openai-chat": {
      const look = { name: "look", arguments: JSON.stringify({ place }) };
      return {
        role: "assistant",
        content: null,
        tool_calls: [{ id, type: "function", function: look }],
      };
    }
    case "openai-responses":
      return {
        type: "function_call",
        call_id: id,
        name: "look",
        arguments: JSON.stringify({ place }),
      };
    case "gemini":
      return { role: "model", parts: [{ functionCall: { id, name: "look", args: { place } } }] };
  }
}

export function result(wire: Wire, id: string, words: string): JsonObject {
  switch (wire) {
    case "anthropic":
      return {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: id, content: words }],
      };
    case "openai-chat":
      return { role: "tool", tool_call_id: id, content: words };
    case "openai-responses":
      return { type: "function_call_output", call_id: id, output: words };
    case "gemini":
      return {
        role: "user",
        parts: [{ functionResponse: { id, name: "look", response: { output: words } } }],
      };
  }
}

/** One answer of the model with several calls, and their results behind it. */
export function parallel(
  wire: Wire,
  outputs: readonly string[],
  name = "p",
): readonly JsonObject[] {
  const ids = outputs.map((_, at) => `${name}${at}`);
  const calls = ids.map((id) => called(wire, id));
  const results = ids.map((id, at) => result(wire, id, outputs[at] ?? ""));
  const blocks = (messages: readonly JsonObject[]): readonly JsonObject[] =>
    messages.flatMap(({ content, parts }) => (content ?? parts) as readonly JsonObject[]);
  switch (wire) {
    case "anthropic":
      return [
        { role: "assistant", content: blocks(calls) },
        { role: "user", content: blocks(results) },
      ];
    case "openai-chat": {
      const tool_calls = calls.flatMap((call) => call["tool_calls"] as readonly JsonObject[]);
      return [{ role: "assistant", content: null, tool_calls }, ...results];
    }
    case "openai-responses":
      return [...calls, ...results];
    case "gemini":
      return [
        { role: "model", parts: blocks(calls) },
        { role: "user", parts: blocks(results) },
      ];
  }
}

/** A tool whose schema has about so many characters. */
export function tool(wire: Wire, description = "Looks."): JsonObject {
  const parameters = { type: "object", properties: { place: { type: "string" } } };
  switch (wire) {
    case "anthropic":
      return { name: "look", description, input_schema: parameters };
    case "openai-chat":
      return { type: "function", function: { name: "look", description, parameters } };
    case "openai-responses":
      return { type: "function", name: "look", description, parameters };
    case "gemini":
      return { functionDeclarations: [{ name: "look", description, parameters }] };
  }
}

/** A system prompt, where the wire has it. */
export function withSystem(
  wire: Wire,
  words: string,
  messages: readonly JsonObject[],
): { readonly messages: readonly JsonObject[]; readonly head: JsonObject } {
  switch (wire) {
    case "anthropic":
      return { messages, head: { system: words } };
    case "openai-chat":
      return { messages: [{ role: "system", content: words }, ...messages], head: {} };
    case "openai-responses":
      return { messages, head: { instructions: words } };
    case "gemini":
      return { messages, head: { systemInstruction: { parts: [{ text: words }] } } };
  }
}

export function requestOf(
  wire: Wire,
  messages: readonly Json[] | string,
  head: JsonObject = {},
  answer: readonly JsonObject[] = [answered("Aye.")],
): Request {
  const spoken =
    typeof messages === "string"
      ? messages
      : messages.map((one) => (isObject(one) ? inWordsOf(wire, one) : one));
  const body = {
    model: MODELS[wire],
    ...limitedTo(wire, MAX_OUTPUT_TOKENS),
    ...head,
    [MESSAGES_FIELD[wire]]: spoken,
  };
  const texts = typeof spoken === "string" ? [] : spoken.map((one) => JSON.stringify(one));
  return {
    messages: texts,
    body: new TextEncoder().encode(JSON.stringify(body)),
    answer: answer.map((one) => inWordsOf(wire, one)),
    addedCount: 1,
  };
}

/**
 * The fields of Gemini's JSON. Google's servers accept each name in two spellings, `functionCall` and `function_call`, and accept
 * a list with one element without its brackets.
 */

import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";

/** The other spelling of the names that Plimsoll reads. */
const otherSpelling = {
  systemInstruction: "system_instruction",
  generationConfig: "generation_config",
  maxOutputTokens: "max_output_tokens",
  candidateCount: "candidate_count",
  thinkingConfig: "thinking_config",
  thinkingBudget: "thinking_budget",
  toolConfig: "tool_config",
  functionCallingConfig: "function_calling_config",
  allowedFunctionNames: "allowed_function_names",
  functionDeclarations: "function_declarations",
  cachedContent: "cached_content",
  generateContentRequest: "generate_content_request",
  functionCall: "function_call",
  functionResponse: "function_response",
  thoughtSignature: "thought_signature",
  inlineData: "inline_data",
  fileData: "file_data",
  mimeType: "mime_type",
  fileUri: "file_uri",
} as const;

export type SpelledTwice = keyof typeof otherSpelling;

/** The value of a field, in whichever spelling it has. Undefined if the field is absent or null. */
export function fieldOf(object: JsonObject, name: SpelledTwice): JsonValue | undefined {
  return object[name] ?? object[otherSpelling[name]] ?? undefined;
}

/** The spelling of this name among the given names. If neither spelling is there, the usual one. */
export function spellingIn(names: { has(name: string): boolean }, name: SpelledTwice): string {
  return names.has(otherSpelling[name]) && !names.has(name) ? otherSpelling[name] : name;
}

/** The object without this field, in both spellings. */
export function withoutField(object: JsonObject, name: SpelledTwice): JsonObject {
  const { [name]: _usual, [otherSpelling[name]]: _other, ...rest } = object;
  return rest;
}

export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  if (Array.isArray(value)) return value;
  return isObject(value) ? [value] : [];
}

/** Names of the fields in an object, for `spellingIn`. */
export function namesIn(object: JsonObject): { has(name: string): boolean } {
  return { has: (name) => object[name] !== undefined };
}

/** JSON types for the harness, and functions that narrow unknown JSON. Shares no code with the product. */

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** The wires of the scripted provider. */
export const WIRES = ["anthropic", "openai-chat", "openai-responses", "gemini"] as const;
export type Wire = (typeof WIRES)[number];

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isString(value: unknown): value is string {
  return typeof value === "string";
}

/** The elements of an array, or none. For fields whose type is checked elsewhere. */
export function elements(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The elements of an array that are objects, typed as `T`. All fields of `T` must be optional and unknown. */
export function objects<T extends object>(value: unknown): readonly T[] {
  return elements(value).filter((element): element is T => isObject(element));
}

export function parseJson(text: string): Json {
  return JSON.parse(text) as Json;
}

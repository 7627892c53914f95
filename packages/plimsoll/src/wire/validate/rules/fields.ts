/** Reads JSON from outside for the rules. Never throws, whatever a client sends. */
import { isObject, type JsonObject, type JsonValue } from "../../../message/json.ts";

export type Field = JsonValue | undefined;

export function listOf(value: unknown): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

export function objectsOf(value: unknown): readonly JsonObject[] {
  return listOf(value).filter(isObject);
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Whether a field has a value. Providers treat null like an absent field. */
export function isGiven(value: Field): value is JsonValue {
  return value !== undefined && value !== null;
}

export function isBlank(value: Field): boolean {
  return typeof value === "string" && value.trim() === "";
}

/** An item and its place in the body. */
export interface Placed {
  readonly item: JsonObject;
  readonly index: number;
  readonly place: string;
}

export function* placed(list: Field, place: string): Generator<Placed> {
  const items = listOf(list);
  for (const [index, item] of items.entries())
    if (isObject(item)) yield { item, index, place: `${place}/${index}` };
}

const noKeys: ReadonlySet<string> = new Set();
/** Cache marks may move from turn to turn without changing the content. */
export const cacheMarks: ReadonlySet<string> = new Set([
  "cache_control",
  "prompt_cache_breakpoint",
]);

/** The same text for equal values: keys are sorted, and null fields and the keys in `without` are left out on every level. */
export function canonical(value: Field, without = noKeys): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, without)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const fields = Object.keys(value)
    .filter((key) => isGiven(value[key]) && !without.has(key))
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key], without)}`);
  return `{${fields.join(",")}}`;
}

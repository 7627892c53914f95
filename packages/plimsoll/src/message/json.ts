/** JSON as a type, and the checks needed to read JSON from outside. */

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses a JSON object. Returns undefined if the text is not JSON or not an object. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function stringOr(value: unknown, fallback: string): string {
  return typeof value === "string" ? value : fallback;
}

export function numberOr<T>(value: unknown, fallback: T): number | T {
  return typeof value === "number" && Number.isFinite(value) ? value : fallback;
}

/** Returns a short text that replaces a long string in canonical text. It must be practically unique, like a hash. */
export type LongText = (text: string) => string;
const longFrom = 4096;

export interface CanonicalRules {
  readonly long?: LongText | undefined;
  /**
   * Null fields inside the values of these keys are kept. Arguments of calls are such values: null may mean something to the
   * tool.
   */
  readonly exactKeys?: ReadonlySet<string>;
}

/**
 * Canonical text: keys are sorted and null fields are dropped, because absent and null mean the same to providers. If `long` is
 * given, it replaces every string of 4,096 characters or more. Its result is not quoted, so no short string can be mistaken for
 * it.
 */
export function canonicalJson(
  value: JsonValue | undefined,
  rules: CanonicalRules = {},
  isExact = false,
): string {
  const { long } = rules;
  if (value === undefined) return "null";
  if (typeof value === "string" && long !== undefined && value.length >= longFrom)
    return long(value);
  if (Array.isArray(value))
    return `[${value.map((item) => canonicalJson(item, rules, isExact)).join(",")}]`;
  return isObject(value) ? canonicalObject(value, rules, isExact) : JSON.stringify(value);
}

function canonicalObject(value: JsonObject, rules: CanonicalRules, isExact: boolean): string {
  const fields: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const field = value[key];
    if (field === undefined || (field === null && !isExact)) continue;
    const isExactField = isExact || rules.exactKeys?.has(key) === true;
    fields.push(`${JSON.stringify(key)}:${canonicalJson(field, rules, isExactField)}`);
  }
  return `{${fields.join(",")}}`;
}

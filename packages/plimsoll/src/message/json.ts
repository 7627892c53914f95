/** JSON as a type, and the narrowing that every reader of foreign JSON needs. */

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object of a JSON text; undefined when it is not JSON, or not an object. */
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

/** Stands for a long string in canonical text; must be as good as unique for it. */
export type LongText = (text: string) => string;
const longFrom = 4096;

export interface CanonicalRules {
  readonly long?: LongText | undefined;
  /** Below these keys everything counts, null fields too: arguments of calls are the caller's and not the provider's. */
  readonly exactKeys?: ReadonlySet<string>;
}

/**
 * Canonical text: keys sorted, null fields dropped (absent and null mean the same to providers).
 * With `long`, strings of some size are replaced by what it gives, unquoted, so that no short string
 * can look like one.
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

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
  { long, exactKeys }: CanonicalRules = {},
): string {
  const write = (one: JsonValue | undefined, isExact: boolean): string => {
    if (one === undefined) return "null";
    if (typeof one === "string" && long !== undefined && one.length >= longFrom) return long(one);
    if (Array.isArray(one)) return `[${one.map((item) => write(item, isExact)).join(",")}]`;
    if (!isObject(one)) return JSON.stringify(one);
    const fields: string[] = [];
    for (const key of Object.keys(one).sort()) {
      const field = one[key];
      if (field === undefined || (field === null && !isExact)) continue;
      const isExactField = isExact || exactKeys?.has(key) === true;
      fields.push(`${JSON.stringify(key)}:${write(field, isExactField)}`);
    }
    return `{${fields.join(",")}}`;
  };
  return write(value, false);
}

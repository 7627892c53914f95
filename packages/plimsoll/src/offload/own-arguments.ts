/** Reads the arguments that a model wrote, field by field. Lenient if the meaning is clear; otherwise says what is wrong. */

import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";
import { argumentTexts } from "../text/for-models.ts";
import { readJsonPath } from "./json-path.ts";

/** Line numbers from 1, both included. */
export interface LineRange {
  readonly first: number;
  readonly last: number;
}

/** A longer pattern is content rather than a pattern. */
const patternMax = 1000;

/** Empty input means no arguments. If a model wraps its JSON in a string, the JSON inside counts. */
export function fieldsOf(input: string): JsonObject | undefined {
  if (input.trim() === "") return {};
  const value = parsed(input);
  if (isObject(value)) return value;
  const inner = typeof value === "string" ? parsed(value) : undefined;
  return isObject(inner) ? inner : undefined;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** A field that is null or empty counts as absent, because some models fill in every field. */
export type Field<T> =
  | { readonly kind: "given"; readonly value: T }
  | { readonly kind: "absent" }
  | { readonly kind: "wrong"; readonly sentence: string };

const absent = { kind: "absent" } as const;

function wrong(sentence: string): { readonly kind: "wrong"; readonly sentence: string } {
  return { kind: "wrong", sentence };
}

export function textOf(fields: JsonObject, name: string): Field<string> {
  const value = fields[name];
  if (value === undefined || value === null) return absent;
  if (typeof value !== "string") return wrong(argumentTexts.notText(name));
  return value.trim() === "" ? absent : { kind: "given", value };
}

export function countOf(fields: JsonObject, name: string, least: 0 | 1): Field<number> {
  const value = fields[name];
  if (value === undefined || value === null || value === "") return absent;
  const isDigits = typeof value === "string" && /^\s*\d{1,15}\s*$/.test(value);
  const number = isDigits ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= least)
    return { kind: "given", value: number };
  return wrong(argumentTexts.notANumber(name, least));
}

export function patternOf(fields: JsonObject): Field<string> {
  const value = fields["grep"];
  // White space alone may be what the model is looking for.
  if (typeof value !== "string" || value === "") return textOf(fields, "grep");
  return value.length > patternMax
    ? wrong(argumentTexts.longPattern(patternMax))
    : { kind: "given", value };
}

export function linesOf(fields: JsonObject): Field<LineRange> {
  const value = fields["lines"];
  const text = textOf(typeof value === "number" ? { lines: String(value) } : fields, "lines");
  if (text.kind !== "given") return text;
  const [, from, to] = /^\s*(\d{1,12})(?:\s*[-–:]\s*(\d{1,12}))?\s*$/.exec(text.value) ?? [];
  const range = { first: Number(from), last: Number(to ?? from) };
  return range.first >= 1 && range.last >= range.first
    ? { kind: "given", value: range }
    : wrong(argumentTexts.lines);
}

export function pathOf(fields: JsonObject): Field<string> {
  const text = textOf(fields, "json");
  if (text.kind !== "given" || readJsonPath(text.value) !== undefined) return text;
  return wrong(argumentTexts.json);
}

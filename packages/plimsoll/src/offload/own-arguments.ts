/**
 * The arguments of Plimsoll's own tools, each declared once: its description for the model, and how Plimsoll reads the value that
 * the model wrote. Plimsoll accepts a wrong type or format if the meaning is clear. Otherwise the model gets one sentence that
 * says what is wrong. The MCP server uses the same arguments.
 */

import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";
import { argumentTexts, ownToolTexts } from "../text/for-models.ts";
import { readJsonPath } from "./json-path.ts";

/** A range of lines, including `first` and `last`. The first line has the number 1. */
export interface LineRange {
  readonly first: number;
  readonly last: number;
}

/** Maximum length of a pattern. A longer text is content, not a pattern. */
const patternMax = 1000;

/**
 * The arguments of a call. Empty input means no arguments. If a model has put its JSON into a string, the JSON in that string is
 * used.
 */
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

/** The value of an argument. Null and empty values are treated as absent, because some models fill in every field. */
type Field<T> =
  | { readonly kind: "given"; readonly value: T }
  | { readonly kind: "absent" }
  | { readonly kind: "wrong"; readonly sentence: string };

const absent = { kind: "absent" } as const;

function wrong(sentence: string): { readonly kind: "wrong"; readonly sentence: string } {
  return { kind: "wrong", sentence };
}

function textOf(fields: JsonObject, name: string): Field<string> {
  const value = fields[name];
  if (value === undefined || value === null) return absent;
  if (typeof value !== "string") return wrong(argumentTexts.notText(name));
  return value.trim() === "" ? absent : { kind: "given", value };
}

function countOf(fields: JsonObject, name: string, least: 0 | 1): Field<number> {
  const value = fields[name];
  if (value === undefined || value === null || value === "") return absent;
  const isDigits = typeof value === "string" && /^\s*\d{1,15}\s*$/.test(value);
  const number = isDigits ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= least)
    return { kind: "given", value: number };
  return wrong(argumentTexts.notANumber(name, least));
}

function patternOf(fields: JsonObject): Field<string> {
  const value = fields["grep"];
  // A pattern that is only white space is valid, because the model may be searching for white space.
  if (typeof value !== "string" || value === "") return textOf(fields, "grep");
  return value.length > patternMax
    ? wrong(argumentTexts.longPattern(patternMax))
    : { kind: "given", value };
}

function linesOf(fields: JsonObject): Field<LineRange> {
  const value = fields["lines"];
  const text = textOf(typeof value === "number" ? { lines: String(value) } : fields, "lines");
  if (text.kind !== "given") return text;
  const [, from, to] = /^\s*(\d{1,12})(?:\s*[-–:]\s*(\d{1,12}))?\s*$/.exec(text.value) ?? [];
  const range = { first: Number(from), last: Number(to ?? from) };
  return range.first >= 1 && range.last >= range.first
    ? { kind: "given", value: range }
    : wrong(argumentTexts.lines);
}

function pathOf(fields: JsonObject): Field<string> {
  const text = textOf(fields, "json");
  if (text.kind !== "given" || readJsonPath(text.value) !== undefined) return text;
  return wrong(argumentTexts.json);
}

/** One argument of a tool. */
interface Argument<T> {
  /** The JSON schema of the argument. It uses only `type` and `description`, which every provider accepts. */
  readonly schema: JsonObject;
  readonly read: (fields: JsonObject) => Field<T>;
}

/** An argument that every call must have. If it is missing, the sentence tells the model how to write it. */
interface RequiredArgument extends Argument<string> {
  readonly sentence: string;
}

function schemaOf(type: "string" | "integer", description?: string): JsonObject {
  return description === undefined ? { type } : { type, description };
}

function required(name: string, sentence: string): RequiredArgument {
  return { schema: schemaOf("string"), read: (fields) => textOf(fields, name), sentence };
}

function counted(name: string, least: 0 | 1, description: string): Argument<number> {
  return {
    schema: schemaOf("integer", description),
    read: (fields) => countOf(fields, name, least),
  };
}

/** Examples for a model whose arguments are not a JSON object. */
export const ownExamples = {
  tool_search: '{"query": "…"}',
  read_result: '{"ref_id": "pl_…", "offset": 0}',
  recall: '{"query": "…"}',
} as const;

/** The arguments of each tool, in the order in which the definition lists them and Plimsoll reads them. */
export const ownArguments = {
  read_result: {
    ref_id: required("ref_id", argumentTexts.refId(ownExamples.read_result)),
    offset: counted("offset", 0, ownToolTexts.offset),
    limit: counted("limit", 1, ownToolTexts.limit),
    grep: { schema: schemaOf("string", ownToolTexts.grep), read: patternOf },
    lines: { schema: schemaOf("string", ownToolTexts.lines), read: linesOf },
    json: { schema: schemaOf("string", ownToolTexts.json), read: pathOf },
  },
  recall: {
    query: required("query", argumentTexts.recallQuery(ownExamples.recall)),
    budget: counted("budget", 1, ownToolTexts.budget),
  },
  compact_context: {},
  tool_search: {
    query: required("query", argumentTexts.toolQuery(ownExamples.tool_search)),
  },
} as const;

type Arguments = Readonly<Record<string, Argument<unknown> | RequiredArgument>>;

/** Required arguments are always present, the others only if the model gave them. */
export type Values<A extends Arguments> = {
  readonly [K in keyof A as A[K] extends RequiredArgument ? K : never]: string;
} & {
  readonly [K in keyof A as A[K] extends RequiredArgument ? never : K]?: A[K] extends Argument<
    infer T
  >
    ? T
    : never;
};

/** The `parameters` of a tool definition. */
export function parametersOf(args: Arguments): JsonObject {
  const entries = Object.entries(args);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
    required: entries.flatMap(([name, argument]) => ("sentence" in argument ? [name] : [])),
    additionalProperties: false,
  };
}

export type ReadArguments<A extends Arguments> =
  | { readonly kind: "given"; readonly values: Values<A> }
  | { readonly kind: "wrong"; readonly sentence: string };

export function readArguments<A extends Arguments>(args: A, fields: JsonObject): ReadArguments<A> {
  const values: Record<string, unknown> = {};
  for (const [name, argument] of Object.entries(args)) {
    const field = argument.read(fields);
    if (field.kind === "given") values[name] = field.value;
    else if ("sentence" in argument) return wrong(argument.sentence);
    else if (field.kind === "wrong") return field;
  }
  return { kind: "given", values: values as Values<A> };
}

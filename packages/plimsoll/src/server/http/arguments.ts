/** Arguments of a route, of its query or its JSON body: schemas, and one sentence for what does not fit them. */

import { z } from "zod";
import { type ErrorCode, PlimsollError } from "../../message/error.ts";

/** Takes no field at all. */
export const nothing = z.strictObject({});

/** `undefined` and absent are the same to us, not to the compiler. */
export type Given<T> = T extends unknown ? { [K in keyof T]: Exclude<T[K], undefined> } : never;

/** A whole number of a query. Absent: the usual one; more than the most: the most. */
export function count(
  { usual, max = Number.MAX_SAFE_INTEGER }: { readonly usual: number; readonly max?: number },
  about: string,
) {
  return z
    .string()
    .regex(/^\d{1,15}$/, "a whole number")
    .transform((text) => Math.min(Number(text), max))
    .default(usual)
    .meta({ words: "whole number", most: max, usual, description: about });
}

/** One that may be left out. */
export function number(about: string) {
  return z
    .string()
    .regex(/^\d{1,15}$/, "a whole number")
    .transform(Number)
    .optional()
    .meta({ words: "whole number", description: about });
}

/** The same for a body. */
export function whole(about: string) {
  return z.number("a whole number").int().nonnegative().describe(about);
}

export function text(most: number, about: string) {
  return z.string().max(most).describe(about);
}

/** For docs/http.md. */
export function argumentsSchema(schema: z.ZodType): unknown {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
}

/** Contract: throws USAGE with a sentence that names the field, and what it may be. */
export function readQuery<T extends z.ZodType>(
  schema: T,
  query: URLSearchParams,
): Given<z.output<T>> {
  const fields: Record<string, string> = {};
  for (const [name, value] of query) {
    if (Object.hasOwn(fields, name))
      throw wrong("USAGE", `\`${name}\` is given twice: send it once.`);
    fields[name] = value;
  }
  return checked(schema, fields, "USAGE");
}

/** Contract: throws BODY_INVALID, likewise. */
export function checkBody<T extends z.ZodType>(schema: T, body: unknown): Given<z.output<T>> {
  return checked(schema, body, "BODY_INVALID");
}

function checked<T extends z.ZodType>(
  schema: T,
  value: unknown,
  code: ErrorCode,
): Given<z.output<T>> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data as Given<z.output<T>>;
  const { issues } = result.error;
  // A field that is misspelled is the reason why another one is missing.
  const issue = issues.find((one) => one.code === "unrecognized_keys") ?? issues[0];
  throw wrong(code, sentenceOf(issue, namesIn(schema)));
}

function wrong(code: ErrorCode, sentence: string): PlimsollError {
  return new PlimsollError(code, sentence, { status: 400 });
}

function namesIn(schema: z.ZodType): readonly string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function sentenceOf(issue: z.core.$ZodIssue | undefined, names: readonly string[]): string {
  const path = issue?.path.join(".") ?? "";
  const field = path === "" ? "The body" : `\`${path}\``;
  if (issue === undefined) return `${field} is not right.`;
  if (issue.code === "unrecognized_keys") {
    const known = names.map((name) => `\`${name}\``).join(", ");
    const unknown = issue.keys.map((name) => `\`${name.slice(0, 100)}\``).join(", ");
    const takes = known === "" ? "takes no arguments" : `takes ${known}`;
    return `${unknown} is not known here: this route ${takes}.`;
  }
  // What a schema says for itself about several fields is a whole sentence.
  if (issue.code === "custom" && path === "") return issue.message;
  const must = `must be ${allowedBy(issue)}.`;
  return issue.input === undefined ? `${field} is missing: it ${must}` : `${field} ${must}`;
}

const typeWords: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "a JSON object",
  array: "a list",
};

function sized(origin: string, bound: string): string {
  return origin === "string" ? `text of ${bound} characters` : bound;
}

function allowedBy(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      // What a schema says for itself is more exact.
      return issue.message.startsWith("Invalid")
        ? (typeWords[issue.expected] ?? issue.expected)
        : issue.message;
    case "invalid_value":
      return `one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      return sized(issue.origin, `at least ${issue.minimum}`);
    case "too_big":
      return sized(issue.origin, `at most ${issue.maximum}`);
    case "invalid_key":
      return `named by ${issue.issues[0]?.message ?? "text"}`;
    default:
      return issue.message;
  }
}

/**
 * The arguments of a route, in its query or its JSON body: their schemas, and the error sentence for a value that does not match.
 */

import { z } from "zod";
import { type ErrorCode, PlimsollError } from "../../message/error.ts";

/** The schema of a route without arguments. */
export const nothing = z.strictObject({});

/** Removes `undefined` from the type of each field. Plimsoll treats `undefined` as absent, but the compiler does not. */
export type Given<T> = T extends unknown ? { [K in keyof T]: Exclude<T[K], undefined> } : never;

/** A whole number in a query. If the number is absent, `usual` is used instead. If it is above `max`, `max` is used. */
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

/** An optional whole number in a query. */
export function number(about: string) {
  return z
    .string()
    .regex(/^\d{1,15}$/, "a whole number")
    .transform(Number)
    .optional()
    .meta({ words: "whole number", description: about });
}

/** A whole number in a body. */
export function whole(about: string) {
  return z.number("a whole number").int().nonnegative().describe(about);
}

export function text(most: number, about: string) {
  return z.string().max(most).describe(about);
}

/** The JSON schema of the arguments, for docs/http.md. */
export function argumentsSchema(schema: z.ZodType): unknown {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
}

/** Contract: throws USAGE with a sentence that names the field and says what it may be. */
export function readQuery<T extends z.ZodType>(
  schema: T,
  query: URLSearchParams,
): Given<z.output<T>> {
  const fields: Record<string, string> = {};
  for (const [name, value] of query) {
    if (Object.hasOwn(fields, name))
      throw wrong("USAGE", `\`${name}\` is given twice. Send it once.`);
    fields[name] = value;
  }
  return checked(schema, fields, "USAGE");
}

/** Contract: throws BODY_INVALID with a sentence that names the field and says what it may be. */
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
  // Report an unknown field first. It may be a misspelled name, which explains why another field is missing.
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
  if (issue === undefined) return `${field} is not valid.`;
  if (issue.code === "unrecognized_keys") {
    const known = names.map((name) => `\`${name}\``).join(", ");
    const unknown = issue.keys.map((name) => `\`${name.slice(0, 100)}\``).join(", ");
    return `This route does not take ${unknown}. It takes ${known === "" ? "no arguments" : known}.`;
  }
  // For a rule about several fields, the message is already a whole sentence.
  if (issue.code === "custom" && path === "") return issue.message;
  const must = `must be ${allowedBy(issue)}.`;
  return issue.input === undefined ? `${field} is missing. It ${must}` : `${field} ${must}`;
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
      // If the schema has its own message, use it, because it is more exact.
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

/** A finding about a request body. A strict provider answers 400 with the first one. */

export interface Finding {
  /** A rule of wire-fixtures/rules.json, or "shape" for a missing field or a wrong type. */
  readonly rule: string;
  readonly message: string;
  /** The field that OpenAI's error names. */
  readonly param?: string;
}

export function shape(message: string, param?: string): Finding {
  return { rule: "shape", message, ...(param === undefined ? {} : { param }) };
}

/** The values that occur more than once. */
export function repeated(values: readonly string[]): string[] {
  return values.filter((value, index) => values.indexOf(value) !== index);
}

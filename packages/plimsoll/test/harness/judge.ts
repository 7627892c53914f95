/** What a judge says about one request body. A strict provider answers 400 with the first finding. */

export interface Finding {
  /** A rule of wire-fixtures/rules.json, or "shape" for a missing field or a wrong type. */
  readonly rule: string;
  readonly message: string;
  /** The field that OpenAI names in its errors. */
  readonly param?: string;
}

export function shape(message: string, param?: string): Finding {
  return { rule: "shape", message, ...(param === undefined ? {} : { param }) };
}

/** The values that occur a second time. */
export function repeated(values: readonly string[]): string[] {
  return values.filter((value, index) => values.indexOf(value) !== index);
}

/** The exact texts of a body's fields and elements, for rules about bytes. */

import { readSlices, type Slice } from "../../format/slices.ts";

export interface BodyTexts {
  readonly fields: ReadonlyMap<string, string>;
  /** The texts of the field's elements. Empty if the field is not an array. */
  elements(field: string): readonly string[];
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** `text` must be the text of a JSON object. */
export function bodyTexts(text: string): BodyTexts {
  const bytes = encoder.encode(text);
  const { fields, elements } = readSlices(bytes);
  const textOf = ({ start, end }: Slice): string => decoder.decode(bytes.subarray(start, end));
  return {
    fields: new Map([...fields].map(([name, slice]) => [name, textOf(slice)])),
    elements: (field) => (elements.get(field) ?? []).map(textOf),
  };
}

/**
 * The text without cache marks, because these may move. Quotes inside strings are escaped, so the pattern matches only members of
 * objects.
 */
export function withoutMarks(text: string): string {
  return text
    .replace(/,?\s*"(cache_control|prompt_cache_breakpoint)"\s*:\s*(null|\{[^{}]*\})/g, "")
    .replace(/\{\s*,\s*/g, "{");
}

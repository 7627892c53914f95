/** Removes parts from the end of a message, such as thoughts whose call was removed. */

import type { JsonObject, JsonValue } from "../../message/json.ts";
import { parseJson, readSlices } from "./slices.ts";
import { applySplices, elementsRange } from "./splice.ts";

export interface LastParts {
  /** Name of the array with the parts. */
  readonly field: string;
  readonly isRemoved: (part: JsonValue) => boolean;
  /** The part that replaces all parts, if every one of them would be removed. A message must have a part. */
  readonly instead: JsonObject;
}

/** Returns the same bytes if there is nothing to remove. */
export function withoutLastParts(
  message: Uint8Array,
  { field, isRemoved, instead }: LastParts,
): Uint8Array {
  const parts = readSlices(message).elements.get(field) ?? [];
  const last = parts.findLastIndex((slice) => !isRemoved(parseJson(message, slice)));
  const [first, end] = [parts[0], parts.at(-1)];
  if (first === undefined || end === undefined || last === parts.length - 1) return message;
  if (last < 0)
    return applySplices(message, [
      { start: first.start, end: end.end, text: JSON.stringify(instead) },
    ]);
  const range = elementsRange(parts, last + 1, parts.length - 1);
  return range === undefined ? message : applySplices(message, [{ ...range, text: "" }]);
}

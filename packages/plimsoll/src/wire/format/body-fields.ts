/** Typed access to the top-level fields of a body, with an error message for each wrong type. */

import { PlimsollError } from "../../message/error.ts";
import { isObject, type JsonValue } from "../../message/json.ts";
import { type BodySlices, parseJson, type Slice } from "./slices.ts";

/**
 * The restrictions that a request puts on Plimsoll's use of tools. If `isFree` is true, the request has no restrictions.
 * Otherwise Plimsoll may not add its own tools, and must send the tools that `tool_choice` names.
 */
export function otherPlans(
  fields: FieldReader,
  isFree: boolean,
): { readonly forbidsOwnTools?: true; readonly wantedTools?: readonly string[] } {
  if (isFree) return {};
  return { forbidsOwnTools: true, wantedTools: namesIn(fields.value("tool_choice")) };
}

/** The tool names in a tool choice. Every wire puts them into fields called `name`, at any level of nesting. */
function namesIn(choice: JsonValue | undefined): readonly string[] {
  if (Array.isArray(choice)) return choice.flatMap(namesIn);
  if (!isObject(choice)) return [];
  const { name, ...others } = choice;
  const own = typeof name === "string" ? [name] : [];
  return [...own, ...Object.values(others).flatMap(namesIn)];
}

export interface FieldReader {
  optionalText(name: string): string | undefined;
  /** Returns undefined for a value that cannot be a count, such as -1, which some servers accept for "no limit". */
  optionalCount(name: string): number | undefined;
  array(name: string): readonly Slice[];
  /** The bytes of the value. Undefined if the field is absent or null. */
  slice(name: string): Slice | undefined;
  value(name: string): JsonValue | undefined;
}

export function readFields(body: Uint8Array, slices: BodySlices): FieldReader {
  const value = (name: string): JsonValue | undefined => {
    const slice = slices.fields.get(name);
    return slice === undefined ? undefined : (parseJson(body, slice) ?? undefined);
  };
  const slice = (name: string): Slice | undefined => {
    const found = slices.fields.get(name);
    const isNull =
      found !== undefined && found.end - found.start === 4 && body[found.start] === 0x6e;
    return isNull ? undefined : found;
  };
  const optionalText = (name: string): string | undefined => {
    const found = value(name);
    if (found !== undefined && typeof found !== "string") throw wrongType(name, "a string");
    return found;
  };
  return {
    value,
    slice,
    optionalText,
    optionalCount: (name) => {
      const found = value(name);
      if (found === undefined) return undefined;
      if (typeof found !== "number") throw wrongType(name, "a number");
      return found > 0 && Number.isSafeInteger(Math.floor(found)) ? Math.floor(found) : undefined;
    },
    array: (name) => {
      const found = slices.elements.get(name);
      if (found === undefined) throw wrongType(name, "an array");
      return found;
    },
  };
}

function wrongType(name: string, wanted: string): PlimsollError {
  return new PlimsollError("BODY_INVALID", `\`${name}\` must be ${wanted}.`, {
    status: 400,
    fields: { field: name },
  });
}

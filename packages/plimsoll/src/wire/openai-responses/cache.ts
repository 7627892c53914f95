/** The OpenAI Responses wire: cache breakpoints. */

import { isObject, type JsonValue } from "../../message/json.ts";
import { parseJson } from "../format/slices.ts";
import { unmarkedCache } from "../format/unmarked-cache.ts";
import type { WireCache } from "../format/wire.ts";

export const responsesCache: WireCache = {
  ...unmarkedCache,
  markField: "prompt_cache_breakpoint",
  markIn,
};

function markIn(message: Uint8Array): JsonValue | undefined {
  const json = parseJson(message, { start: 0, end: message.length });
  return isObject(json) ? (markInside(json["content"]) ?? markInside(json["output"])) : undefined;
}

/** Breakpoints are set on parts, never on items (the SDK's `ResponseInputText` and similar types). */
export function markInside(parts: JsonValue | undefined): JsonValue | undefined {
  const marks = (Array.isArray(parts) ? parts : [])
    .filter(isObject)
    .map((part) => part["prompt_cache_breakpoint"]);
  return marks.findLast((mark) => mark !== undefined && mark !== null) ?? undefined;
}

/** The OpenAI Chat Completions wire: cache marks, which some servers accept. */

import { isObject, type JsonValue } from "../../message/json.ts";
import { parseJson } from "../format/slices.ts";
import { unmarkedCache } from "../format/unmarked-cache.ts";
import type { WireCache } from "../format/wire.ts";

export const chatCache: WireCache = {
  ...unmarkedCache,
  markField: "cache_control",
  markIn,
};

function markIn(message: Uint8Array): JsonValue | undefined {
  const json = parseJson(message, { start: 0, end: message.length });
  return isObject(json) ? markInside(json["content"]) : undefined;
}

export function markInside(content: JsonValue | undefined): JsonValue | undefined {
  const marked = (Array.isArray(content) ? content : [])
    .filter(isObject)
    .findLast((part) => part["cache_control"] !== undefined && part["cache_control"] !== null);
  return marked?.["cache_control"];
}

/** Tool arguments of an answer that was cut short: what can still be read of an unfinished JSON text. */

import type { JsonValue } from "../message/json.ts";

/**
 * The value of a JSON text, or of its finished part: members and elements that are complete stay,
 * an unfinished last one is dropped. Undefined when not even the opening bracket is there.
 */
export function parsePartialJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return parseFinishedPart(text);
  }
}

function parseFinishedPart(text: string): JsonValue | undefined {
  const closers: string[] = [];
  let isInString = false;
  let safe: { readonly end: number; readonly closers: string } | undefined;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (isInString) {
      if (character === "\\") index++;
      else if (character === '"') isInString = false;
      continue;
    }
    if (character === '"') isInString = true;
    else if (character === "{" || character === "[") {
      closers.unshift(character === "{" ? "}" : "]");
      safe = { end: index + 1, closers: closers.join("") };
    } else if (character === "}" || character === "]") {
      closers.shift();
      safe = { end: index + 1, closers: closers.join("") };
    } else if (character === ",") safe = { end: index, closers: closers.join("") };
  }
  if (safe === undefined) return undefined;
  try {
    return JSON.parse(text.slice(0, safe.end) + safe.closers) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Reads the tool arguments of an answer that was cut short, that is, an unfinished JSON text. */

import type { JsonValue } from "../../message/json.ts";
import { stringEnd } from "../../text/json-tree.ts";

/**
 * The value of a JSON text, or of its finished part. Keeps complete members and elements, and drops the last one if it is
 * unfinished. Returns undefined if even the opening bracket is missing.
 */
export function parsePartialJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return parseFinishedPart(text);
  }
}

function parseFinishedPart(text: string): JsonValue | undefined {
  const finished = findFinishedPart(text);
  if (finished === undefined) return undefined;
  try {
    return JSON.parse(text.slice(0, finished.end) + finished.closers) as JsonValue;
  } catch {
    return undefined;
  }
}

interface Finished {
  readonly end: number;
  /** The characters that close the brackets still open at this position. */
  readonly closers: string;
}

/** Finds the last position before which everything is complete. Such a position is after a bracket or before a comma. */
function findFinishedPart(text: string): Finished | undefined {
  let closers = "";
  let finished: Finished | undefined;
  for (let index = 0; index < text.length; index++) {
    switch (text[index]) {
      case '"': {
        const end = stringEnd(text, index);
        if (end < 0) return finished;
        index = end - 1;
        continue;
      }
      case "{":
      case "[":
        closers = (text[index] === "{" ? "}" : "]") + closers;
        finished = { end: index + 1, closers };
        continue;
      case "}":
      case "]":
        closers = closers.slice(1);
        finished = { end: index + 1, closers };
        continue;
      case ",":
        finished = { end: index, closers };
    }
  }
  return finished;
}

/** The text of a message for searching: its content and its calls. */

import { isObject, type JsonValue } from "../message/json.ts";
import type { Message, Part } from "../message/message.ts";

/** The content, then each call as `[call name]`, with its argument keys and values on separate lines. */
export function searchableText(message: Message): string {
  return textOfParts(message.parts);
}

function textOfParts(parts: readonly Part[]): string {
  return parts
    .map(textOfPart)
    .filter((text) => text !== "")
    .join("\n");
}

function textOfPart(part: Part): string {
  switch (part.kind) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool-call":
      return `[call ${part.name}]\n${argumentLines(part.input)}`;
    case "tool-result":
      return textOfParts(part.content);
    case "opaque":
      return JSON.stringify(part.json);
    case "image":
    case "document":
      return "";
  }
}

type Step = { readonly line: string } | { readonly value: JsonValue };

/** Escaped line feeds become real line breaks again. Input that is not JSON stays as it is. */
function argumentLines(input: string): string {
  let root: JsonValue;
  try {
    root = JSON.parse(input) as JsonValue;
  } catch {
    return input;
  }
  const lines: string[] = [];
  // An explicit stack, because arguments can be nested deeper than the call stack allows.
  const stack: Step[] = [{ value: root }];
  for (let step = stack.pop(); step !== undefined; step = stack.pop()) {
    if ("line" in step) lines.push(step.line);
    else stack.push(...stepsInto(step.value).toReversed());
  }
  return lines.join("\n");
}

function stepsInto(value: JsonValue): readonly Step[] {
  if (value === null) return [];
  if (Array.isArray(value)) return value.map((item: JsonValue) => ({ value: item }));
  if (!isObject(value)) return [{ line: String(value) }];
  return Object.entries(value).flatMap(([key, field]) => [
    { line: `${key}:` },
    { value: field ?? null },
  ]);
}

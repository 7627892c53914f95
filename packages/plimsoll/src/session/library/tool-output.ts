/** A tool's output in Plimsoll's neutral form. */

import { errorMessage } from "../../message/error.ts";
import { isObject } from "../../message/json.ts";
import type { Message, Part, ToolCallPart } from "../../message/message.ts";
import { usage } from "../draft/encode.ts";

export interface Output {
  readonly content: readonly Part[];
  readonly isError: boolean;
}

/**
 * Text and lists of parts in Plimsoll's neutral form stay as they are. An Error becomes a failed call. Anything else becomes
 * JSON.
 */
export function outputOf(given: unknown): Output {
  if (given instanceof Error) return { content: textOf(errorMessage(given)), isError: true };
  if (typeof given === "string") return { content: textOf(given), isError: false };
  if (Array.isArray(given) && given.length > 0 && given.every(isPart))
    return { content: given, isError: false };
  return { content: textOf(jsonOf(given)), isError: false };
}

export function resultMessage(
  { id, name }: Pick<ToolCallPart, "id" | "name">,
  { content, isError }: Output,
): Message {
  return { role: "tool", parts: [{ kind: "tool-result", callId: id, name, content, isError }] };
}

/** Size of the result's texts in bytes. */
export function textBytes({ content }: Output): number {
  return content.reduce((sum, part) => {
    if (part.kind === "text") return sum + Buffer.byteLength(part.text);
    return part.kind === "opaque" ? sum + JSON.stringify(part.json).length : sum;
  }, 0);
}

function textOf(text: string): readonly Part[] {
  return [{ kind: "text", text }];
}

function jsonOf(given: unknown): string {
  try {
    return JSON.stringify(given) ?? "";
  } catch (cause) {
    throw usage(
      `A tool's result must be text, a value that JSON can represent, or a list of parts in Plimsoll's neutral form: ${errorMessage(cause)}.`,
    );
  }
}

/** Whether a value is a part that a result may contain. A list of other values is treated as JSON. */
function isPart(value: unknown): value is Part {
  if (!isObject(value)) return false;
  switch (value["kind"]) {
    case "text":
      return typeof value["text"] === "string";
    case "image":
    case "document":
      return isObject(value["media"]);
    case "opaque":
      return typeof value["type"] === "string" && "json" in value;
    default:
      return false;
  }
}

/** The OpenAI Responses wire: writes Plimsoll's texts as items, and replaces parts of items. */

import { isObject, type JsonObject, parseObject, stringOr } from "../../message/json.ts";
import { parseJson, readSlices, type Slice } from "../format/slices.ts";
import { type Splice, within } from "../format/splice.ts";
import type { OwnText, PartPlace, WireEdit } from "../format/wire.ts";
import { markInside } from "./cache.ts";

export const responsesEdit: WireEdit = {
  replacePart: replaceInItem,
  // A call is an item of its own. So there is never a text before a call in the same item, which could be left out.
  leaveOut: () => undefined,
  ownMessage,
  ownTextPlacement: "alone",
  carryText: () => undefined,
  joinMessages: () => undefined,
};

/**
 * For a function call, the arguments are replaced. Other calls, reasoning, refusals, items written by a server, and unknown items
 * stay unchanged.
 */
function replaceInItem(message: Uint8Array, place: PartPlace, text: string): Splice | undefined {
  const whole = { start: 0, end: message.length };
  const json = parseJson(message, whole);
  if (typeof json === "string") return place.part === 0 ? jsonText(whole, text) : undefined;
  if (!isObject(json)) return undefined;
  const type = stringOr(json["type"], "message");
  if (type === "message") return replaceIn(message, "content", place.part, text);
  if (place.part !== 0) return undefined;
  if (type === "function_call") return replaceArguments(message, text);
  if (type === "shell_call_output") return replaceShellOutput(message, json, place.inner, text);
  if (!textOutputs.has(type)) return undefined;
  if (place.inner !== undefined) return replaceIn(message, "output", place.inner, text);
  const output = readSlices(message).fields.get("output");
  const mark = markInside(json["output"]);
  if (output === undefined || mark === undefined) return output && jsonText(output, text);
  return { ...output, text: JSON.stringify([inputText({ text, mark })]) };
}

function replaceArguments(message: Uint8Array, text: string): Splice | undefined {
  const written = readSlices(message).fields.get("arguments");
  return written && parseObject(text || "{}") && jsonText(written, text);
}

/** Types of outputs that may be plain text. Screenshots, outputs of a server and outputs of a search cannot be plain text. */
const textOutputs = new Set([
  "function_call_output",
  "custom_tool_call_output",
  "local_shell_call_output",
  "apply_patch_call_output",
]);

function jsonText(slice: Slice, text: string): Splice {
  return { ...slice, text: JSON.stringify(text) };
}

/** Replaces a part of this field. If the field is a text, the whole text is part 0. */
function replaceIn(
  message: Uint8Array,
  field: string,
  part: number,
  text: string,
): Splice | undefined {
  const { fields, elements } = readSlices(message);
  const parts = elements.get(field);
  const slice = parts === undefined ? fields.get(field) : parts[part];
  if (slice === undefined) return undefined;
  const json = parseJson(message, slice);
  if (parts === undefined)
    return part === 0 && typeof json === "string" && json !== ""
      ? jsonText(slice, text)
      : undefined;
  return isObject(json) ? replacePart(message, slice, json, text) : undefined;
}

function replacePart(
  message: Uint8Array,
  slice: Slice,
  json: JsonObject,
  text: string,
): Splice | undefined {
  switch (json["type"]) {
    case "text":
    case "input_text":
    case "output_text": {
      const value = readSlices(message.subarray(slice.start, slice.end)).fields.get("text");
      return value && jsonText(within(slice, value), text);
    }
    case "input_image":
    case "input_file": {
      const mark = markInside([json]);
      const part = inputText({ text, ...(mark === undefined ? {} : { mark }) });
      return { ...slice, text: JSON.stringify(part) };
    }
    default:
      return undefined;
  }
}

/**
 * A shell's output has one entry per command, each with its outcome. All entries stay. The text replaces the content of entry
 * `inner`. If `inner` is undefined, the text goes into the first entry, and the content of the others is removed.
 */
function replaceShellOutput(
  message: Uint8Array,
  json: JsonObject,
  inner: number | undefined,
  text: string,
): Splice | undefined {
  const { output } = json;
  const { fields, elements } = readSlices(message);
  const [slice, entries] = [fields.get("output"), elements.get("output")];
  if (!Array.isArray(output) || !output.every(isObject) || slice === undefined) return undefined;
  const says = (entry: JsonObject, stdout: string) => ({ ...entry, stdout, stderr: "" });
  if (inner === undefined) {
    const emptied = output.map((entry, index) => says(entry, index === 0 ? text : ""));
    return { ...slice, text: JSON.stringify(emptied) };
  }
  const [entry, place] = [output[inner], entries?.[inner]];
  return entry && place && { ...place, text: JSON.stringify(says(entry, text)) };
}

function ownMessage(own: OwnText): JsonObject {
  return { type: "message", role: "user", content: [inputText(own)] };
}

function inputText({ text, mark }: OwnText): JsonObject {
  return {
    type: "input_text",
    text,
    ...(mark === undefined ? {} : { prompt_cache_breakpoint: mark }),
  };
}

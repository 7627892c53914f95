/** The Gemini wire: puts Plimsoll's texts into contents, and replaces parts of them. */

import { isObject, type JsonObject, type JsonValue, parseObject } from "../../message/json.ts";
import { parseJson, readSlices, type Slice } from "../format/slices.ts";
import { applySplices, type Splice, within, withoutElement } from "../format/splice.ts";
import type { OwnText, PartPlace, WireEdit } from "../format/wire.ts";
import { fieldOf, namesIn, spellingIn, withoutField } from "./fields.ts";
import { responseOf, textFieldOf } from "./result-text.ts";

export const geminiEdit: WireEdit = {
  replacePart,
  leaveOut,
  ownMessage,
  ownTextPlacement: "inside",
  carryText,
  joinMessages,
};

function ownMessage({ text }: OwnText): JsonObject {
  return { role: "user", parts: [{ text }] };
}

/** The parts of a content. A single part may be written without brackets. */
function partsOf(message: Uint8Array): readonly Slice[] {
  const { fields, elements } = readSlices(message);
  const list = elements.get("parts");
  const single = fields.get("parts");
  if (list !== undefined) return list;
  return single !== undefined && message[single.start] === openBrace ? [single] : [];
}

const openBrace = 0x7b;

function replacePart(
  message: Uint8Array,
  { part, inner }: PartPlace,
  text: string,
): Splice | undefined {
  const slice = partsOf(message)[part];
  const json = slice && parseJson(message, slice);
  if (slice === undefined || !isObject(json)) return undefined;
  if (isObject(fieldOf(json, "functionCall"))) return replaceArguments(message, slice, json, text);
  if (isObject(fieldOf(json, "functionResponse")))
    return replaceResponse(message, slice, json, { text, inner });
  const isSigned = fieldOf(json, "thoughtSignature") !== undefined;
  if (json["thought"] === true) return undefined;
  if (typeof json["text"] === "string") {
    if (isSigned && json["text"] === "") return undefined;
    // The signature belongs to the model's own words, so it leaves with them.
    if (isSigned)
      return {
        ...slice,
        text: JSON.stringify({ ...withoutField(json, "thoughtSignature"), text }),
      };
    return valueSplice(message, slice, ["text"], JSON.stringify(text));
  }
  const isMedia = fieldOf(json, "inlineData") ?? fieldOf(json, "fileData");
  return isObject(isMedia) && !isSigned ? { ...slice, text: JSON.stringify({ text }) } : undefined;
}

/** A signed text stays, because the signature belongs to the calls after it too. */
function leaveOut(message: Uint8Array, part: number): Splice | undefined {
  const parts = partsOf(message);
  const slice = parts[part];
  const json = slice && parseJson(message, slice);
  const isPlain =
    isObject(json) &&
    typeof json["text"] === "string" &&
    json["thought"] !== true &&
    fieldOf(json, "thoughtSignature") === undefined;
  return isPlain ? withoutElement(parts, part) : undefined;
}

/** A signed call stays as the model wrote it, because the provider checks it. */
function replaceArguments(
  message: Uint8Array,
  slice: Slice,
  json: JsonObject,
  text: string,
): Splice | undefined {
  const isSigned = fieldOf(json, "thoughtSignature") !== undefined;
  if (isSigned || parseObject(text || "{}") === undefined) return undefined;
  return valueSplice(
    message,
    slice,
    [spellingIn(namesIn(json), "functionCall"), "args"],
    text || "{}",
  );
}

/** The text of a result is its part 0. Media inside a result cannot become text. */
function replaceResponse(
  message: Uint8Array,
  slice: Slice,
  json: JsonObject,
  { text, inner = 0 }: { readonly text: string; readonly inner?: number | undefined },
): Splice | undefined {
  if (inner !== 0) return undefined;
  const result = fieldOf(json, "functionResponse");
  const response = isObject(result) ? result["response"] : undefined;
  const name = textFieldOf(response);
  const path = [spellingIn(namesIn(json), "functionResponse"), "response"];
  return name === undefined
    ? valueSplice(message, slice, path, JSON.stringify(responseOf(text, false)))
    : valueSplice(message, slice, [...path, name], JSON.stringify(text));
}

/** Replaces the value at this path inside the slice. */
function valueSplice(
  message: Uint8Array,
  slice: Slice,
  path: readonly string[],
  text: string,
): Splice | undefined {
  let place: Slice = slice;
  for (const name of path) {
    const found = readSlices(message.subarray(place.start, place.end)).fields.get(name);
    if (found === undefined) return undefined;
    place = within(place, found);
  }
  return { ...place, text };
}

/** Adds Plimsoll's text at the start or the end of a user content. At the start, no result may be before it. */
function carryText(
  message: Uint8Array,
  own: OwnText,
  end: "first" | "last",
): Uint8Array | undefined {
  const content = contentOf(message);
  if (content === undefined) return undefined;
  const ours = JSON.stringify({ text: own.text });
  const isResultFirst = isResult(content.json[0]);
  if (end === "first" && isResultFirst) return undefined;
  const [before, after] = end === "first" ? [`${ours},`, ""] : ["", `,${ours}`];
  return withParts(message, content, before, after);
}

interface Content {
  /** The range of the parts, without the brackets around them. */
  readonly range: Slice;
  readonly isList: boolean;
  readonly json: readonly JsonValue[];
}

/** The parts of a user content. Undefined for other contents, and if there are no parts. */
function contentOf(message: Uint8Array): Content | undefined {
  const { fields, elements } = readSlices(message);
  const role = fields.get("role");
  const isUser = role === undefined || parseJson(message, role) === "user";
  const parts = isUser ? partsOf(message) : [];
  const [first, last] = [parts[0], parts.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  return {
    range: { start: first.start, end: last.end },
    isList: elements.has("parts"),
    json: parts.map((slice) => parseJson(message, slice)),
  };
}

function withParts(
  message: Uint8Array,
  { range: { start, end }, isList }: Content,
  before: string,
  after: string | Uint8Array,
): Uint8Array {
  const [open, close] = isList ? ["", ""] : ["[", "]"];
  const tail = Buffer.concat([Buffer.from(after), Buffer.from(close)]);
  return applySplices(message, [
    { start, end: start, text: open + before },
    { start: end, end, text: tail },
  ]);
}

/** Appends the parts of the second content to the first one. Results may follow only results. */
function joinMessages(first: Uint8Array, second: Uint8Array): Uint8Array | undefined {
  const [one, other] = [contentOf(first), contentOf(second)];
  if (one === undefined || other === undefined) return undefined;
  const areResults = one.json.every(isResult);
  if (other.json.some(isResult) ? !areResults : one.json.some(isResult)) return undefined;
  const added = second.subarray(other.range.start, other.range.end);
  return withParts(first, one, "", Buffer.concat([Buffer.from(","), added]));
}

function isResult(part: JsonValue | undefined): boolean {
  return isObject(part) && fieldOf(part, "functionResponse") !== undefined;
}

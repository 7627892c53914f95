/** The Anthropic Messages wire: puts Plimsoll's texts into messages, and replaces parts of them. */

import { isObject, type JsonValue, parseObject, stringOr } from "../../message/json.ts";
import { parseJson, readSlices, type Slice } from "../format/slices.ts";
import { applySplices, type Splice, within, withoutElement } from "../format/splice.ts";
import type { OwnText, PartPlace, WireEdit } from "../format/wire.ts";
import { markInside, markOf, textBlock } from "./cache.ts";

export const anthropicEdit: WireEdit = {
  replacePart,
  leaveOut,
  ownMessage: (own) => ({ role: "user", content: [textBlock(own)] }),
  ownTextPlacement: "inside",
  carryText,
  joinMessages,
};

function replacePart(
  message: Uint8Array,
  { part, inner }: PartPlace,
  text: string,
): Splice | undefined {
  const { fields, elements } = readSlices(message);
  const blocks = elements.get("content");
  if (blocks === undefined) {
    const content = part === 0 ? fields.get("content") : undefined;
    return content && { ...content, text: JSON.stringify(text) };
  }
  const block = blocks[part];
  return block && replaceBlock(message, block, text, inner);
}

function leaveOut(message: Uint8Array, part: number): Splice | undefined {
  const blocks = readSlices(message).elements.get("content") ?? [];
  const block = blocks[part];
  const isText = block !== undefined && isPlainText(parseJson(message, block));
  return isText ? withoutElement(blocks, part) : undefined;
}

/** A text without a cache mark. The mark of the client has to stay where it is. */
function isPlainText(block: JsonValue): boolean {
  return isObject(block) && block["type"] === "text" && block["cache_control"] === undefined;
}

/**
 * Puts the text in place of a block's content. For a call, the text replaces the arguments. Reasoning stays because it is signed,
 * and blocks of unknown types stay too.
 */
function replaceBlock(
  message: Uint8Array,
  block: Slice,
  text: string,
  inner?: number,
): Splice | undefined {
  const bytes = message.subarray(block.start, block.end);
  const json = parseJson(bytes, { start: 0, end: bytes.length });
  if (!isObject(json)) return undefined;
  switch (json["type"]) {
    case "text": {
      const value = readSlices(bytes).fields.get("text");
      return value && { ...within(block, value), text: JSON.stringify(text) };
    }
    case "image":
    case "document":
      return { ...block, text: JSON.stringify(textBlock({ text, ...markOf(json) })) };
    case "tool_use": {
      const input = readSlices(bytes).fields.get("input");
      const isArguments = parseObject(text || "{}") !== undefined;
      return input && isArguments ? { ...within(block, input), text: text || "{}" } : undefined;
    }
    case "tool_result":
      return replaceResult(message, block, { text, ...markInside(json["content"]) }, inner);
    default:
      return undefined;
  }
}

function replaceResult(
  message: Uint8Array,
  block: Slice,
  own: OwnText,
  inner?: number,
): Splice | undefined {
  const { fields, elements } = readSlices(message.subarray(block.start, block.end));
  const blocks = elements.get("content");
  if (inner !== undefined && blocks !== undefined) {
    const found = blocks[inner];
    return found && replaceBlock(message, within(block, found), own.text);
  }
  const content = fields.get("content");
  const text = JSON.stringify(own.mark === undefined ? own.text : [textBlock(own)]);
  return content && { ...within(block, content), text };
}

/**
 * Adds Plimsoll's text at the start or the end of a message. At the end, the text comes after all other content, even after
 * results. At the start, a text is possible only if the message does not begin with a result.
 */
function carryText(
  message: Uint8Array,
  own: OwnText,
  end: "first" | "last",
): Uint8Array | undefined {
  const { fields, elements } = readSlices(message);
  const content = fields.get("content");
  const role = fields.get("role");
  if (content === undefined || role === undefined || parseJson(message, role) !== "user")
    return undefined;
  const ours = JSON.stringify(textBlock(own));
  const blocks = elements.get("content");
  if (blocks === undefined) {
    if (message[content.start] !== quote) return undefined;
    const [before, after] = end === "first" ? [`${ours},`, ""] : ["", `,${ours}`];
    return applySplices(message, [
      { start: content.start, end: content.start, text: `[${before}{"type":"text","text":` },
      { start: content.end, end: content.end, text: `}${after}]` },
    ]);
  }
  const [first, last] = [blocks[0], blocks.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  if (end === "last")
    return applySplices(message, [{ start: last.end, end: last.end, text: `,${ours}` }]);
  return isResult(parseJson(message, first))
    ? undefined
    : applySplices(message, [{ start: first.start, end: first.start, text: `${ours},` }]);
}

/** Appends the blocks of the second message to the first one. */
function joinMessages(first: Uint8Array, second: Uint8Array): Uint8Array | undefined {
  const [one, other] = [contentOf(first), contentOf(second)];
  if (one === undefined || other === undefined) return undefined;
  // Results must come first in a message. If the messages were joined, these results would come after other content.
  if (other.hasResults && !one.isAllResults) return undefined;
  const blocks = Buffer.concat([one.blocks, Buffer.from(","), other.blocks]);
  const text = Buffer.concat([Buffer.from("["), blocks, Buffer.from("]")]);
  return applySplices(first, [{ ...one.content, text }]);
}

/** The blocks of a user message, without the brackets around them. */
function contentOf(message: Uint8Array):
  | {
      readonly content: Slice;
      readonly blocks: Uint8Array;
      readonly hasResults: boolean;
      readonly isAllResults: boolean;
    }
  | undefined {
  const { fields, elements } = readSlices(message);
  const content = fields.get("content");
  const role = fields.get("role");
  if (content === undefined || role === undefined || parseJson(message, role) !== "user")
    return undefined;
  const slices = elements.get("content");
  if (slices === undefined) {
    if (message[content.start] !== quote) return undefined;
    const text = message.subarray(content.start, content.end);
    const block = [Buffer.from('{"type":"text","text":'), text, Buffer.from("}")];
    return {
      content,
      blocks: Buffer.concat(block),
      hasResults: false,
      isAllResults: false,
    };
  }
  const [start, end] = [slices[0]?.start, slices.at(-1)?.end];
  if (start === undefined || end === undefined) return undefined;
  const results = slices.filter((slice) => isResult(parseJson(message, slice))).length;
  return {
    content,
    blocks: message.subarray(start, end),
    hasResults: results > 0,
    isAllResults: results === slices.length,
  };
}

const quote = 0x22;

function isResult(block: JsonValue): boolean {
  return isObject(block) && stringOr(block["type"], "").endsWith("tool_result");
}

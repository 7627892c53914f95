/**
 * Counts the tokens of a request by the documented rule, with a separate tokenizer (tiktoken): every
 * text, the names and arguments of calls, results and reasoning; the system prompt; the JSON text of the tools; 4 tokens
 * for each message; small images by their provider's rule. Encrypted reasoning and signatures are not counted.
 */

import { get_encoding } from "tiktoken";
import type { AnswerPart, CallPart } from "./answer-parts.ts";
import { contentsIn, type Named, type Part, partsOf, resultText } from "./gemini-contents.ts";
import { isObject, isString, type JsonObject, objects, type Wire } from "./json.ts";
import { type Item, inputItems, itemType } from "./responses-items.ts";

const MESSAGE_TOKENS = 4;

const encoding = get_encoding("o200k_base");
const known = new Map<string, number>();

export function countText(text: string): number {
  const found = known.get(text);
  if (found !== undefined) return found;
  const tokens = encoding.encode_ordinary(text).length;
  known.set(text, tokens);
  return tokens;
}

/** If the body names an earlier response, its items must already be in the input. */
export function countRequest(wire: Wire, body: JsonObject): number {
  const messages = conversationOf(wire, body);
  const { tools } = body;
  return (
    messages.reduce((sum, message) => sum + countMessage(wire, message), 0) +
    countReadables(systemOf(wire, body)) +
    (tools === undefined ? 0 : countText(JSON.stringify(tools)))
  );
}

export function countMessage(wire: Wire, message: JsonObject): number {
  return MESSAGE_TOKENS + countReadables(readables(wire, message));
}

/** The tokens of an answer in the next request, as one message, or as one item for each part. */
export function countAnswer(wire: Wire, parts: readonly AnswerPart[]): number {
  const texts = parts.flatMap((part) =>
    part.kind === "call" ? [part.name, writtenInput(part)] : [part.chunks.join("")],
  );
  const messagesCount = wire === "openai-responses" ? parts.length : 1;
  return MESSAGE_TOKENS * messagesCount + countReadables(texts);
}

function writtenInput({ input, rawInput, isCustom }: CallPart): string {
  return isCustom === true && rawInput !== undefined ? rawInput : JSON.stringify(input);
}

/** The longest answer that a request allows, if it says so. Gemini's answers do not share the window. */
export function maxOutputOf(wire: Wire, body: JsonObject): number {
  const { max_tokens: older, max_completion_tokens: newer, max_output_tokens: responses } = body;
  if (wire === "gemini") return 0;
  const maximum = wire === "openai-responses" ? responses : (newer ?? older);
  return typeof maximum === "number" ? maximum : 0;
}

const CONVERSATIONS: Readonly<Record<Wire, (body: JsonObject) => readonly JsonObject[]>> = {
  anthropic: ({ messages }) => objects<JsonObject>(messages),
  "openai-chat": ({ messages }) => objects<JsonObject>(messages),
  "openai-responses": ({ input }) => inputItems(input),
  gemini: contentsIn,
};

/** The messages of a body, or its items or contents. */
export function conversationOf(wire: Wire, body: JsonObject): readonly JsonObject[] {
  return CONVERSATIONS[wire](body);
}

/** The texts of one message that the model reads. */
export function textsOf(wire: Wire, message: JsonObject): readonly string[] {
  return readables(wire, message).filter(isString);
}

/** A text, or the tokens of something that is not text. */
type Readable = string | number;

function countReadables(found: readonly Readable[]): number {
  return found.reduce<number>(
    (sum, readable) => sum + (isString(readable) ? countText(readable) : readable),
    0,
  );
}

function systemOf(wire: Wire, body: JsonObject): readonly Readable[] {
  const { system, instructions, systemInstruction } = body;
  if (wire === "anthropic") return contentOf(system);
  if (wire === "gemini") return isObject(systemInstruction) ? ofContent(systemInstruction) : [];
  return wire === "openai-responses" && isString(instructions) ? [instructions] : [];
}

const READABLES: Readonly<Record<Wire, (message: JsonObject) => readonly Readable[]>> = {
  anthropic: ({ content }) => contentOf(content),
  "openai-chat": ofChatMessage,
  "openai-responses": ofItem,
  gemini: ofContent,
};

function readables(wire: Wire, message: JsonObject): readonly Readable[] {
  return READABLES[wire](message);
}

function ofContent(content: JsonObject): readonly Readable[] {
  return partsOf(content).flatMap(ofPart);
}

function ofPart(part: Part): readonly Readable[] {
  const { text, functionCall: called, functionResponse: given, inlineData: media } = part;
  if (isString(text)) return [text];
  if (isObject(called)) {
    const { name, args = {} }: Named = called;
    return [String(name), JSON.stringify(args)];
  }
  if (isObject(given)) return [resultText(given)];
  return isObject(media) ? [GEMINI_IMAGE_TOKENS] : [JSON.stringify(part)];
}

interface ChatMessage {
  readonly content?: unknown;
  readonly reasoning_content?: unknown;
  readonly refusal?: unknown;
  readonly tool_calls?: unknown;
}

function ofChatMessage(message: ChatMessage): readonly Readable[] {
  const calls = objects<{ readonly function?: unknown }>(message.tool_calls);
  return [
    ...[message.reasoning_content, message.refusal].filter(isString),
    ...contentOf(message.content),
    ...calls.flatMap(({ function: called }) => {
      const { name, arguments: input }: Item = isObject(called) ? called : {};
      return [name, input].filter(isString);
    }),
  ];
}

function ofItem(item: JsonObject): readonly Readable[] {
  const { name, arguments: input, input: text, output, summary, content, tools }: Item = item;
  switch (itemType(item)) {
    case "message":
      return contentOf(content);
    case "function_call":
    case "custom_tool_call":
      return [name, input ?? text].filter(isString);
    case "function_call_output":
    case "custom_tool_call_output":
      return contentOf(output);
    case "reasoning":
      return [...contentOf(summary), ...contentOf(content)];
    case "tool_search_call":
      return ["tool_search", JSON.stringify(input)];
    case "tool_search_output":
      return [JSON.stringify(tools)];
    default:
      return [JSON.stringify(item)];
  }
}

function contentOf(content: unknown): readonly Readable[] {
  if (isString(content)) return [content];
  return objects<JsonObject>(content).flatMap(ofBlock);
}

interface Block {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly thinking?: unknown;
  readonly refusal?: unknown;
  readonly name?: unknown;
  readonly input?: unknown;
  readonly content?: unknown;
  readonly source?: unknown;
  readonly image_url?: unknown;
}

/** The blocks and parts of all wires. No type name has two meanings. */
function ofBlock(block: JsonObject): readonly Readable[] {
  const fields: Block = block;
  switch (fields.type) {
    case "text":
    case "input_text":
    case "output_text":
    case "summary_text":
    case "reasoning_text":
      return [String(fields.text)];
    case "thinking":
      return [String(fields.thinking)];
    case "refusal":
      return [String(fields.refusal)];
    case "tool_use":
      return [String(fields.name), JSON.stringify(fields.input)];
    case "tool_result":
      return contentOf(fields.content);
    case "image":
      return [anthropicImageTokens(fields.source)];
    case "image_url":
    case "input_image":
      return [openaiImageTokens(fields.image_url)];
    default:
      return [JSON.stringify(block)];
  }
}

/* Images */

interface Size {
  readonly width: number;
  readonly height: number;
}

/** The size of a PNG, from its header; undefined for other images. */
function pngSize(base64: unknown): Size {
  const head = Buffer.from(String(base64).slice(0, 64), "base64");
  if (head.subarray(1, 4).toString("latin1") !== "PNG") return { width: 0, height: 0 };
  return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
}

/** Patches of 28 pixels, or the older price by area if that is more; larger images would be scaled first. */
function anthropicImageTokens(source: unknown): number {
  const { data }: { readonly data?: unknown } = isObject(source) ? source : {};
  const { width, height } = pngSize(data);
  return Math.max(
    Math.ceil(width / 28) * Math.ceil(height / 28),
    Math.ceil((width * height) / 750),
  );
}

/** Tiles of 512 pixels, by the prices of the gpt-5 family; larger images would be scaled first. */
function openaiImageTokens(image: unknown): number {
  const { url }: { readonly url?: unknown } = isObject(image) ? image : { url: image };
  const { width, height } = pngSize(String(url).split(",")[1]);
  return 70 + 140 * Math.ceil(width / 512) * Math.ceil(height / 512);
}

/** Gemini 3 takes so many tokens for every image, at its default resolution. */
const GEMINI_IMAGE_TOKENS = 1_120;

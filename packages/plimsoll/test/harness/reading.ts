/**
 * Reads an answer like a careful client: the assistant message in the wire's own form, whether the answer is complete,
 * and a normal form in which differently written messages can be compared.
 */
import { idsOf, joinedParts, type Named } from "./gemini-contents.ts";
import {
  isObject,
  isString,
  type Json,
  type JsonObject,
  objects,
  parseJson,
  type Wire,
} from "./json.ts";

export interface ReadAnswer {
  /** The last event (`message_stop`, `[DONE]`, `response.completed`, a `finishReason`) or the whole JSON body arrived. */
  readonly isComplete: boolean;
  /** For Responses: `{ role, output }`, because one answer has several items. For Gemini: a content. */
  readonly message: JsonObject;
}

/** Reads a finished or broken answer. Throws if a complete event is not JSON. */
export function readAnswer(wire: Wire, answer: string): ReadAnswer {
  if (wire === "gemini") return readResponses(geminiResponses(answer));
  if (answer.trimStart().startsWith("{")) return readWhole(wire, answer);
  switch (wire) {
    case "anthropic":
      return readMessageEvents(answer);
    case "openai-chat":
      return readChatEvents(answer);
    case "openai-responses":
      return readResponseEvents(answer);
  }
}

interface Completion {
  readonly content?: Json;
  readonly choices?: Json;
  readonly output?: Json;
  readonly status?: Json;
}
interface Choice {
  readonly message?: Json;
  readonly delta?: Json;
}

function readWhole(wire: Wire, answer: string): ReadAnswer {
  const whole = parseJson(answer);
  const { content, choices, output, status }: Completion = isObject(whole) ? whole : {};
  if (wire === "anthropic") {
    return { isComplete: Array.isArray(content), message: { role: "assistant", content } };
  }
  if (wire === "openai-responses") {
    return { isComplete: status === "completed", message: { role: "assistant", output } };
  }
  const [choice] = objects<Choice>(choices);
  const message = isObject(choice?.message) ? choice.message : {};
  return { isComplete: choice !== undefined, message };
}

/** The data of each complete event, up to its closing blank line. */
function eventData(answer: string): string[] {
  return answer
    .split("\n\n")
    .slice(0, -1)
    .flatMap((event) => event.split("\n").filter((line) => line.startsWith("data:")))
    .map((line) => line.slice("data:".length).trimStart());
}

/* Anthropic Messages */

interface MessageEvent {
  readonly type?: Json;
  readonly index?: Json;
  readonly content_block?: Json;
  readonly delta?: Json;
}
interface Delta {
  readonly type?: Json;
  readonly text?: Json;
  readonly thinking?: Json;
  readonly signature?: Json;
  readonly partial_json?: Json;
}

type OpenBlock = Record<string, Json | undefined>;

/** A delta type, the field of the block that it extends, and the field of the delta with the addition. */
const ADDITIONS = new Map<Json | undefined, readonly [string, keyof Delta]>([
  ["text_delta", ["text", "text"]],
  ["thinking_delta", ["thinking", "thinking"]],
  ["signature_delta", ["signature", "signature"]],
  ["input_json_delta", ["input", "partial_json"]],
]);

function readMessageEvents(answer: string): ReadAnswer {
  const events = eventData(answer).map((data) => parseJson(data) as MessageEvent);
  const blocks: OpenBlock[] = [];
  for (const { type, index, content_block: started, delta } of events) {
    if (type === "content_block_start" && isObject(started))
      blocks[Number(index)] = openBlock(started);
    const block = blocks[Number(index)];
    if (block !== undefined && isObject(delta)) addDelta(block, delta);
  }
  return {
    isComplete: events.some(({ type }) => type === "message_stop"),
    message: { role: "assistant", content: blocks.map(closedBlock) },
  };
}

/** Until the block is closed, the input of a call is its JSON text. */
function openBlock(started: JsonObject): OpenBlock {
  const { type } = started;
  return type === "tool_use" ? { ...started, input: "" } : { ...started };
}

function addDelta(block: OpenBlock, delta: Delta): void {
  const addition = ADDITIONS.get(delta.type);
  if (addition === undefined) return;
  const [field, source] = addition;
  block[field] = `${block[field]}${delta[source]}`;
}

function closedBlock(block: OpenBlock): JsonObject {
  const { type, input } = block;
  if (type !== "tool_use" || !isString(input)) return block;
  return { ...block, input: callInput(input) };
}

/** The parsed JSON, or the text itself if a broken stream left it unfinished. */
function callInput(json: string): Json {
  try {
    return json === "" ? {} : parseJson(json);
  } catch (error) {
    if (error instanceof SyntaxError) return json;
    throw error;
  }
}

/* OpenAI Chat Completions */

interface ChatDelta {
  readonly content?: Json;
  readonly reasoning_content?: Json;
  readonly tool_calls?: Json;
}
interface CallDelta {
  readonly index?: Json;
  readonly id?: Json;
  readonly function?: Json;
}
interface CallFunction {
  readonly name?: Json;
  readonly arguments?: Json;
}

interface OpenCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; arguments: string };
}

function readChatEvents(answer: string): ReadAnswer {
  const data = eventData(answer);
  const deltas = data.filter((line) => line !== "[DONE]").map(chatDelta);
  const content = deltas
    .map((delta) => delta.content)
    .filter(isString)
    .join("");
  const reasoning = deltas
    .map((delta) => delta.reasoning_content)
    .filter(isString)
    .join("");
  const calls: OpenCall[] = [];
  for (const part of deltas.flatMap((delta) => objects<CallDelta>(delta.tool_calls))) {
    addCallDelta(calls, part);
  }
  return {
    isComplete: data.includes("[DONE]"),
    message: {
      role: "assistant",
      content: content === "" ? null : content,
      ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls.map((open) => ({ ...open })) }),
    },
  };
}

function chatDelta(line: string): ChatDelta {
  const [choice] = objects<Choice>((parseJson(line) as Completion).choices);
  return isObject(choice?.delta) ? choice.delta : {};
}

function addCallDelta(calls: OpenCall[], part: CallDelta): void {
  const { name, arguments: input }: CallFunction = isObject(part.function) ? part.function : {};
  const index = Number(part.index);
  calls[index] ??= {
    id: String(part.id),
    type: "function",
    function: { name: String(name), arguments: "" },
  };
  if (isString(input)) calls[index].function.arguments += input;
}

/* OpenAI Responses */

interface ResponseEvent {
  readonly type?: Json;
  readonly output_index?: Json;
  readonly item?: Json;
  readonly part?: Json;
  readonly delta?: Json;
}

/** A delta type, and where in its item the addition goes. */
const ITEM_ADDITIONS = new Map<Json | undefined, string>([
  ["response.output_text.delta", "content"],
  ["response.reasoning_summary_text.delta", "summary"],
  ["response.function_call_arguments.delta", "arguments"],
]);

function readResponseEvents(answer: string): ReadAnswer {
  const events = eventData(answer).map((data) => parseJson(data) as ResponseEvent);
  const items: OpenBlock[] = [];
  for (const { type, output_index: index, item, delta } of events) {
    if (isObject(item)) items[Number(index)] = { ...item };
    const open = items[Number(index)];
    const field = ITEM_ADDITIONS.get(type);
    if (open !== undefined && field !== undefined && isString(delta)) addToItem(open, field, delta);
  }
  return {
    isComplete: events.some(({ type }) => type === "response.completed"),
    message: { role: "assistant", output: items },
  };
}

/** While an item is open, its texts are collected in one part. The finished item replaces it. */
function addToItem(item: OpenBlock, field: string, delta: string): void {
  if (field === "arguments") {
    item[field] = `${item[field]}${delta}`;
    return;
  }
  const [part] = objects<{ readonly text?: Json }>(item[field]);
  const type = field === "content" ? "output_text" : "summary_text";
  item[field] = [{ type, text: `${part?.text ?? ""}${delta}` }];
}

/* Gemini */

/** One response, or those of a stream. A broken JSON array has its complete elements. */
function geminiResponses(answer: string): readonly JsonObject[] {
  const text = answer.trim();
  if (text.startsWith("{")) return [parseJson(text) as JsonObject];
  if (text.startsWith("[")) return objects<JsonObject>(parseArray(text));
  return eventData(answer.replaceAll("\r\n", "\n")).map((data) => parseJson(data) as JsonObject);
}

function parseArray(text: string): Json {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return callInput(`${text}]`);
  }
}

interface Candidate {
  readonly content?: Json;
  readonly finishReason?: Json;
}

function readResponses(responses: readonly JsonObject[]): ReadAnswer {
  const candidates = responses.flatMap(({ candidates: each }) => objects<Candidate>(each));
  const parts = candidates.flatMap(({ content }) =>
    isObject(content) ? objects<JsonObject>(content["parts"]) : [],
  );
  return {
    isComplete: candidates.some(({ finishReason }) => finishReason !== undefined),
    message: { role: "model", parts: joinedParts(parts) },
  };
}

/* Comparison */

/** The content of a message, without details that clients and providers write differently each turn. */
export interface Essence {
  readonly role: string;
  readonly says: readonly JsonObject[];
}

interface AnyMessage {
  readonly type?: Json;
  readonly call_id?: Json;
  readonly name?: Json;
  readonly arguments?: Json;
  readonly output?: Json;
  readonly summary?: Json;
  readonly encrypted_content?: Json;
  readonly role?: Json;
  readonly content?: Json;
  readonly reasoning_content?: Json;
  readonly tool_calls?: Json;
  readonly tool_call_id?: Json;
  readonly parts?: Json;
}

/** The same for a string and one text block, and with or without cache marks, null fields and extra fields. */
export function essence(message: unknown): Essence {
  const fields: AnyMessage = isObject(message) ? message : {};
  if (isString(fields.type) && fields.type !== "message") return itemEssence(fields);
  const { parts } = fields;
  if (isObject(parts)) return partsEssence(fields.role, [parts]);
  if (Array.isArray(parts)) return partsEssence(fields.role, objects(parts));
  const reasoning = isString(fields.reasoning_content) ? fields.reasoning_content : "";
  const calls = objects<CallDelta>(fields.tool_calls).map(({ id, function: called }) => {
    const { name, arguments: input }: CallFunction = isObject(called) ? called : {};
    return { call: id, name, arguments: input };
  });
  return {
    role: String(fields.role),
    says: [
      ...(fields.tool_call_id === undefined ? [] : [{ answers: fields.tool_call_id }]),
      ...(reasoning === "" ? [] : [{ reasoning }]),
      ...contentEssence(fields.content),
      ...calls,
      ...objects(fields.output).flatMap((item) => essence(item).says),
    ],
  };
}

/** An item of the Responses wire that is not a message. */
function itemEssence(item: AnyMessage): Essence {
  const { type, call_id: id, name, arguments: input, output, summary } = item;
  switch (type) {
    case "function_call":
      return { role: "assistant", says: [{ call: id, name, arguments: input }] };
    case "function_call_output":
      return { role: "tool", says: [{ answers: id }, ...contentEssence(output)] };
    case "reasoning": {
      const { encrypted_content: encrypted = null } = item;
      return { role: "assistant", says: [{ summary: contentEssence(summary), encrypted }] };
    }
    default:
      return { role: String(item.role), says: [{ ...item }] };
  }
}

/** A content of the Gemini wire. */
function partsEssence(role: Json | undefined, parts: readonly JsonObject[]): Essence {
  const named = (field: string): readonly Named[] =>
    parts.flatMap((part) => (isObject(part[field]) ? [part[field]] : []));
  const [callIds, answeredIds] = [named("functionCall"), named("functionResponse")].map(idsOf);
  const [ids, answered] = [[...(callIds ?? [])], [...(answeredIds ?? [])]];
  return {
    role: role === "model" ? "assistant" : String(role ?? "user"),
    says: joinedParts(parts).map((part) => {
      const { functionCall: called, functionResponse: given, ...rest } = part;
      if (isObject(called)) return { ...rest, call: ids.shift() ?? null, ...withoutId(called) };
      if (isObject(given)) return { answers: answered.shift() ?? null, ...withoutId(given) };
      return part;
    }),
  };
}

function withoutId({ id: _id, ...rest }: JsonObject): JsonObject {
  return rest;
}

function contentEssence(content: Json | undefined): JsonObject[] {
  if (isString(content)) return content === "" ? [] : [{ text: content }];
  return objects<JsonObject>(content).map(blockEssence);
}

function blockEssence(block: JsonObject): JsonObject {
  const { type, text, id, name, input, tool_use_id: answers, content, thinking, signature } = block;
  switch (type) {
    case "text":
    case "input_text":
    case "output_text":
    case "summary_text":
      return { text };
    case "tool_use":
      return { call: id, name, input };
    case "tool_result":
      return { answers, content: contentEssence(content) };
    case "thinking":
      return { thinking, signature };
    default:
      return block;
  }
}

/**
 * Reads an answer as a careful client does: the assistant message in the wire's own form, whether its end was reached,
 * and a form in which messages can be compared however they were written.
 */
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
  /** The terminal event came (`message_stop`, `[DONE]`), or the whole JSON body. */
  readonly isComplete: boolean;
  readonly message: JsonObject;
}

/** Reads a finished or broken answer. Throws where a finished event is not JSON. */
export function readAnswer(wire: Wire, answer: string): ReadAnswer {
  if (answer.trimStart().startsWith("{")) return readWhole(wire, answer);
  return wire === "anthropic" ? readMessageEvents(answer) : readChatEvents(answer);
}

interface Completion {
  readonly content?: Json;
  readonly choices?: Json;
}
interface Choice {
  readonly message?: Json;
  readonly delta?: Json;
}

function readWhole(wire: Wire, answer: string): ReadAnswer {
  const whole = parseJson(answer);
  const { content, choices }: Completion = isObject(whole) ? whole : {};
  if (wire === "anthropic") {
    return { isComplete: Array.isArray(content), message: { role: "assistant", content } };
  }
  const [choice] = objects<Choice>(choices);
  const message = isObject(choice?.message) ? choice.message : {};
  return { isComplete: choice !== undefined, message };
}

/** The data of each event whose closing blank line came. */
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

/** A delta type, the field of the block that it adds to, and the field of the delta that holds the addition. */
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

/** The input of a call is its JSON text until the block is closed. */
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

/** The text itself where a broken stream left it unfinished. */
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

/* Comparison */

/** What a message says, without what clients and providers write differently each turn. */
export interface Essence {
  readonly role: string;
  readonly says: readonly JsonObject[];
}

interface AnyMessage {
  readonly role?: Json;
  readonly content?: Json;
  readonly reasoning_content?: Json;
  readonly tool_calls?: Json;
  readonly tool_call_id?: Json;
}

/** Equal for a string and one text block, with and without cache marks, null fields and invented fields. */
export function essence(message: unknown): Essence {
  const fields: AnyMessage = isObject(message) ? message : {};
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
    ],
  };
}

function contentEssence(content: Json | undefined): JsonObject[] {
  if (isString(content)) return content === "" ? [] : [{ text: content }];
  return objects<JsonObject>(content).map(blockEssence);
}

function blockEssence(block: JsonObject): JsonObject {
  const { type, text, id, name, input, tool_use_id: answers, content, thinking, signature } = block;
  switch (type) {
    case "text":
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

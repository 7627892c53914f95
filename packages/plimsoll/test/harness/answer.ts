/**
 * Scripted answers as plain data, and their form on each wire: the JSON of one answer, or the events of a stream.
 * The answers have unusual formatting (indented, escaped, padded, with comments). If a proxy parses and rewrites them,
 * the bytes change, and the tests notice.
 */
import { geminiEvents, geminiJson } from "./answer-gemini.ts";
import type {
  AnswerPart,
  CallPart,
  Frame,
  RawBytes,
  ReasoningPart,
  Reply,
  TextPart,
  Usage,
} from "./answer-parts.ts";
import { argumentsOf, responseEvents, responseJson } from "./answer-responses.ts";
import type { Json, JsonObject } from "./json.ts";

/** A provider's error, or any other answer with exactly these bytes. */
interface Failure {
  readonly kind: "failure";
  readonly status: number;
  readonly body: Json;
  readonly headers?: Readonly<Record<string, string>>;
}
/** Accepts the request and never answers. */
interface Hang {
  readonly kind: "hang";
}
export type Answer = Reply | Failure | Hang | RawBytes;

export function text(...chunks: readonly string[]): TextPart {
  return { kind: "text", chunks };
}
export function reasoning(signature: string, ...chunks: readonly string[]): ReasoningPart {
  return { kind: "reasoning", chunks, signature };
}
export function call(id: string, name: string, input: JsonObject): CallPart {
  return { kind: "call", id, name, input };
}
/** A call whose input is free text, as in Responses. */
export function customCall(id: string, name: string, input: string): CallPart {
  return { kind: "call", id, name, input: {}, rawInput: input, isCustom: true };
}
export function reply(...parts: readonly AnswerPart[]): Reply {
  return { kind: "reply", parts };
}

export function renderJson(answer: Reply, frame: Frame): string {
  return JSON.stringify(wholeAnswer(answer, frame), null, 1).replace(
    /[\u0080-\uffff]/g,
    unicodeEscape,
  );
}

function wholeAnswer(answer: Reply, frame: Frame): JsonObject {
  switch (frame.wire) {
    case "anthropic":
      return messageJson(answer, frame);
    case "openai-chat":
      return completion(answer, frame);
    case "openai-responses":
      return responseJson(answer, frame, answer.usage ?? USAGE);
    case "gemini":
      return geminiJson(answer, frame, answer.usage ?? USAGE);
  }
}

function unicodeEscape(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Each element is one complete event with its closing blank line, or one piece of Gemini's JSON array. */
export function renderEvents(answer: Reply, frame: Frame): readonly string[] {
  switch (frame.wire) {
    case "anthropic":
      return messageEvents(answer, frame);
    case "openai-chat":
      return chatEvents(answer, frame);
    case "openai-responses":
      return responseEvents(answer, frame, answer.usage ?? USAGE);
    case "gemini":
      return geminiEvents(answer, frame, answer.usage ?? USAGE);
  }
}

const USAGE: Usage = { input: 25, output: 12 };
const CREATED_SECONDS = 1_790_000_000;
const ARGUMENT_DELTA_LENGTH = 7;

function pieces(whole: string): string[] {
  return whole.match(new RegExp(`[^]{1,${ARGUMENT_DELTA_LENGTH}}`, "g")) ?? [];
}

function calls(answer: Reply): readonly CallPart[] {
  return answer.parts.filter((part) => part.kind === "call");
}

function joined(answer: Reply, kind: "text" | "reasoning"): string | null {
  const found = answer.parts
    .filter((part) => part.kind !== "call")
    .filter((part) => part.kind === kind);
  return found.length === 0 ? null : found.flatMap((part) => part.chunks).join("");
}

/* Anthropic Messages */

function anthropicUsage({ usage = USAGE }: Reply, output: number): JsonObject {
  return {
    input_tokens: usage.input,
    cache_creation_input_tokens: usage.created ?? 0,
    cache_read_input_tokens: usage.cached ?? 0,
    output_tokens: output,
    service_tier: "standard",
  };
}

function anthropicStop(answer: Reply): string {
  return answer.stopReason ?? (calls(answer).length > 0 ? "tool_use" : "end_turn");
}

function messageFrame(frame: Frame): JsonObject {
  return {
    id: `msg_${String(frame.requestNumber).padStart(8, "0")}`,
    type: "message",
    role: "assistant",
    model: frame.model,
  };
}

function messageJson(answer: Reply, frame: Frame): JsonObject {
  return {
    ...messageFrame(frame),
    content: answer.parts.map(finishedBlock),
    stop_reason: anthropicStop(answer),
    stop_sequence: null,
    usage: anthropicUsage(answer, (answer.usage ?? USAGE).output),
  };
}

function finishedBlock(part: AnswerPart): JsonObject {
  switch (part.kind) {
    case "text":
      return { type: "text", text: part.chunks.join("") };
    case "reasoning":
      return { type: "thinking", thinking: part.chunks.join(""), signature: part.signature };
    case "call":
      return { type: "tool_use", id: part.id, name: part.name, input: part.input };
  }
}

function startedBlock(part: AnswerPart): JsonObject {
  switch (part.kind) {
    case "text":
      return { type: "text", text: "" };
    case "reasoning":
      return { type: "thinking", thinking: "", signature: "" };
    case "call":
      return { type: "tool_use", id: part.id, name: part.name, input: {} };
  }
}

function blockDeltas(part: AnswerPart): JsonObject[] {
  switch (part.kind) {
    case "text":
      return part.chunks.map((chunk) => ({ type: "text_delta", text: chunk }));
    case "reasoning":
      return [
        ...part.chunks.map((chunk) => ({ type: "thinking_delta", thinking: chunk })),
        { type: "signature_delta", signature: part.signature },
      ];
    case "call":
      return ["", ...pieces(argumentsOf(part))].map((piece) => ({
        type: "input_json_delta",
        partial_json: piece,
      }));
  }
}

function anthropicEvent(type: string, fields: JsonObject = {}): string {
  const json = JSON.stringify({ type, ...fields });
  const padding = " ".repeat(json.length % 5);
  return `event: ${type}\ndata: ${json.slice(0, -1)}${padding}}\n\n`;
}

function blockEvents(part: AnswerPart, index: number): string[] {
  const start = { index, content_block: startedBlock(part) };
  return [
    anthropicEvent("content_block_start", start),
    ...(index === 0 ? [anthropicEvent("ping")] : []),
    ...blockDeltas(part).map((delta) => anthropicEvent("content_block_delta", { index, delta })),
    anthropicEvent("content_block_stop", { index }),
  ];
}

function messageEvents(answer: Reply, frame: Frame): string[] {
  const message = {
    ...messageFrame(frame),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: anthropicUsage(answer, 1),
  };
  return [
    anthropicEvent("message_start", { message }),
    ...answer.parts.flatMap(blockEvents),
    anthropicEvent("message_delta", {
      delta: { stop_reason: anthropicStop(answer), stop_sequence: null },
      usage: { output_tokens: (answer.usage ?? USAGE).output },
    }),
    anthropicEvent("message_stop"),
  ];
}

/* OpenAI Chat Completions */

function chatUsage({ usage = USAGE }: Reply): JsonObject {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached ?? 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0, audio_tokens: 0 },
  };
}

function chatStop(answer: Reply): string {
  return answer.stopReason ?? (calls(answer).length > 0 ? "tool_calls" : "stop");
}

function chatFrame(frame: Frame, object: string): JsonObject {
  return {
    id: `chatcmpl-${String(frame.requestNumber).padStart(8, "0")}`,
    object,
    created: CREATED_SECONDS,
    model: frame.model,
  };
}

function completion(answer: Reply, frame: Frame): JsonObject {
  const thoughts = joined(answer, "reasoning");
  const toolCalls = calls(answer).map((part) => ({
    id: part.id,
    type: "function",
    function: { name: part.name, arguments: argumentsOf(part) },
  }));
  const message = {
    role: "assistant",
    content: joined(answer, "text"),
    ...(thoughts === null ? {} : { reasoning_content: thoughts }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
    refusal: null,
    annotations: [],
  };
  return {
    ...chatFrame(frame, "chat.completion"),
    choices: [{ index: 0, message, logprobs: null, finish_reason: chatStop(answer) }],
    usage: chatUsage(answer),
    system_fingerprint: null,
  };
}

function chatDeltas(answer: Reply): JsonObject[] {
  let callIndex = 0;
  return answer.parts.flatMap((part) => {
    if (part.kind === "call") return callDeltas(part, callIndex++);
    const field = part.kind === "text" ? "content" : "reasoning_content";
    return part.chunks.map((chunk) => ({ [field]: chunk }));
  });
}

function callDeltas(part: CallPart, index: number): JsonObject[] {
  const opening = { name: part.name, arguments: "" };
  return [
    { tool_calls: [{ index, id: part.id, type: "function", function: opening }] },
    ...pieces(argumentsOf(part)).map((piece) => ({
      tool_calls: [{ index, function: { arguments: piece } }],
    })),
  ];
}

function chatEvents(answer: Reply, frame: Frame): string[] {
  const opening = { role: "assistant", content: joined(answer, "text") === null ? null : "" };
  const choices = [
    ...[opening, ...chatDeltas(answer)].map((delta) => ({ delta, finish_reason: null })),
    { delta: {}, finish_reason: chatStop(answer) },
  ].map((choice) => [{ index: 0, ...choice, logprobs: null }]);
  const base = chatFrame(frame, "chat.completion.chunk");
  const withoutUsage = frame.includeUsage ? { usage: null } : {};
  const chunks: JsonObject[] = choices.map((choice) => ({
    ...base,
    choices: choice,
    ...withoutUsage,
  }));
  if (frame.includeUsage) chunks.push({ ...base, choices: [], usage: chatUsage(answer) });
  const [first = "", ...others] = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return [first, ": keep-alive\n\n", ...others, "data: [DONE]\n\n"];
}

/** Recorded conversations, as the client of each wire would send them: turn by turn, everything every time. */

import { isObject, type JsonObject, parseObject } from "../packages/plimsoll/src/message/json.ts";
import type { WireName } from "../packages/plimsoll/src/wire/wire.ts";

export interface TraceMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | null;
  readonly name?: string;
  readonly tool_calls?: readonly TraceCall[];
  readonly tool_call_id?: string;
}

interface TraceCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

interface TraceTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters: JsonObject;
  };
}

export interface Trace {
  readonly messages: readonly TraceMessage[];
  readonly tools?: readonly TraceTool[];
  readonly meta: { readonly id: string };
}

/** What a client adds to its next request, and what it is answered. */
export interface TraceTurn {
  readonly added: readonly TraceMessage[];
  readonly answer?: TraceMessage;
}

/** Of conversations in which no model speaks: a request after so many messages. */
const messagesPerRequest = 20;

/** One for each answer. Answers that follow each other are one, as a model would have given them. */
export function turnsOf({ messages }: Trace): readonly TraceTurn[] {
  const spoken = mergeAnswers(messages.filter(({ role }) => role !== "system"));
  const isTalk = spoken.some(({ role }) => role === "assistant");
  const turns: TraceTurn[] = [];
  let added: TraceMessage[] = [];
  for (const message of spoken) {
    // What the model said before anyone asked came from somewhere: the client has it in its history.
    const isAnswer = message.role === "assistant" && (turns.length > 0 || added.length > 0);
    if (!isAnswer) added.push(message);
    const isFull = !isTalk && added.length >= messagesPerRequest;
    if (!isAnswer && !isFull) continue;
    turns.push(isAnswer ? { added, answer: message } : { added });
    added = [];
  }
  return added.length === 0 ? turns : [...turns, { added }];
}

function mergeAnswers(messages: readonly TraceMessage[]): readonly TraceMessage[] {
  const merged: TraceMessage[] = [];
  for (const message of messages) {
    const before = merged.at(-1);
    if (message.role !== "assistant" || before?.role !== "assistant") {
      merged.push(message);
      continue;
    }
    const texts = [before.content, message.content].filter((text) => text !== null && text !== "");
    const calls = [...(before.tool_calls ?? []), ...(message.tool_calls ?? [])];
    merged[merged.length - 1] = {
      role: "assistant",
      content: texts.length === 0 ? null : texts.join("\n\n"),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
  }
  return merged;
}

/** How one wire says it. */
export interface WireForm {
  readonly wire: WireName;
  /** Of a provider in the configuration. */
  readonly family: "anthropic" | "openai";
  readonly model: string;
  /** Everything but the conversation. */
  head(trace: Trace, maxOutput: number): JsonObject;
  /** What the conversation begins with before anyone has spoken. */
  lead(trace: Trace): readonly JsonObject[];
  encode(messages: readonly TraceMessage[]): readonly JsonObject[];
  response(answer: TraceMessage, inputTokens: number): JsonObject;
}

function systemOf({ messages }: Trace): string | undefined {
  const texts = messages.flatMap(({ role, content }) => (role === "system" ? [content ?? ""] : []));
  return texts.length === 0 ? undefined : texts.join("\n\n");
}

/** Where they were not recorded: at least their names, for who calls must have been offered something. */
function toolsOf({ messages, tools }: Trace): readonly TraceTool[] {
  if (tools !== undefined) return tools;
  const calls = messages.flatMap((message) => message.tool_calls ?? []);
  const names = [...new Set(calls.map((call) => call.function.name))];
  return names.map((name) => ({
    type: "function",
    function: { name, parameters: { type: "object" } },
  }));
}

function inputOf(call: TraceCall): JsonObject {
  const input = parseObject(call.function.arguments);
  return isObject(input) ? input : {};
}

/** The fields of our own notes are left out. */
function chatMessage(message: TraceMessage): JsonObject {
  const { role, content, name, tool_calls: calls, tool_call_id: id } = message;
  return {
    role,
    content,
    ...(name === undefined || role === "tool" ? {} : { name }),
    ...(calls === undefined ? {} : { tool_calls: calls as unknown as readonly JsonObject[] }),
    ...(id === undefined ? {} : { tool_call_id: id }),
  };
}

const chatForm: WireForm = {
  wire: "openai-chat",
  family: "openai",
  model: "gpt-4.1",
  head: (trace, maxOutput) => {
    const tools = toolsOf(trace) as unknown as readonly JsonObject[];
    const fields = { model: "gpt-4.1", max_completion_tokens: maxOutput };
    return { ...fields, ...(tools.length === 0 ? {} : { tools }) };
  },
  lead: ({ messages }) => messages.filter(({ role }) => role === "system").map(chatMessage),
  encode: (messages) => messages.map(chatMessage),
  response: (answer, inputTokens) => ({
    id: "chatcmpl_1",
    object: "chat.completion",
    model: "gpt-4.1",
    choices: [{ index: 0, finish_reason: "stop", message: chatMessage(answer) }],
    usage: { prompt_tokens: inputTokens, completion_tokens: 50, total_tokens: inputTokens + 50 },
  }),
};

function anthropicBlocks(message: TraceMessage): readonly JsonObject[] {
  const { role, content, tool_calls: calls = [], tool_call_id: id } = message;
  if (role === "tool")
    return [{ type: "tool_result", tool_use_id: id ?? "", content: content ?? "" }];
  const text = content === null || content.trim() === "" ? [] : [{ type: "text", text: content }];
  const uses = calls.map((call) => ({
    type: "tool_use",
    id: call.id,
    name: call.function.name,
    input: inputOf(call),
  }));
  return [...text, ...uses];
}

const anthropicForm: WireForm = {
  wire: "anthropic",
  family: "anthropic",
  model: "claude-sonnet-4-5",
  head: (trace, maxOutput) => {
    const system = systemOf(trace);
    const tools = toolsOf(trace).map(({ function: { parameters, ...named } }) => ({
      ...named,
      input_schema: parameters,
    }));
    return {
      model: "claude-sonnet-4-5",
      max_tokens: maxOutput,
      ...(system === undefined ? {} : { system }),
      ...(tools.length === 0 ? {} : { tools }),
    };
  },
  lead: () => [],
  encode: (messages) => {
    const encoded: { readonly role: string; readonly content: JsonObject[] }[] = [];
    for (const message of messages) {
      const role = message.role === "assistant" ? "assistant" : "user";
      const blocks = anthropicBlocks(message);
      if (encoded.at(-1)?.role === role) encoded.at(-1)?.content.push(...blocks);
      else if (blocks.length > 0) encoded.push({ role, content: [...blocks] });
    }
    return encoded;
  },
  response: (answer, inputTokens) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: anthropicBlocks(answer),
    stop_reason: answer.tool_calls === undefined ? "end_turn" : "tool_use",
    stop_sequence: null,
    usage: { input_tokens: inputTokens, output_tokens: 50 },
  }),
};

function responsesItems(message: TraceMessage): readonly JsonObject[] {
  const { role, content, tool_calls: calls = [], tool_call_id: id } = message;
  if (role === "tool")
    return [{ type: "function_call_output", call_id: id ?? "", output: content ?? "" }];
  const text = content ?? "";
  if (role === "user") return [{ type: "message", role, content: [{ type: "input_text", text }] }];
  const said = { type: "message", role, content: [{ type: "output_text", text, annotations: [] }] };
  const asked = calls.map((call) => ({
    type: "function_call",
    call_id: call.id,
    name: call.function.name,
    arguments: call.function.arguments,
    status: "completed",
  }));
  return text === "" ? asked : [{ ...said, status: "completed" }, ...asked];
}

const responsesForm: WireForm = {
  wire: "openai-responses",
  family: "openai",
  model: "gpt-4.1",
  head: (trace, maxOutput) => {
    const instructions = systemOf(trace);
    const tools = toolsOf(trace).map((tool) => ({ type: "function", ...tool.function }));
    return {
      model: "gpt-4.1",
      max_output_tokens: maxOutput,
      store: false,
      ...(instructions === undefined ? {} : { instructions }),
      ...(tools.length === 0 ? {} : { tools }),
    };
  },
  lead: () => [],
  encode: (messages) => messages.flatMap(responsesItems),
  response: (answer, inputTokens) => ({
    id: "resp_1",
    object: "response",
    status: "completed",
    model: "gpt-4.1",
    output: responsesItems(answer),
    usage: { input_tokens: inputTokens, output_tokens: 50, total_tokens: inputTokens + 50 },
  }),
};

export const wireForms: readonly WireForm[] = [anthropicForm, chatForm, responsesForm];

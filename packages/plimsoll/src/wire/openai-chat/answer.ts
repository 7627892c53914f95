/** Reads answers of the OpenAI Chat Completions wire, from a stream of chunks or from one JSON body. */

import {
  isObject,
  type JsonObject,
  type JsonValue,
  numberOr,
  parseObject,
  stringOr,
} from "../../message/json.ts";
import type { Usage } from "../../message/message.ts";
import { tokenFigure, usageFrom } from "../format/usage.ts";
import type { Answer, AnswerAccumulator, Progress, WireAnswer } from "../format/wire.ts";
import { type CallSorter, createCallSorter } from "./streamed-calls.ts";

const cutShort = new Set(["length", "content_filter"]);

export const chatAnswer: WireAnswer = {
  open: openAnswer,
  read: readAnswer,
  isCutShort: ({ stopReason }) => cutShort.has(stopReason ?? ""),
  repeatable: (messages) => messages,
};

type Fields = Record<string, JsonValue | undefined>;

interface Choice {
  fields: Fields;
  readonly message: Fields;
  readonly calls: Map<number, Call>;
  readonly sorter: CallSorter;
}

interface Call {
  readonly fields: Fields;
  readonly called: Fields;
  /** The key under which the provider put the call: `function` or `custom`. */
  key: string;
}

interface State {
  response: Fields | undefined;
  readonly choices: Map<number, Choice>;
  error: { type: string; message: string } | undefined;
  isDone: boolean;
}

/** Maximum number of parallel calls or choices. No provider allows as many. A higher index is ignored. */
const maxIndex = 4096;

function openAnswer(): AnswerAccumulator {
  const state: State = { response: undefined, choices: new Map(), error: undefined, isDone: false };
  return {
    take: ({ data }) => {
      if (data.trim() === "[DONE]") {
        state.isDone = true;
        return "terminal";
      }
      const chunk = parseObject(data);
      return chunk === undefined ? progressOf(state) : takeChunk(state, chunk);
    },
    finish: () => finish(state),
  };
}

/** The role and an empty text only open an answer. They are not content from the model. */
function progressOf({ choices }: State): Progress {
  const hasSpoken = [...choices.values()].some(
    ({ message, calls, fields }) =>
      calls.size > 0 || hasContent(message) || fields["finish_reason"] !== undefined,
  );
  return hasSpoken ? "content" : "opening";
}

function takeChunk(state: State, chunk: JsonObject): Progress {
  if (chunk["error"] !== undefined && chunk["error"] !== null) {
    state.error = readError(chunk["error"]);
    return "terminal";
  }
  const { choices, object: _object, ...rest } = chunk;
  state.response = { ...state.response, ...definedOnly(rest) };
  for (const choice of Array.isArray(choices) ? choices : []) {
    if (isObject(choice)) takeChoice(state, choice);
  }
  return progressOf(state);
}

function definedOnly(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function takeChoice(state: State, chunk: JsonObject): void {
  const index = numberOr(chunk["index"], 0);
  if (index < 0 || index > maxIndex) return;
  const choice = state.choices.get(index) ?? {
    fields: { index },
    message: { role: "assistant", content: null, refusal: null },
    calls: new Map(),
    sorter: createCallSorter(),
  };
  state.choices.set(index, choice);
  const { delta, index: _index, ...rest } = chunk;
  choice.fields = { ...choice.fields, ...definedOnly(rest) };
  if (isObject(delta)) applyDelta(choice, delta);
}

/** Appends to text fields and replaces all other fields, including fields that only compatible servers send. */
function applyDelta(choice: Choice, delta: JsonObject): void {
  const { tool_calls: calls, ...fields } = definedOnly(delta);
  for (const call of Array.isArray(calls) ? calls.filter(isObject) : []) applyCall(choice, call);
  for (const [key, value] of Object.entries(fields)) {
    const grows = typeof value === "string" && key !== "role";
    choice.message[key] = grows ? stringOr(choice.message[key], "") + value : value;
  }
}

function applyCall(choice: Choice, delta: JsonObject): void {
  const index = choice.sorter.callOf(delta);
  if (index < 0 || index > maxIndex) return;
  const call = choice.calls.get(index) ?? { fields: {}, called: {}, key: "function" };
  choice.calls.set(index, call);
  for (const [key, value] of Object.entries(delta)) {
    if (value === null || value === undefined || key === "index") continue;
    if (isObject(value)) {
      call.key = key;
      appendCalled(call.called, value);
    } else call.fields[key] = value;
  }
}

function appendCalled(called: Fields, delta: JsonObject): void {
  for (const [key, value] of Object.entries(delta)) {
    const isText = key === "arguments" || key === "input";
    if (isText) called[key] = stringOr(called[key], "") + stringOr(value, "");
    else if (value !== null) called[key] = value;
  }
}

function finish(state: State): Answer {
  const choices = [...state.choices.entries()]
    .sort(([left], [right]) => left - right)
    .map(([, choice]) => finishChoice(choice));
  const response = state.response && { ...state.response, object: "chat.completion", choices };
  if (state.error !== undefined) {
    return {
      choices: [],
      ...(response && readCompletion(response)),
      outcome: "error",
      error: state.error,
    };
  }
  if (response === undefined) return { outcome: "cut", choices: [] };
  const hasEnded = choices.length > 0 && choices.every((choice) => choice["finish_reason"] != null);
  return { ...readCompletion(response), outcome: state.isDone || hasEnded ? "message" : "cut" };
}

function finishChoice(choice: Choice): JsonObject {
  const calls = [...choice.calls.entries()]
    .sort(([left], [right]) => left - right)
    .map(([, call]) => ({ ...call.fields, [call.key]: call.called }));
  return {
    ...choice.fields,
    message: calls.length === 0 ? choice.message : { ...choice.message, tool_calls: calls },
  };
}

function readAnswer(response: JsonValue): Answer {
  if (!isObject(response)) return { outcome: "unread", choices: [] };
  if (response["error"] !== undefined && response["error"] !== null) {
    return { outcome: "error", choices: [], error: readError(response["error"]) };
  }
  return { outcome: "message", ...readCompletion(response) };
}

function readError(error: JsonValue): { type: string; message: string } {
  if (!isObject(error)) return { type: "error", message: stringOr(error, "") };
  const type = stringOr(error["code"], stringOr(error["type"], "error"));
  return { type, message: stringOr(error["message"], "") };
}

function readCompletion(response: JsonObject): Omit<Answer, "outcome"> {
  const choices = Array.isArray(response["choices"]) ? response["choices"].filter(isObject) : [];
  const messages = choices.map((choice) => choice["message"]).filter(isObject);
  const usage = readUsage(response["usage"]);
  const stopReason = choices[0]?.["finish_reason"];
  return {
    response,
    choices: messages.filter(hasContent).map((message) => [message]),
    ...(usage === undefined ? {} : { usage }),
    ...(typeof stopReason === "string" ? { stopReason } : {}),
  };
}

function hasContent(message: JsonObject): boolean {
  return Object.entries(message).some(
    ([key, value]) => key !== "role" && value !== null && value !== "" && value !== undefined,
  );
}

function readUsage(usage: JsonValue | undefined): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const prompt = isObject(usage["prompt_tokens_details"]) ? usage["prompt_tokens_details"] : {};
  const completion = isObject(usage["completion_tokens_details"])
    ? usage["completion_tokens_details"]
    : {};
  return usageFrom({
    input: [usage["prompt_tokens"]],
    output: [usage["completion_tokens"]],
    cacheRead: tokenFigure(prompt["cached_tokens"]) ?? 0,
    reasoning: tokenFigure(completion["reasoning_tokens"]) ?? 0,
  });
}

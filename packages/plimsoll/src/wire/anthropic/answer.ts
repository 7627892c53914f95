/** Reads answers of the Anthropic Messages wire, from a stream of events or from one JSON body. */

import {
  isObject,
  type JsonObject,
  type JsonValue,
  numberOr,
  parseObject,
  stringOr,
} from "../../message/json.ts";
import type { Usage } from "../../message/message.ts";
import { parsePartialJson } from "../format/partial-json.ts";
import { usageFrom } from "../format/usage.ts";
import type { Answer, AnswerAccumulator, Progress, WireAnswer } from "../format/wire.ts";

const cutShort = new Set(["max_tokens", "model_context_window_exceeded", "pause_turn", "refusal"]);

export const anthropicAnswer: WireAnswer = {
  open: openAnswer,
  read: readAnswer,
  isCutShort: ({ stopReason }) => cutShort.has(stopReason ?? ""),
  repeatable: (messages) => messages,
};

type Block = Record<string, JsonValue | undefined>;

interface State {
  response: Record<string, JsonValue | undefined> | undefined;
  readonly blocks: (Block | undefined)[];
  /**
   * Text of the tool arguments received so far, by block index. Plimsoll parses it when the block ends. If the answer is cut
   * short, Plimsoll keeps the complete part of the arguments.
   */
  readonly inputs: Map<number, string>;
  error: { type: string; message: string } | undefined;
  isComplete: boolean;
}

function openAnswer(): AnswerAccumulator {
  const state: State = {
    response: undefined,
    blocks: [],
    inputs: new Map(),
    error: undefined,
    isComplete: false,
  };
  return {
    take: ({ name, data }) => {
      // The provider's client library skips events without a name, so Plimsoll does too and records the same content.
      if (name === "" || name === "ping") return progressOf(state);
      const event = parseObject(data);
      return event === undefined ? progressOf(state) : takeEvent(state, name, event);
    },
    finish: () => finish(state),
  };
}

function progressOf({ blocks }: State): Progress {
  return blocks.length === 0 ? "opening" : "content";
}

function takeEvent(state: State, name: string, event: JsonObject): Progress {
  switch (name) {
    case "message_start":
      if (isObject(event["message"])) state.response = { ...event["message"] };
      break;
    case "content_block_start":
      startBlock(state, event);
      break;
    case "content_block_delta":
      applyDelta(state, event);
      break;
    case "message_delta":
      applyMessageDelta(state, event);
      return "content";
    case "message_stop":
      state.isComplete = state.response !== undefined;
      return "terminal";
    case "error":
      state.error = readError(event);
      return "terminal";
    default:
      break;
  }
  return progressOf(state);
}

function startBlock(state: State, event: JsonObject): void {
  const index = numberOr(event["index"], -1);
  const block = event["content_block"];
  if (isObject(block) && index >= 0 && index < 100_000) state.blocks[index] = { ...block };
}

function applyDelta(state: State, event: JsonObject): void {
  const index = numberOr(event["index"], -1);
  const block = state.blocks[index];
  const delta = event["delta"];
  if (block === undefined || !isObject(delta)) return;
  const append = (field: string): void => {
    block[field] = stringOr(block[field], "") + stringOr(delta[field], "");
  };
  switch (delta["type"]) {
    case "text_delta":
      append("text");
      return;
    case "thinking_delta":
      append("thinking");
      return;
    case "signature_delta":
      block["signature"] = delta["signature"];
      return;
    case "input_json_delta":
      state.inputs.set(
        index,
        (state.inputs.get(index) ?? "") + stringOr(delta["partial_json"], ""),
      );
      return;
    case "citations_delta": {
      const known = block["citations"];
      block["citations"] = [...(Array.isArray(known) ? known : []), delta["citation"] ?? null];
      return;
    }
    case "compaction_delta":
      append("content");
      if (delta["encrypted_content"] != null)
        block["encrypted_content"] = delta["encrypted_content"];
      return;
    default:
      return;
  }
}

/** The usage in this event is cumulative, but may lack some fields. Its fields replace those from `message_start`. */
function applyMessageDelta(state: State, event: JsonObject): void {
  if (state.response === undefined) return;
  const { delta, usage } = event;
  const known = isObject(state.response["usage"]) ? state.response["usage"] : {};
  state.response = {
    ...state.response,
    ...(isObject(delta) ? delta : {}),
    ...(isObject(usage) ? { usage: { ...known, ...withoutNulls(usage) } } : {}),
  };
}

function withoutNulls(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
}

function readError(event: JsonObject): { type: string; message: string } {
  const error = isObject(event["error"]) ? event["error"] : event;
  return { type: stringOr(error["type"], "error"), message: stringOr(error["message"], "") };
}

function finish(state: State): Answer {
  const content = state.blocks.flatMap((block, index) =>
    block === undefined ? [] : [finishBlock(block, state.inputs.get(index))],
  );
  const response = state.response && { ...state.response, content };
  if (state.error !== undefined) {
    return {
      choices: [],
      ...(response && readMessage(response)),
      outcome: "error",
      error: state.error,
    };
  }
  if (response === undefined) return { outcome: "cut", choices: [] };
  return {
    ...readMessage(response),
    ...openCallIn(state),
    outcome: state.isComplete ? "message" : "cut",
  };
}

function openCallIn({ blocks, inputs }: State): Pick<Answer, "openCall"> {
  const input = inputs.get(blocks.length - 1);
  const name = blocks.at(-1)?.["name"];
  const isOpen = input !== undefined && parseObject(input) === undefined;
  return isOpen && typeof name === "string" ? { openCall: { name, input } } : {};
}

function finishBlock(block: Block, input: string | undefined): JsonObject {
  if (input === undefined || input === "") return block;
  return { ...block, input: parsePartialJson(input) ?? {} };
}

function readAnswer(response: JsonValue): Answer {
  if (!isObject(response)) return { outcome: "unread", choices: [] };
  if (response["type"] === "error") {
    return { outcome: "error", choices: [], error: readError(response) };
  }
  return { outcome: "message", ...readMessage(response) };
}

function readMessage(response: JsonObject): Omit<Answer, "outcome"> {
  const { content } = response;
  const isEmpty = !Array.isArray(content) || content.length === 0;
  const usage = readUsage(response["usage"]);
  const stopReason = response["stop_reason"];
  return {
    response,
    choices: isEmpty ? [] : [[{ role: "assistant", content }]],
    ...(usage === undefined ? {} : { usage }),
    ...(typeof stopReason === "string" ? { stopReason } : {}),
  };
}

/**
 * Anthropic's `input_tokens` excludes tokens that were read from or written to the cache. Plimsoll's input figure includes them.
 */
function readUsage(usage: JsonValue | undefined): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const cacheRead = usage["cache_read_input_tokens"];
  const cacheWrite = usage["cache_creation_input_tokens"];
  const { cache_creation: detail } = usage;
  return usageFrom({
    input: [usage["input_tokens"], cacheRead, cacheWrite],
    output: [usage["output_tokens"]],
    cacheRead,
    cacheWrite,
    cacheWriteLong: isObject(detail) ? detail["ephemeral_1h_input_tokens"] : undefined,
  });
}

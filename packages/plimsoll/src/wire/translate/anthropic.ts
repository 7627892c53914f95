/** The Anthropic Messages wire, translated from and to other wires. */

import { isObject, type JsonObject, numberOr, parseObject, stringOr } from "../../message/json.ts";
import type { Usage } from "../../message/message.ts";
import { anthropicWire } from "../anthropic/anthropic.ts";
import type { StreamEvent } from "../format/wire.ts";
import { checkEnd, listIn, readMessages } from "./conversation.ts";
import {
  type AnswerHead,
  type AnswerStep,
  type AnswerWriter,
  checkFields,
  type Losses,
  type NeutralRequest,
  type NeutralTool,
  numberOf,
  type Stop,
  schemaOf,
  settingsOf,
  type ToolChoice,
  type Translation,
  type WrittenFor,
} from "./neutral.ts";

const fields = {
  read: [
    ...["model", "messages", "system", "tools", "tool_choice", "stream"],
    ...["max_tokens", "temperature", "top_p", "stop_sequences"],
  ],
  leftOut: [
    ...["metadata", "service_tier", "thinking", "output_config", "top_k", "cache_control"],
    "context_management",
  ],
};

export const anthropicTranslation: Translation = {
  name: "anthropic",
  readRequest,
  writeRequest,
  openSteps: () => readSteps,
  stopOf: (reason) => stops.get(reason ?? "") ?? "end",
  openWriter: (head) => new Writer(head),
};

const stops: ReadonlyMap<string, Stop> = new Map([
  ["tool_use", "calls"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["refusal", "refused"],
]);
const stopReasons: Readonly<Record<Stop, string>> = {
  end: "end_turn",
  calls: "tool_use",
  length: "max_tokens",
  refused: "refusal",
};

function readRequest(body: JsonObject, losses: Losses): NeutralRequest {
  checkFields(body, fields, losses);
  const system = body["system"];
  const texts =
    typeof system === "string"
      ? [system]
      : listIn(system).map((block) => stringOr(block["text"], ""));
  const choice = isObject(body["tool_choice"]) ? body["tool_choice"] : {};
  const messages = readMessages(anthropicWire, listIn(body["messages"]), losses);
  checkEnd(messages, losses);
  return {
    system: texts.filter((text) => text !== ""),
    messages,
    tools: listIn(body["tools"]).flatMap((tool) => readTool(tool, losses)),
    choice: readChoice(choice),
    isSerial: choice["disable_parallel_tool_use"] === true,
    isStream: body["stream"] === true,
    wantsUsage: true,
    ...settingsOf({
      maxTokens: numberOf(body["max_tokens"]),
      temperature: numberOf(body["temperature"]),
      topP: numberOf(body["top_p"]),
    }),
    stop: Array.isArray(body["stop_sequences"])
      ? body["stop_sequences"].map((text) => stringOr(text, ""))
      : [],
  };
}

function readTool(tool: JsonObject, losses: Losses): readonly NeutralTool[] {
  const type = stringOr(tool["type"], "custom");
  const decoded = anthropicWire.tools.decode(tool);
  if (type !== "custom" || decoded === undefined) {
    losses.refuse(`only Anthropic has the tool ${stringOr(tool["name"], type)}`);
    return [];
  }
  if (tool["defer_loading"] === true) losses.refuse("it defers tools in Anthropic's own way");
  return [{ ...decoded, isStrict: tool["strict"] === true }];
}

function readChoice(choice: JsonObject): ToolChoice {
  switch (choice["type"]) {
    case "none":
      return { kind: "none" };
    case "any":
      return { kind: "required" };
    case "tool":
      return { kind: "tool", name: stringOr(choice["name"], "") };
    default:
      return { kind: "auto" };
  }
}

function writeRequest(request: NeutralRequest, to: WrittenFor, losses: Losses): JsonObject {
  const { temperature, topP, maxTokens = to.maxTokens, format, tools, stop } = request;
  if (format !== undefined) losses.refuse("it wants an answer with a JSON schema");
  if (temperature !== undefined && temperature > 1)
    losses.refuse(`its temperature is ${temperature}, and Anthropic takes at most 1`);
  if (tools.some(({ isStrict }) => isStrict)) losses.leaveOut("strict");
  return {
    model: to.model,
    max_tokens: maxTokens,
    ...(request.system.length === 0 ? {} : { system: request.system.join("\n\n") }),
    ...(tools.length === 0 ? {} : { tools: tools.map(writeTool), ...choiceField(request) }),
    messages: anthropicWire.messages.encode(request.messages),
    ...(temperature === undefined ? {} : { temperature }),
    // The provider's newer models refuse both at once.
    ...(topP === undefined || temperature !== undefined ? {} : { top_p: topP }),
    ...(stop.length === 0 ? {} : { stop_sequences: stop }),
    ...(request.isStream ? { stream: true } : {}),
  };
}

function writeTool({ isStrict: _strict, ...tool }: NeutralTool): JsonObject {
  return anthropicWire.tools.encode({ ...tool, parameters: schemaOf(tool.parameters) });
}

function choiceField({ choice, isSerial }: NeutralRequest): JsonObject {
  if (choice.kind === "none") return { tool_choice: { type: "none" } };
  const serial = isSerial ? { disable_parallel_tool_use: true } : {};
  switch (choice.kind) {
    case "auto":
      return isSerial ? { tool_choice: { type: "auto", ...serial } } : {};
    case "required":
      return { tool_choice: { type: "any", ...serial } };
    case "tool":
      return { tool_choice: { type: "tool", name: choice.name, ...serial } };
  }
}

const thoughts: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking"]);

function readSteps({ name, data }: StreamEvent): readonly AnswerStep[] {
  const event = parseObject(data) ?? {};
  const place = numberOr(event["index"], 0);
  const block = event["content_block"];
  if (name === "content_block_start" && isObject(block)) return startOf(block, place);
  if (name !== "content_block_delta" || !isObject(event["delta"])) return [];
  const { type, text, partial_json: input } = event["delta"];
  if (type === "text_delta") return [{ kind: "text", text: stringOr(text, "") }];
  return type === "input_json_delta" ? [{ kind: "input", place, text: stringOr(input, "") }] : [];
}

function startOf(block: JsonObject, place: number): readonly AnswerStep[] {
  const [type, text] = [stringOr(block["type"], "?"), stringOr(block["text"], "")];
  if (type === "text") return [{ kind: "text", text }];
  if (thoughts.has(type)) return [];
  return type === "tool_use"
    ? [{ kind: "call", place, id: stringOr(block["id"], ""), name: stringOr(block["name"], "") }]
    : [{ kind: "unknown", type }];
}

class Writer implements AnswerWriter {
  readonly #head: AnswerHead;
  #index = -1;
  #open: "text" | "call" | undefined;

  constructor(head: AnswerHead) {
    this.#head = head;
  }

  begin(): readonly StreamEvent[] {
    const { id, model } = this.#head;
    const message = {
      id: `msg_${id}`,
      type: "message",
      role: "assistant",
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 0, output_tokens: 0 },
    };
    return [eventOf({ type: "message_start", message })];
  }

  step(step: Parameters<AnswerWriter["step"]>[0]): readonly StreamEvent[] {
    switch (step.kind) {
      case "text": {
        const delta = { type: "text_delta", text: step.text };
        return this.#open === "text"
          ? [this.#delta(delta)]
          : [...this.#start("text", { type: "text", text: "" }), this.#delta(delta)];
      }
      case "call": {
        const { id, name } = step;
        return this.#start("call", { type: "tool_use", id, name, input: {} });
      }
      case "input":
        return [this.#delta({ type: "input_json_delta", partial_json: step.text })];
    }
  }

  end({ stop, usage }: Parameters<AnswerWriter["end"]>[0]): readonly StreamEvent[] {
    const delta = { stop_reason: stopReasons[stop], stop_sequence: null };
    return [
      ...this.#stop(),
      eventOf({ type: "message_delta", delta, usage: usageOf(usage) }),
      eventOf({ type: "message_stop" }),
    ];
  }

  #start(kind: "text" | "call", block: JsonObject): readonly StreamEvent[] {
    const stopped = this.#stop();
    this.#index++;
    this.#open = kind;
    const started = { type: "content_block_start", index: this.#index, content_block: block };
    return [...stopped, eventOf(started)];
  }

  #stop(): readonly StreamEvent[] {
    if (this.#open === undefined) return [];
    this.#open = undefined;
    return [eventOf({ type: "content_block_stop", index: this.#index })];
  }

  #delta(delta: JsonObject): StreamEvent {
    return eventOf({ type: "content_block_delta", index: this.#index, delta });
  }
}

function eventOf(event: JsonObject & { readonly type: string }): StreamEvent {
  return { name: event.type, data: JSON.stringify(event) };
}

function usageOf(usage: Usage | undefined): JsonObject {
  const {
    inputTokens = 0,
    outputTokens = 0,
    cacheReadTokens = 0,
    cacheWriteTokens = 0,
  } = usage ?? {};
  return {
    input_tokens: Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens),
    cache_read_input_tokens: cacheReadTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    output_tokens: outputTokens,
  };
}

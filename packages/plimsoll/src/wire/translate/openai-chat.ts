/** The OpenAI Chat Completions wire, translated from and to other wires. */

import {
  isObject,
  type JsonObject,
  type JsonValue,
  numberOr,
  parseObject,
  stringOr,
} from "../../message/json.ts";
import type { Usage } from "../../message/message.ts";
import type { StreamEvent } from "../format/wire.ts";
import { openaiChatWire } from "../openai-chat/openai-chat.ts";
import { createCallSorter } from "../openai-chat/streamed-calls.ts";
import {
  checkEnd,
  hasImageInResult,
  listIn,
  readMessages,
  withSystemFirst,
} from "./conversation.ts";
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
  type Translation,
  type WrittenFor,
} from "./neutral.ts";
import { readOpenaiChoice, sampling, writeOpenaiChoice } from "./openai-settings.ts";

const fields = {
  read: [
    ...["model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream"],
    ...["stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p", "stop"],
    ...["response_format", "n"],
  ],
  leftOut: [
    ...["metadata", "service_tier", "store", "user", "safety_identifier", "prompt_cache_key"],
    ...["prompt_cache_retention", "seed", "reasoning_effort", "verbosity"],
  ],
};

export const chatTranslation: Translation = {
  name: "openai-chat",
  readRequest,
  writeRequest,
  openSteps,
  stopOf: (reason) => stops.get(reason ?? "") ?? "end",
  openWriter: (head) => new Writer(head),
};

const stops: ReadonlyMap<string, Stop> = new Map([
  ["tool_calls", "calls"],
  ["length", "length"],
  ["content_filter", "refused"],
]);
const finishReasons: Readonly<Record<Stop, string>> = {
  end: "stop",
  calls: "tool_calls",
  length: "length",
  refused: "content_filter",
};

function readRequest(body: JsonObject, losses: Losses): NeutralRequest {
  checkFields(body, fields, losses);
  if ((body["n"] ?? 1) !== 1) losses.refuse("it wants several answers");
  const elements = listIn(body["messages"]);
  for (const call of elements.flatMap((message) => listIn(message["tool_calls"])))
    if (call["custom"] !== undefined) losses.refuse("it contains a call with free text");
  const { system, rest } = withSystemFirst(readMessages(openaiChatWire, elements, losses), losses);
  checkEnd(rest, losses);
  const { stop } = body;
  const options = isObject(body["stream_options"]) ? body["stream_options"] : {};
  const format = readFormat(body["response_format"], losses);
  return {
    system,
    messages: rest,
    tools: listIn(body["tools"]).flatMap((tool) => readTool(tool, losses)),
    choice: readOpenaiChoice(body["tool_choice"], losses),
    isSerial: body["parallel_tool_calls"] === false,
    isStream: body["stream"] === true,
    wantsUsage: options["include_usage"] === true,
    ...settingsOf({
      maxTokens: numberOf(body["max_completion_tokens"]) ?? numberOf(body["max_tokens"]),
      temperature: numberOf(body["temperature"]),
      topP: numberOf(body["top_p"]),
    }),
    stop: typeof stop === "string" ? [stop] : Array.isArray(stop) ? stop.map(String) : [],
    ...(format === undefined ? {} : { format }),
  };
}

function readTool(tool: JsonObject, losses: Losses): readonly NeutralTool[] {
  const decoded = tool["type"] === "function" ? openaiChatWire.tools.decode(tool) : undefined;
  if (decoded === undefined) {
    losses.refuse(`only OpenAI has the tool ${stringOr(tool["type"], "without a type")}`);
    return [];
  }
  const { function: definition } = tool;
  return [{ ...decoded, isStrict: isObject(definition) && definition["strict"] === true }];
}

function readFormat(format: JsonValue | undefined, losses: Losses): NeutralRequest["format"] {
  if (!isObject(format) || format["type"] === "text") return undefined;
  const described = format["json_schema"];
  if (format["type"] !== "json_schema" || !isObject(described)) {
    losses.refuse(`it wants an answer of the form ${stringOr(format["type"], "?")}`);
    return undefined;
  }
  const schema = isObject(described["schema"]) ? described["schema"] : {};
  const name = stringOr(described["name"], "answer");
  return { name, schema, isStrict: described["strict"] === true };
}

const stopsMax = 4;

function writeRequest(request: NeutralRequest, to: WrittenFor, losses: Losses): JsonObject {
  const { system, messages, tools, stop, maxTokens, format } = request;
  if (hasImageInResult(messages)) losses.refuse("a tool's result contains an image");
  if (stop.length > stopsMax) losses.refuse(`it has more than ${stopsMax} stop sequences`);
  const head = system.length === 0 ? [] : [{ role: "system", content: system.join("\n\n") }];
  return {
    model: to.model,
    messages: [...head, ...openaiChatWire.messages.encode(messages, to.model)],
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(writeTool), ...writeOpenaiChoice(request, "chat") }),
    ...(maxTokens === undefined ? {} : { max_completion_tokens: maxTokens }),
    ...sampling(request, to, losses),
    ...(stop.length === 0 ? {} : { stop }),
    ...(format === undefined ? {} : { response_format: writeFormat(format) }),
    ...(request.isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

function writeTool({ isStrict, ...tool }: NeutralTool): JsonObject {
  const encoded = openaiChatWire.tools.encode({ ...tool, parameters: schemaOf(tool.parameters) });
  const { function: definition } = encoded;
  return isStrict && isObject(definition)
    ? { ...encoded, function: { ...definition, strict: true } }
    : encoded;
}

function writeFormat({
  name,
  schema,
  isStrict,
}: NonNullable<NeutralRequest["format"]>): JsonObject {
  const described = { name, schema, ...(isStrict ? { strict: true } : {}) };
  return { type: "json_schema", json_schema: described };
}

function openSteps(): (event: StreamEvent) => readonly AnswerStep[] {
  const sorter = createCallSorter();
  const begun = new Set<number>();
  return ({ data }) => {
    const chunk = data.trim() === "[DONE]" ? undefined : parseObject(data);
    const [choice] = listIn(chunk?.["choices"]);
    const delta = choice?.["delta"];
    if (!isObject(delta)) return [];
    const text = stringOr(delta["content"], "") + stringOr(delta["refusal"], "");
    const spoken: readonly AnswerStep[] = text === "" ? [] : [{ kind: "text", text }];
    const calls = listIn(delta["tool_calls"]).flatMap((call): readonly AnswerStep[] => {
      const place = sorter.callOf(call);
      const called = isObject(call["function"]) ? call["function"] : {};
      const input = stringOr(called["arguments"], "");
      const isNew = !begun.has(place);
      begun.add(place);
      const [id, name] = [stringOr(call["id"], ""), stringOr(called["name"], "")];
      return [
        ...(isNew ? [{ kind: "call", place, id, name } as const] : []),
        ...(input === "" ? [] : [{ kind: "input", place, text: input } as const]),
      ];
    });
    return [...spoken, ...calls];
  };
}

class Writer implements AnswerWriter {
  readonly #head: AnswerHead;
  #calls = -1;

  constructor(head: AnswerHead) {
    this.#head = head;
  }

  begin(): readonly StreamEvent[] {
    return [this.#chunk({ role: "assistant", content: "" })];
  }

  step(step: Parameters<AnswerWriter["step"]>[0]): readonly StreamEvent[] {
    switch (step.kind) {
      case "text":
        return [this.#chunk({ content: step.text })];
      case "call": {
        const { id, name } = step;
        this.#calls++;
        const called = { type: "function", function: { name, arguments: "" } };
        return [this.#chunk({ tool_calls: [{ index: this.#calls, id, ...called }] })];
      }
      case "input": {
        const called = { index: this.#calls, function: { arguments: step.text } };
        return [this.#chunk({ tool_calls: [called] })];
      }
    }
  }

  end({ stop, usage }: Parameters<AnswerWriter["end"]>[0]): readonly StreamEvent[] {
    const last = this.#chunk({}, finishReasons[stop]);
    const counted = this.#data({ choices: [], usage: usageOf(usage) });
    const done = { name: "", data: "[DONE]" };
    return this.#head.wantsUsage ? [last, counted, done] : [last, done];
  }

  #chunk(delta: JsonObject, finishReason: string | null = null): StreamEvent {
    return this.#data({ choices: [{ index: 0, delta, finish_reason: finishReason }] });
  }

  #data(fields: JsonObject): StreamEvent {
    const { id, model, createdAt } = this.#head;
    const head = { id: `chatcmpl-${id}`, object: "chat.completion.chunk", created: createdAt };
    return { name: "", data: JSON.stringify({ ...head, model, ...fields }) };
  }
}

function usageOf(usage: Usage | undefined): JsonObject {
  const {
    inputTokens = 0,
    outputTokens = 0,
    cacheReadTokens = 0,
    reasoningTokens = 0,
  } = usage ?? {};
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: numberOr(inputTokens + outputTokens, 0),
    prompt_tokens_details: { cached_tokens: cacheReadTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

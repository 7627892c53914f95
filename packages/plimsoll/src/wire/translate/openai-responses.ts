/** The OpenAI Responses wire, translated from and to other wires. */

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
import { openaiResponsesWire } from "../openai-responses/openai-responses.ts";
import { checkEnd, listIn, readMessages, withSystemFirst } from "./conversation.ts";
import {
  type AnswerHead,
  type AnswerStep,
  type AnswerWriter,
  checkFields,
  type Losses,
  type NeutralRequest,
  type NeutralTool,
  numberOf,
  schemaOf,
  settingsOf,
  type Translation,
  type WrittenFor,
} from "./neutral.ts";
import { readOpenaiChoice, sampling, writeOpenaiChoice } from "./openai-settings.ts";

const fields = {
  read: [
    ...["model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream"],
    ...["max_output_tokens", "temperature", "top_p", "text", "store", "background"],
  ],
  leftOut: [
    ...["metadata", "service_tier", "user", "safety_identifier", "prompt_cache_key", "include"],
    ...["prompt_cache_retention", "reasoning", "truncation", "stream_options", "client_metadata"],
  ],
};

export const responsesTranslation: Translation = {
  name: "openai-responses",
  readRequest,
  writeRequest,
  openSteps,
  stopOf: (reason, hasCalls) => {
    if (reason === "max_output_tokens") return "length";
    if (reason === "content_filter") return "refused";
    return hasCalls ? "calls" : "end";
  },
  openWriter: (head) => new Writer(head),
};

const known: ReadonlySet<string> = new Set([
  "message",
  "function_call",
  "function_call_output",
  "reasoning",
]);

function readRequest(body: JsonObject, losses: Losses): NeutralRequest {
  checkFields(body, fields, losses);
  if (body["store"] !== false)
    losses.refuse("its provider is to keep the answer (store is not false)");
  if (body["background"] === true) losses.refuse("it is to be answered in the background");
  const { input, instructions } = body;
  const items = typeof input === "string" ? [input] : listIn(input);
  for (const item of items) {
    const type = isObject(item) ? stringOr(item["type"], "message") : "message";
    if (!known.has(type)) losses.refuse(`only OpenAI has items of type ${type}`);
  }
  const { system, rest } = withSystemFirst(
    readMessages(openaiResponsesWire, items, losses),
    losses,
  );
  checkEnd(rest, losses);
  const first = typeof instructions === "string" && instructions !== "" ? [instructions] : [];
  const format = readFormat(body["text"], losses);
  return {
    system: [...first, ...system],
    messages: rest,
    tools: listIn(body["tools"]).flatMap((tool) => readTool(tool, losses)),
    choice: readOpenaiChoice(body["tool_choice"], losses),
    isSerial: body["parallel_tool_calls"] === false,
    isStream: body["stream"] === true,
    wantsUsage: true,
    ...settingsOf({
      maxTokens: numberOf(body["max_output_tokens"]),
      temperature: numberOf(body["temperature"]),
      topP: numberOf(body["top_p"]),
    }),
    stop: [],
    ...(format === undefined ? {} : { format }),
  };
}

function readTool(tool: JsonObject, losses: Losses): readonly NeutralTool[] {
  const decoded = tool["type"] === "function" ? openaiResponsesWire.tools.decode(tool) : undefined;
  if (decoded === undefined || tool["defer_loading"] === true) {
    const name = stringOr(tool["name"], stringOr(tool["type"], "without a name"));
    losses.refuse(`only OpenAI has the tool ${name}`);
    return [];
  }
  return [{ ...decoded, isStrict: tool["strict"] === true }];
}

function readFormat(text: JsonValue | undefined, losses: Losses): NeutralRequest["format"] {
  if (!isObject(text)) return undefined;
  if (text["verbosity"] !== undefined) losses.leaveOut("verbosity");
  const { format } = text;
  if (!isObject(format) || format["type"] === "text") return undefined;
  const { type, schema } = format;
  if (type !== "json_schema" || !isObject(schema)) {
    losses.refuse(`it wants an answer of the form ${stringOr(type, "?")}`);
    return undefined;
  }
  const name = stringOr(format["name"], "answer");
  return { name, schema, isStrict: format["strict"] === true };
}

function writeRequest(request: NeutralRequest, to: WrittenFor, losses: Losses): JsonObject {
  const { system, messages, tools, stop, maxTokens, format } = request;
  if (stop.length > 0) losses.refuse("it has stop sequences, which Responses does not have");
  return {
    model: to.model,
    input: openaiResponsesWire.messages.encode(messages, to.model),
    ...(system.length === 0 ? {} : { instructions: system.join("\n\n") }),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(writeTool), ...writeOpenaiChoice(request, "responses") }),
    ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
    ...sampling(request, to, losses),
    ...(format === undefined ? {} : { text: { format: writeFormat(format) } }),
    // What the client did not ask this provider to keep, it must not keep.
    store: false,
    ...(request.isStream ? { stream: true } : {}),
  };
}

function writeTool({ isStrict, ...tool }: NeutralTool): JsonObject {
  const encoded = openaiResponsesWire.tools.encode({
    ...tool,
    parameters: schemaOf(tool.parameters),
  });
  return isStrict ? { ...encoded, strict: true } : encoded;
}

function writeFormat({
  name,
  schema,
  isStrict,
}: NonNullable<NeutralRequest["format"]>): JsonObject {
  return { type: "json_schema", name, schema, ...(isStrict ? { strict: true } : {}) };
}

function openSteps(): (event: StreamEvent) => readonly AnswerStep[] {
  /** The calls whose arguments have begun to arrive in pieces. */
  const begun = new Set<number>();
  return ({ name, data }) => {
    const event = parseObject(data) ?? {};
    const type = stringOr(event["type"], name);
    const place = numberOr(event["output_index"], 0);
    const delta = stringOr(event["delta"], "");
    switch (type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        return [{ kind: "text", text: delta }];
      case "response.function_call_arguments.delta":
        begun.add(place);
        return [{ kind: "input", place, text: delta }];
      case "response.output_item.added":
        return isObject(event["item"]) ? begin(event["item"], place) : [];
      case "response.output_item.done": {
        const { item } = event;
        const input = isObject(item) ? stringOr(item["arguments"], "") : "";
        return input === "" || begun.has(place) ? [] : [{ kind: "input", place, text: input }];
      }
      default:
        return [];
    }
  };
}

function begin(item: JsonObject, place: number): readonly AnswerStep[] {
  const type = stringOr(item["type"], "?");
  if (type === "message" || type === "reasoning") return [];
  if (type !== "function_call") return [{ kind: "unknown", type }];
  return [
    { kind: "call", place, id: stringOr(item["call_id"], ""), name: stringOr(item["name"], "") },
  ];
}

type Item = Record<string, JsonValue>;

class Writer implements AnswerWriter {
  readonly #head: AnswerHead;
  readonly #output: Item[] = [];
  #text = "";
  #isOpen = false;
  #number = 0;

  constructor(head: AnswerHead) {
    this.#head = head;
  }

  begin(): readonly StreamEvent[] {
    const response = this.#response("in_progress", {});
    return [
      this.#event("response.created", { response }),
      this.#event("response.in_progress", { response }),
    ];
  }

  step(step: Parameters<AnswerWriter["step"]>[0]): readonly StreamEvent[] {
    switch (step.kind) {
      case "text": {
        const started =
          this.#item()?.["type"] === "message" && this.#isOpen ? [] : this.#startText();
        this.#text += step.text;
        const delta = { ...this.#part(), delta: step.text, logprobs: [] };
        return [...started, this.#event("response.output_text.delta", delta)];
      }
      case "call": {
        const { id, name } = step;
        return this.#start({
          type: "function_call",
          id: `fc_${this.#head.id}${this.#output.length + 1}`,
          call_id: id,
          name,
          arguments: "",
          status: "in_progress",
        });
      }
      case "input":
        this.#text += step.text;
        return [
          this.#event("response.function_call_arguments.delta", {
            ...this.#place(),
            delta: step.text,
          }),
        ];
    }
  }

  end({ stop, usage }: Parameters<AnswerWriter["end"]>[0]): readonly StreamEvent[] {
    const ended = this.#end();
    const isCut = stop === "length" || stop === "refused";
    const reason = stop === "length" ? "max_output_tokens" : "content_filter";
    const response = this.#response(isCut ? "incomplete" : "completed", {
      incomplete_details: isCut ? { reason } : null,
      usage: usageOf(usage),
    });
    const type = isCut ? "response.incomplete" : "response.completed";
    return [...ended, this.#event(type, { response })];
  }

  #item(): Item | undefined {
    return this.#output.at(-1);
  }

  #startText(): readonly StreamEvent[] {
    const started = this.#start({
      type: "message",
      id: `msg_${this.#head.id}${this.#output.length + 1}`,
      role: "assistant",
      status: "in_progress",
      content: [],
    });
    const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
    return [...started, this.#event("response.content_part.added", { ...this.#part(), part })];
  }

  #start(item: Item): readonly StreamEvent[] {
    const ended = this.#end();
    this.#output.push(item);
    this.#isOpen = true;
    this.#text = "";
    const { output_index } = this.#place();
    return [
      ...ended,
      this.#event("response.output_item.added", { output_index, item: { ...item } }),
    ];
  }

  #end(): readonly StreamEvent[] {
    const item = this.#item();
    if (item === undefined || !this.#isOpen) return [];
    this.#isOpen = false;
    item["status"] = "completed";
    const { output_index } = this.#place();
    const done = (): StreamEvent =>
      this.#event("response.output_item.done", { output_index, item: { ...item } });
    if (item["type"] === "function_call") {
      item["arguments"] = this.#text;
      const whole = { ...this.#place(), name: item["name"], arguments: this.#text };
      return [this.#event("response.function_call_arguments.done", whole), done()];
    }
    const part = { type: "output_text", text: this.#text, annotations: [], logprobs: [] };
    item["content"] = [part];
    return [
      this.#event("response.output_text.done", { ...this.#part(), text: this.#text, logprobs: [] }),
      this.#event("response.content_part.done", { ...this.#part(), part }),
      done(),
    ];
  }

  #place(): { readonly item_id: JsonValue; readonly output_index: number } {
    return { item_id: this.#item()?.["id"] ?? "", output_index: this.#output.length - 1 };
  }

  #part(): JsonObject {
    return { ...this.#place(), content_index: 0 };
  }

  #response(status: string, more: JsonObject): JsonObject {
    const { id, model, createdAt } = this.#head;
    const head = { id: `resp_${id}`, object: "response", created_at: createdAt, status, model };
    return {
      ...head,
      output: this.#output.map((item) => ({ ...item })),
      error: null,
      store: false,
      ...more,
    };
  }

  #event(type: string, fields: Record<string, JsonValue | undefined>): StreamEvent {
    const data = JSON.stringify({ type, sequence_number: this.#number, ...fields });
    this.#number++;
    return { name: type, data };
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
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cacheReadTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

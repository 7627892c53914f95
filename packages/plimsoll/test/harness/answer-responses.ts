/** Writes a scripted answer for the OpenAI Responses wire: the response object, or its typed events. */
import type {
  AnswerPart,
  CallPart,
  Frame,
  ReasoningPart,
  Reply,
  TextPart,
  Usage,
} from "./answer-parts.ts";
import { type JsonObject, objects } from "./json.ts";
import { hasClientSearch, wantsEncryptedReasoning } from "./responses-items.ts";

const CREATED_SECONDS = 1_790_000_000;
const ARGUMENT_DELTA_LENGTH = 7;

export function responseId(frame: Frame): string {
  return `resp_${String(frame.requestNumber).padStart(8, "0")}`;
}

/** The items of an answer, as the client should send them back. */
export function outputItems(answer: Reply, frame: Frame): readonly JsonObject[] {
  return answer.parts.map((part, index) => finishedItem(part, index, frame));
}

export function responseJson(answer: Reply, frame: Frame, usage: Usage): JsonObject {
  const cut = answer.stopReason === undefined ? null : { reason: answer.stopReason };
  return {
    ...responseFrame(frame),
    status: cut === null ? "completed" : "incomplete",
    incomplete_details: cut,
    output: outputItems(answer, frame),
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cached ?? 0 },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
      total_tokens: usage.input + usage.output,
    },
  };
}

export function responseEvents(answer: Reply, frame: Frame, usage: Usage): string[] {
  const response = responseJson(answer, frame, usage);
  const { status } = response;
  return numbered([
    ...openingEvents(frame),
    ...answer.parts.flatMap((part, index) => itemEvents(part, index, frame)),
    { type: `response.${String(status)}`, response },
  ]);
}

/** A stream that begins normally and then reports an error. */
export function failedEvents(error: JsonObject, frame: Frame): string[] {
  const response = { ...responseFrame(frame), status: "failed", error };
  return numbered([...openingEvents(frame), { type: "response.failed", response }]);
}

/** A response without any output yet. */
function responseFrame(frame: Frame): JsonObject {
  const { body } = frame;
  const { instructions, max_output_tokens: maxOutput, previous_response_id: previous } = body;
  const { store, tools } = body;
  return {
    id: responseId(frame),
    object: "response",
    created_at: CREATED_SECONDS,
    status: "in_progress",
    error: null,
    incomplete_details: null,
    instructions: instructions ?? null,
    max_output_tokens: maxOutput ?? null,
    model: frame.model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: previous ?? null,
    reasoning: { effort: "medium", summary: null },
    store: store !== false,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: objects<JsonObject>(tools),
    top_p: 1,
    truncation: "disabled",
    usage: null,
    user: null,
    metadata: {},
  };
}

function openingEvents(frame: Frame): JsonObject[] {
  const response = responseFrame(frame);
  return [
    { type: "response.created", response },
    { type: "response.in_progress", response },
  ];
}

/** Uses unusual padding, and a comment after the first event, so that a rewritten stream can be recognised. */
function numbered(events: readonly JsonObject[]): string[] {
  const [first = "", ...others] = events.map((event, index) => {
    const { type } = event;
    const json = JSON.stringify({ ...event, sequence_number: index });
    const padding = " ".repeat(json.length % 5);
    return `event: ${String(type)}\ndata: ${json.slice(0, -1)}${padding}}\n\n`;
  });
  return [first, ": keep-alive\n\n", ...others];
}

const ID_PREFIXES = { text: "msg", reasoning: "rs" } as const;

function callPrefix(part: CallPart, frame: Frame): string {
  if (isSearch(part, frame)) return "tsc";
  return part.isCustom === true ? "ctc" : "fc";
}

/** If the request has the wire's own tool search, a call of it is a special item. */
function isSearch({ name }: CallPart, { body }: Frame): boolean {
  return name === "tool_search" && hasClientSearch(body);
}

/** The arguments of a call as text. */
export function argumentsOf({ input, rawInput }: CallPart): string {
  return rawInput ?? JSON.stringify(input);
}

/** The id of the item for a part at this place. */
export function itemId(part: AnswerPart, index: number, frame: Frame): string {
  if (part.itemId !== undefined) return part.itemId;
  const prefix = part.kind === "call" ? callPrefix(part, frame) : ID_PREFIXES[part.kind];
  return `${prefix}_${String(frame.requestNumber).padStart(8, "0")}_${index}`;
}

function finishedItem(part: AnswerPart, index: number, frame: Frame): JsonObject {
  const id = itemId(part, index, frame);
  switch (part.kind) {
    case "text":
      return { ...messageItem(id, "completed"), content: [outputText(part.chunks.join(""))] };
    case "reasoning":
      return {
        id,
        type: "reasoning",
        summary: [summaryText(part.chunks.join(""))],
        ...(wantsEncryptedReasoning(frame.body)
          ? { encrypted_content: encryptedContent(part, id) }
          : {}),
      };
    case "call":
      return isSearch(part, frame)
        ? searchItem(part, id, { status: "completed", input: part.input })
        : callItem(part, id, { status: "completed", input: argumentsOf(part) });
  }
}

/** Looks like the provider's encrypted content, and differs for each item. */
function encryptedContent({ signature }: ReasoningPart, id: string): string {
  return `gAAAAAB${Buffer.from(`${id} ${signature}`).toString("base64url")}`;
}

function messageItem(id: string, status: string): JsonObject {
  return { id, type: "message", status, role: "assistant", content: [] };
}

function outputText(text: string): JsonObject {
  return { type: "output_text", annotations: [], logprobs: [], text };
}

function summaryText(text: string): JsonObject {
  return { type: "summary_text", text };
}

function callItem(
  part: CallPart,
  id: string,
  { status, input }: { readonly status: string; readonly input: string },
): JsonObject {
  const { id: callId, name } = part;
  return part.isCustom === true
    ? { id, type: "custom_tool_call", status, call_id: callId, input, name }
    : { id, type: "function_call", status, arguments: input, call_id: callId, name };
}

function searchItem(
  part: CallPart,
  id: string,
  { status, input }: { readonly status: string; readonly input: JsonObject },
): JsonObject {
  return {
    id,
    type: "tool_search_call",
    status,
    arguments: input,
    call_id: part.id,
    execution: "client",
  };
}

function itemEvents(part: AnswerPart, index: number, frame: Frame): JsonObject[] {
  const id = itemId(part, index, frame);
  const done = finishedItem(part, index, frame);
  return [
    { type: "response.output_item.added", output_index: index, item: startedItem(part, id, frame) },
    ...contentEvents(part, frame, { item_id: id, output_index: index }),
    { type: "response.output_item.done", output_index: index, item: done },
  ];
}

function startedItem(part: AnswerPart, id: string, frame: Frame): JsonObject {
  switch (part.kind) {
    case "text":
      return messageItem(id, "in_progress");
    case "reasoning":
      return { id, type: "reasoning", summary: [] };
    case "call":
      return isSearch(part, frame)
        ? searchItem(part, id, { status: "in_progress", input: {} })
        : callItem(part, id, { status: "in_progress", input: "" });
  }
}

function contentEvents(part: AnswerPart, frame: Frame, place: JsonObject): JsonObject[] {
  switch (part.kind) {
    case "text":
      return textEvents(part, { ...place, content_index: 0 });
    case "reasoning":
      return summaryEvents(part, { ...place, summary_index: 0 });
    case "call":
      return isSearch(part, frame) ? [] : argumentEvents(part, place);
  }
}

function textEvents(part: TextPart, place: JsonObject): JsonObject[] {
  const text = part.chunks.join("");
  return [
    { type: "response.content_part.added", ...place, part: outputText("") },
    ...part.chunks.map((delta) => ({
      type: "response.output_text.delta",
      ...place,
      delta,
      logprobs: [],
    })),
    { type: "response.output_text.done", ...place, text, logprobs: [] },
    { type: "response.content_part.done", ...place, part: outputText(text) },
  ];
}

function summaryEvents(part: ReasoningPart, place: JsonObject): JsonObject[] {
  const text = part.chunks.join("");
  return [
    { type: "response.reasoning_summary_part.added", ...place, part: summaryText("") },
    ...part.chunks.map((delta) => ({
      type: "response.reasoning_summary_text.delta",
      ...place,
      delta,
    })),
    { type: "response.reasoning_summary_text.done", ...place, text },
    { type: "response.reasoning_summary_part.done", ...place, part: summaryText(text) },
  ];
}

function argumentEvents(part: CallPart, place: JsonObject): JsonObject[] {
  const whole = argumentsOf(part);
  const pieces = whole.match(new RegExp(`[^]{1,${ARGUMENT_DELTA_LENGTH}}`, "g")) ?? [];
  if (part.isCustom === true) {
    const type = "response.custom_tool_call_input";
    return [
      ...pieces.map((delta) => ({ type: `${type}.delta`, ...place, delta })),
      { type: `${type}.done`, ...place, input: whole },
    ];
  }
  return [
    ...pieces.map((delta) => ({
      type: "response.function_call_arguments.delta",
      ...place,
      delta,
    })),
    {
      type: "response.function_call_arguments.done",
      ...place,
      name: part.name,
      arguments: whole,
    },
  ];
}

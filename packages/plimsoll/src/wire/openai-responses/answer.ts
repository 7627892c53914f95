/** Reads answers of the OpenAI Responses wire, from a stream of typed events or from one JSON body. */

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
import type {
  Answer,
  AnswerAccumulator,
  AnswerError,
  Progress,
  WireAnswer,
} from "../format/wire.ts";

const cutShort = new Set(["max_output_tokens", "content_filter"]);

export const responsesAnswer: WireAnswer = {
  open: openAnswer,
  read: readAnswer,
  isCutShort: ({ stopReason }) => cutShort.has(stopReason ?? ""),
  repeatable: (items) =>
    items.filter(
      ({ type, encrypted_content: sealed }) => type !== "reasoning" || typeof sealed === "string",
    ),
};

type Fields = Record<string, JsonValue | undefined>;

interface State {
  /** The response object of the last event that contained one. `finish` replaces its output with `items`. */
  response: Fields | undefined;
  items: Map<number, Fields>;
  error: AnswerError | undefined;
  hasEnded: boolean;
}

/** Maximum number of items, parts or commands. No provider sends as many. A higher index is ignored. */
const maxIndex = 4096;

function openAnswer(): AnswerAccumulator {
  const state: State = { response: undefined, items: new Map(), error: undefined, hasEnded: false };
  return {
    take: ({ name, data }) => {
      const event = parseObject(data);
      return event === undefined ? progressOf(state) : takeEvent(state, name, event);
    },
    finish: () => finish(state),
  };
}

function progressOf({ items }: State): Progress {
  return items.size === 0 ? "opening" : "content";
}

/** Streams without `event:` lines work too, because the type is also in the JSON. */
function takeEvent(state: State, name: string, event: JsonObject): Progress {
  const type = stringOr(event["type"], name);
  switch (type) {
    case "response.created":
    case "response.queued":
    case "response.in_progress":
      takeSnapshot(state, event["response"]);
      break;
    case "response.failed":
      state.error = readError(isObject(event["response"]) ? event["response"]["error"] : event);
      takeSnapshot(state, event["response"]);
      return "terminal";
    case "response.completed":
    case "response.incomplete":
      takeSnapshot(state, event["response"]);
      state.hasEnded = true;
      return "terminal";
    case "response.output_item.added":
    case "response.output_item.done":
      takeItem(state, event);
      break;
    default:
      if (type === "error" || (type === "" && isObject(event["error"]))) {
        state.error = readError(event["error"] ?? event);
        return "terminal";
      }
      takeChange(state.items.get(numberOr(event["output_index"], -1)), type, event);
  }
  return progressOf(state);
}

/**
 * ChatGPT's own backend and some gateways end a stream with an empty `output` (BerriAI/litellm#32724). The streamed items are
 * then the answer.
 */
function takeSnapshot(state: State, response: JsonValue | undefined): void {
  if (!isObject(response)) return;
  state.response = { ...response };
  const { output } = response;
  if (!Array.isArray(output) || output.length === 0) return;
  const items = output.filter(isObject).map((item, index) => [index, { ...item }] as const);
  state.items = new Map(items);
}

function takeItem(state: State, event: JsonObject): void {
  const index = numberOr(event["output_index"], state.items.size);
  const { item } = event;
  if (isObject(item) && index >= 0 && index <= maxIndex) state.items.set(index, { ...item });
}

interface Growing {
  readonly field: string;
  /**
   * Name of the list that contains the growing part, and the type of that part. Both are absent if the field grows in the item
   * itself.
   */
  readonly list?: string;
  readonly part?: string;
}

/** Fields that grow with `.delta` events until a `.done` event gives the whole text. */
const growing: ReadonlyMap<string, Growing> = new Map([
  ["response.output_text", { field: "text", list: "content", part: "output_text" }],
  ["response.refusal", { field: "refusal", list: "content", part: "refusal" }],
  ["response.reasoning_text", { field: "text", list: "content", part: "reasoning_text" }],
  ["response.reasoning_summary_text", { field: "text", list: "summary", part: "summary_text" }],
  ["response.function_call_arguments", { field: "arguments" }],
  ["response.mcp_call_arguments", { field: "arguments" }],
  ["response.custom_tool_call_input", { field: "input" }],
  ["response.code_interpreter_call_code", { field: "code" }],
]);

function takeChange(item: Fields | undefined, type: string, event: JsonObject): void {
  if (item === undefined) return;
  const dot = type.lastIndexOf(".");
  const [subject, verb] = [type.slice(0, dot), type.slice(dot + 1)];
  const grown = growing.get(subject);
  if (grown !== undefined) {
    grow(item, grown, verb, event);
    return;
  }
  switch (subject) {
    case "response.content_part":
      putPart(item, "content", event["content_index"], event["part"]);
      return;
    case "response.reasoning_summary_part":
      putPart(item, "summary", event["summary_index"], event["part"]);
      return;
    case "response.output_text.annotation":
      addAnnotation(item, event);
      return;
    case "response.shell_call_command":
      takeCommand(item, verb, event);
      return;
    case "response.shell_call_output_content":
      takeShellOutput(item, verb, event);
      return;
    default:
      if (subject === `response.${item["type"]}` && statuses.has(verb)) item["status"] = verb;
  }
}

const statuses = new Set([
  "in_progress",
  "searching",
  "interpreting",
  "generating",
  "completed",
  "failed",
]);

function grow(item: Fields, { field, list, part }: Growing, verb: string, event: JsonObject): void {
  const index = list === "summary" ? event["summary_index"] : event["content_index"];
  const holder =
    list === undefined ? item : partAt(item, { list, index, fresh: { type: part, [field]: "" } });
  if (holder === undefined) return;
  if (verb === "delta") holder[field] = stringOr(holder[field], "") + stringOr(event["delta"], "");
  else if (typeof event[field] === "string") holder[field] = event[field];
}

interface PartSought {
  readonly list: string;
  readonly index: JsonValue | undefined;
  /** The part to create if it does not exist yet. Some servers send the text of a part without announcing the part first. */
  readonly fresh: Fields;
}

function partAt(item: Fields, { list, index, fresh }: PartSought): Fields | undefined {
  const parts = listOf(item, list);
  const place = numberOr(index, 0);
  if (!isPlace(parts, place)) return undefined;
  parts[place] ??= fresh;
  const part = parts[place];
  return isObject(part) ? part : undefined;
}

/** A list inside an item. The list may grow in place, because only this reader uses the item. */
function listOf(item: Fields, field: string): (JsonValue | undefined)[] {
  const known = item[field];
  if (Array.isArray(known)) return known as JsonValue[];
  const list: JsonValue[] = [];
  item[field] = list;
  return list;
}

/** Whether the index is in the list, or directly after its end. A list grows only at its end. */
function isPlace(list: readonly unknown[], index: number): boolean {
  return Number.isInteger(index) && index >= 0 && index <= list.length && index <= maxIndex;
}

function putPart(
  item: Fields,
  field: string,
  index: JsonValue | undefined,
  part: JsonValue | undefined,
): void {
  const parts = listOf(item, field);
  const place = numberOr(index, parts.length);
  if (isObject(part) && isPlace(parts, place)) parts[place] = { ...part };
}

function addAnnotation(item: Fields, event: JsonObject): void {
  const fresh = { type: "output_text", text: "" };
  const part = partAt(item, { list: "content", index: event["content_index"], fresh });
  const { annotation } = event;
  if (part === undefined || annotation === undefined) return;
  const annotations = listOf(part, "annotations");
  const place = numberOr(event["annotation_index"], annotations.length);
  if (isPlace(annotations, place)) annotations[place] = annotation;
}

function takeCommand(item: Fields, verb: string, event: JsonObject): void {
  const action: Fields = isObject(item["action"]) ? item["action"] : {};
  item["action"] = action;
  const commands = listOf(action, "commands");
  const place = numberOr(event["command_index"], 0);
  if (!isPlace(commands, place)) return;
  commands[place] =
    verb === "delta"
      ? stringOr(commands[place], "") + stringOr(event["delta"], "")
      : stringOr(event["command"], "");
}

function takeShellOutput(item: Fields, verb: string, event: JsonObject): void {
  const whole = Array.isArray(event["output"]) ? event["output"][0] : undefined;
  if (verb === "done") {
    putPart(item, "output", event["command_index"], whole);
    return;
  }
  const fresh = { stdout: "", stderr: "", outcome: { type: "exit", exit_code: 0 } };
  const entry = partAt(item, { list: "output", index: event["command_index"], fresh });
  const { delta } = event;
  if (entry === undefined || !isObject(delta)) return;
  for (const field of ["stdout", "stderr"])
    entry[field] = stringOr(entry[field], "") + stringOr(delta[field], "");
}

/** Prefers `code` to `type`, because `type` is `error` or the same for most errors. */
function readError(error: JsonValue | undefined): AnswerError {
  if (!isObject(error)) return { type: "error", message: stringOr(error, "") };
  return {
    type: stringOr(error["code"], stringOr(error["type"], "error")),
    message: stringOr(error["message"], ""),
  };
}

function finish(state: State): Answer {
  const output = [...state.items.entries()]
    .sort(([left], [right]) => left - right)
    .map(([, item]) => item);
  const isEmpty = state.response === undefined && output.length === 0;
  const answer = isEmpty ? { choices: [] } : readResponse({ ...state.response, output });
  if (state.error !== undefined) return { ...answer, outcome: "error", error: state.error };
  return { ...answer, outcome: state.hasEnded ? "message" : "cut" };
}

/** Statuses of incomplete responses, which still run in the background or were cancelled there. */
const unfinished = new Set(["queued", "in_progress", "cancelled"]);

function readAnswer(response: JsonValue): Answer {
  if (!isObject(response)) return { outcome: "unread", choices: [] };
  const { error, output, status } = response;
  const answer = Array.isArray(output) ? readResponse(response) : { choices: [] };
  const hasFailed = status === "failed" || (error !== undefined && error !== null);
  if (hasFailed) return { ...answer, outcome: "error", error: readError(error) };
  if (!Array.isArray(output)) return { outcome: "unread", choices: [] };
  return { ...answer, outcome: unfinished.has(stringOr(status, "")) ? "cut" : "message" };
}

function readResponse(response: JsonObject): Omit<Answer, "outcome"> {
  const output = Array.isArray(response["output"]) ? response["output"].filter(isObject) : [];
  const usage = readUsage(response["usage"]);
  const details = response["incomplete_details"];
  const stopReason = isObject(details) ? details["reason"] : undefined;
  return {
    response,
    choices: output.length === 0 ? [] : [output.map(withoutHelperFields)],
    ...(usage === undefined ? {} : { usage }),
    ...(typeof stopReason === "string" ? { stopReason } : {}),
  };
}

/** Removes fields that the provider's client library adds to an item. The provider refuses these fields in a request. */
function withoutHelperFields(item: JsonObject): JsonObject {
  const { parsed_arguments: _arguments, ...rest } = item;
  const { content } = rest;
  if (!Array.isArray(content)) return rest;
  const parts = content.map((part) => {
    if (!isObject(part)) return part;
    const { parsed: _parsed, ...plain } = part;
    return plain;
  });
  return { ...rest, content: parts };
}

function readUsage(usage: JsonValue | undefined): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const input = isObject(usage["input_tokens_details"]) ? usage["input_tokens_details"] : {};
  const output = isObject(usage["output_tokens_details"]) ? usage["output_tokens_details"] : {};
  return usageFrom({
    input: [usage["input_tokens"]],
    output: [usage["output_tokens"]],
    cacheRead: tokenFigure(input["cached_tokens"]) ?? 0,
    cacheWrite: input["cache_write_tokens"],
    reasoning: tokenFigure(output["reasoning_tokens"]) ?? 0,
  });
}

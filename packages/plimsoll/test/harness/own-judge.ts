/**
 * Checks a request with Plimsoll's own tools like a provider: every own call in the history has a result and its
 * tool is in `tools`; no two tools have the same name. Written from decision 7, independently of the product.
 */
import {
  callsOf,
  contentsIn,
  declarationsIn,
  idsOf,
  type Named,
  responsesOf,
  resultText,
} from "./gemini-contents.ts";
import { isObject, isString, type Json, type JsonObject, objects, type Wire } from "./json.ts";
import { type Finding, repeated } from "./judge.ts";
import { inputItems, itemType } from "./responses-items.ts";

const OWN_NAME = /^(?:plimsoll\d*_)?(?:read_result|recall|compact_context|tool_search)$/;

export function isOwnName(name: string): boolean {
  return OWN_NAME.test(name);
}

/** The item types of Responses that may be own calls. */
const CALL_TYPES = ["function_call", "tool_search_call"];
const ANSWER_TYPES = ["function_call_output", "tool_search_output"];

interface Called {
  readonly id: string;
  readonly name: string;
}
interface Block {
  readonly type?: unknown;
  readonly id?: unknown;
  readonly name?: unknown;
  readonly function?: unknown;
  readonly tool_use_id?: unknown;
  readonly tool_call_id?: unknown;
  readonly tool_calls?: unknown;
  readonly tools?: unknown;
  readonly content?: unknown;
}

/** The names of a request's tools, in order. On Responses, includes tools in items of the conversation. */
export function toolNamesIn(wire: Wire, { tools, input }: JsonObject): readonly string[] {
  const brought = wire === "openai-responses" ? inputItems(input).filter(isBringingTools) : [];
  return [tools, ...brought.map((item) => item["tools"])].flatMap((list) => namesIn(wire, list));
}

function isBringingTools(item: JsonObject): boolean {
  return itemType(item) === "additional_tools";
}

function namesIn(wire: Wire, tools: unknown): readonly string[] {
  if (wire === "gemini") return declarationsIn(tools).map(({ name }) => String(name));
  return objects<Block>(tools).flatMap((tool) => {
    if (tool.type === "namespace") return namesIn(wire, tool.tools);
    const { name }: Block =
      wire === "openai-chat" ? (isObject(tool.function) ? tool.function : {}) : tool;
    return isString(name) ? [name] : [];
  });
}

/** Every call in the history of a request. */
export function callsIn(wire: Wire, body: JsonObject): readonly Called[] {
  const { messages, input } = body;
  switch (wire) {
    case "anthropic":
      return blocksIn(messages, "tool_use").map(({ id, name }) => named(id, name));
    case "openai-chat":
      return objects<Block>(messages)
        .flatMap(({ tool_calls: calls }) => objects<Block>(calls))
        .map(({ id, function: called }) => named(id, isObject(called) ? called["name"] : ""));
    case "openai-responses":
      return inputItems(input)
        .filter((item) => CALL_TYPES.includes(itemType(item)))
        .map((item) => named(item["call_id"], item["name"] ?? "tool_search"));
    case "gemini":
      return contentsIn(body).flatMap((content, index) =>
        placed(callsOf(content), index).map(([id, { name }]) => named(id, name)),
      );
  }
}

/** Each call or result with its id, or with its place in the conversation if it has none. */
function placed(calls: readonly Named[], index: number): readonly (readonly [string, Named])[] {
  const ids = idsOf(calls);
  return calls.map((called, at) => [
    isString(called.id) ? called.id : `${index}/${ids[at] ?? ""}`,
    called,
  ]);
}

function named(id: unknown, name: unknown): Called {
  return { id: String(id), name: String(name) };
}

function blocksIn(messages: unknown, type: string): readonly Block[] {
  return objects<Block>(messages)
    .flatMap(({ content }) => objects<Block>(content))
    .filter((block) => block.type === type);
}

export interface Answered {
  readonly id: string;
  readonly text: string;
}

/** Every result in the history of a request, as text. */
export function resultsIn(wire: Wire, body: JsonObject): readonly Answered[] {
  const { messages, input } = body;
  switch (wire) {
    case "anthropic":
      return blocksIn(messages, "tool_result").map(({ tool_use_id: id, content }) => ({
        id: String(id),
        text: textOf(content),
      }));
    case "openai-chat":
      return objects<Block>(messages)
        .filter(({ tool_call_id: id }) => id !== undefined)
        .map(({ tool_call_id: id, content }) => ({ id: String(id), text: textOf(content) }));
    case "openai-responses":
      return inputItems(input)
        .filter((item) => ANSWER_TYPES.includes(itemType(item)))
        .map((item) => ({
          id: String(item["call_id"]),
          text:
            item["tools"] === undefined ? textOf(item["output"]) : JSON.stringify(item["tools"]),
        }));
    case "gemini":
      // The results of a content belong to the calls of the content before it.
      return contentsIn(body).flatMap((content, index) =>
        placed(responsesOf(content), index - 1).map(([id, given]) => ({
          id,
          text: resultText(given),
        })),
      );
  }
}

/**
 * The results of calls that were made in one answer, in the order of the calls: all results with the call's id. A call of
 * an older Gemini model has no id. Its result is in the last content with results, at its place among those of its name.
 */
export function resultsFor(
  wire: Wire,
  body: JsonObject,
  calls: readonly Called[],
): readonly (readonly string[])[] {
  const all = resultsIn(wire, body);
  const last = contentsIn(body).findLast((content) => responsesOf(content).length > 0);
  return calls.map(({ id, name }, index) => {
    const found = all.filter((result) => result.id === id);
    if (found.length > 0 || wire !== "gemini") return found.map(({ text }) => text);
    const place = calls.slice(0, index).filter((other) => other.name === name).length;
    const given = responsesOf(last).filter((result) => result.name === name)[place];
    return given === undefined || given.id !== undefined ? [] : [resultText(given)];
  });
}

function textOf(content: unknown): string {
  if (isString(content)) return content;
  return objects<{ readonly text?: Json }>(content)
    .map(({ text }) => (isString(text) ? text : ""))
    .join("");
}

/** Tools that the conversation only names. Their definitions must be in the list. */
function referencedIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(referencedIn);
  if (!isObject(value)) return [];
  if (value["type"] === "tool_reference") return [String(value["tool_name"])];
  return Object.values(value).flatMap(referencedIn);
}

export function judgeOwn(wire: Wire, body: JsonObject): readonly Finding[] {
  const hasSearch = objects<Block>(body["tools"]).some(({ type }) => type === "tool_search");
  const tools = [...toolNamesIn(wire, body), ...(hasSearch ? ["tool_search"] : [])];
  const answered = new Set(resultsIn(wire, body).map(({ id }) => id));
  const own = callsIn(wire, body).filter(({ name }) => isOwnName(name));
  return [
    ...repeated(tools).map((name) => ({ rule: "O1", message: `Two tools are called ${name}.` })),
    ...referencedIn(body["messages"])
      .filter((name) => !tools.includes(name))
      .map((name) => ({ rule: "O4", message: `The tool ${name} was found, and is not there.` })),
    ...own
      .filter(({ name }) => !tools.includes(name))
      .map(({ name }) => ({ rule: "O2", message: `${name} was called, and is no tool here.` })),
    ...own
      .filter(({ id }) => !answered.has(id))
      .map(({ id, name }) => ({ rule: "O3", message: `The call ${id} of ${name} has no result.` })),
  ];
}

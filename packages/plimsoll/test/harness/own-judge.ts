/**
 * What a provider would find wrong with tools that the client does not know of: every such call in the history is answered,
 * and stands in `tools`; no two tools have one name. Written from the decision, independently of the product.
 */
import { isObject, isString, type Json, type JsonObject, objects, type Wire } from "./json.ts";
import { type Finding, repeated } from "./judge.ts";
import { inputItems, itemType } from "./responses-items.ts";

const OWN_NAME = /^(?:plimsoll\d*_)?(?:read_result|recall|compact_context|tool_search)$/;

export function isOwnName(name: string): boolean {
  return OWN_NAME.test(name);
}

/** Of Responses, those that may be ours. */
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
  readonly content?: unknown;
}

/** The names of a request's tools, in their order. */
export function toolNamesIn(wire: Wire, body: JsonObject): readonly string[] {
  return toolsIn(body).flatMap((tool) => {
    const { name }: Block =
      wire === "openai-chat" ? (isObject(tool.function) ? tool.function : {}) : tool;
    return isString(name) ? [name] : [];
  });
}

/** Those of the request, and those that an item of its input brings. */
function toolsIn({ tools, input }: JsonObject): readonly Block[] {
  const brought = inputItems(input)
    .filter((item) => itemType(item) === "additional_tools")
    .flatMap((item) => objects<Block>(item["tools"]));
  return [...objects<Block>(tools), ...brought];
}

/** Every call in the history of a request. */
export function callsIn(wire: Wire, { messages, input }: JsonObject): readonly Called[] {
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
  }
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
export function resultsIn(wire: Wire, { messages, input }: JsonObject): readonly Answered[] {
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
  }
}

function textOf(content: unknown): string {
  if (isString(content)) return content;
  return objects<{ readonly text?: Json }>(content)
    .map(({ text }) => (isString(text) ? text : ""))
    .join("");
}

/** Tools that the conversation only names: they must be there to be told. */
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

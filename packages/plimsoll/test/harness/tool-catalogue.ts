/** Tool catalogues of MCP clients, in the form of each wire, and the tools that a model can see in a request. */
import { isObject, type JsonObject, objects, type Wire } from "./json.ts";
import { toolNamesIn } from "./own-judge.ts";
import { inputItems, itemType } from "./responses-items.ts";

export interface GivenTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
}

const THINGS = ["invoice", "calendar", "issue", "branch", "wallet", "playlist", "flight", "parcel"];
const ACTS = ["create", "list", "delete", "update", "search", "archive", "export", "approve"];

/** This many tools, eight for each server. */
export function mcpTools(count: number, from = 0): readonly GivenTool[] {
  return Array.from({ length: count }, (_, offset) => {
    const number = from + offset;
    const thing = THINGS[Math.floor(number / ACTS.length) % THINGS.length] ?? "";
    const act = ACTS[number % ACTS.length] ?? "";
    const server = `${thing}s${Math.floor(number / (ACTS.length * THINGS.length))}`;
    return {
      name: `mcp__${server}__${act}_${thing}`,
      description: `${act} one ${thing} of the account that is signed in to ${server}, with everything that belongs to it.`,
      parameters: {
        type: "object",
        properties: {
          [`${thing}_id`]: { type: "string", description: `Which ${thing} is meant.` },
          reason: { type: "string", description: "Why this is done; it is kept for the audit." },
        },
        required: [`${thing}_id`],
      },
    };
  });
}

export const BUILT_INS: readonly GivenTool[] = ["read_file", "write_file", "run_command"].map(
  (name) => ({
    name,
    description: `The client's own ${name}.`,
    parameters: { type: "object", properties: { path: { type: "string" } } },
  }),
);

/** The single tools. On Gemini, they are in one element of `tools`. */
export function onWire(wire: Wire, tools: readonly GivenTool[]): JsonObject[] {
  return tools.map(({ name, description, parameters }) => {
    if (wire === "gemini") return { name, description, parametersJsonSchema: parameters };
    if (wire === "anthropic") return { name, description, input_schema: parameters };
    if (wire === "openai-responses") return { type: "function", name, description, parameters };
    return { type: "function", function: { name, description, parameters } };
  });
}

/** The `tools` of a request with these tools. */
export function toolsField(wire: Wire, tools: readonly GivenTool[]): JsonObject[] {
  const single = onWire(wire, tools);
  return wire === "gemini" ? [{ functionDeclarations: single }] : single;
}

/** The tools that the model can call: the listed tools, and those that a search has found since. */
export function callableIn(wire: Wire, body: JsonObject): ReadonlySet<string> {
  const held = objects<{ readonly name?: unknown; readonly defer_loading?: unknown }>(body["tools"])
    .filter((tool) => tool.defer_loading === true)
    .map(({ name }) => String(name));
  const named = new Set<string>();
  const look = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) look(item);
    if (!isObject(value)) return;
    if (value["type"] === "tool_reference") named.add(String(value["tool_name"]));
    for (const field of Object.values(value)) look(field);
  };
  look(body["messages"]);
  const brought = inputItems(body["input"])
    .filter((item) => itemType(item) === "tool_search_output")
    .flatMap((item) => toolNamesIn(wire, item));
  const told = toolNamesIn(wire, body).filter((name) => !held.includes(name) || named.has(name));
  return new Set([...told, ...brought]);
}

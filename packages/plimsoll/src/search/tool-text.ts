/** The searchable texts of a tool's definition, cut to a size that works for a catalogue of thousands. */

import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";
import { mcpNamesIn } from "./mcp-names.ts";

export interface ToolText {
  /** The name of the tool without the name of its server. */
  readonly name: string;
  readonly description: string;
  /** Names, titles, descriptions and enum values of the parameters. Outer parameters come first. */
  readonly parameters: string;
  readonly server: string;
  readonly serverDescription: string;
}

/**
 * Maximum number of characters of a name or a description. Most of them have fewer than 500 characters, and longer texts add
 * nothing new.
 */
const textCharsMax = 4_000;
/** Maximum number of characters of all parameters of a tool together. */
const parameterCharsMax = 8_000;
/** Maximum number of values read from one schema, so that a schema of a megabyte takes no longer than a schema of a few pages. */
const nodesMax = 2_000;

/** Reads names that are clear without the rest of their list. */
const readName = mcpNamesIn([]);

/** Returns at most `charsMax` characters. The texts that say most about a tool come first. */
export function toolTextOf(tool: SearchedTool, charsMax = Number.POSITIVE_INFINITY): ToolText {
  let room = charsMax;
  const take = (text: string): string => {
    room -= text.length;
    return text;
  };
  const split = splitName(tool);
  const name = take(cut(split.name, room));
  const description = take(cut(tool.description ?? "", room));
  const server = take(cut(split.server, room));
  const parameters = take(parameterText(tool.parameters, Math.min(room, parameterCharsMax)));
  const serverDescription = cut(tool.serverDescription ?? "", room);
  return { name, description, parameters, server, serverDescription };
}

function cut(text: string, room = textCharsMax): string {
  return text.slice(0, Math.min(textCharsMax, room));
}

function splitName(tool: SearchedTool): { readonly server: string; readonly name: string } {
  const known = readName(cut(tool.name));
  const server = tool.server ?? known?.server ?? "";
  const name = known?.tool ?? tool.name;
  const isPrefixed =
    server !== "" && name.startsWith(server) && /^[/:._-]/u.test(name.slice(server.length));
  return { server, name: isPrefixed ? name.slice(server.length + 1) : name };
}

/** Receives the texts and the nested values of a schema. */
interface Reader {
  addText(value: JsonValue | undefined): void;
  follow(value: JsonValue | undefined): void;
}

/** Reads breadth first, with a queue instead of recursion, because a schema may be nested to any depth. */
function parameterText(parameters: JsonValue | undefined, charsMax: number): string {
  const texts: string[] = [];
  let room = charsMax;
  const queue: (JsonValue | undefined)[] = [parameters];
  const reader: Reader = {
    addText: (text) => {
      if (room <= 0 || typeof text !== "string" || text === "") return;
      texts.push(text.slice(0, room));
      room -= text.length + 1;
    },
    follow: (value) => {
      if (typeof value === "object" && value !== null && queue.length < nodesMax) queue.push(value);
    },
  };
  for (let at = 0; at < queue.length && room > 0; at++) readNode(queue[at], reader);
  return texts.join("\n");
}

function readNode(node: JsonValue | undefined, reader: Reader): void {
  if (Array.isArray(node)) for (const item of node.slice(0, nodesMax)) reader.follow(item);
  if (!isObject(node)) return;
  for (const [key, value] of entriesOf(node)) {
    if (key === "properties" && isObject(value)) readProperties(value, reader);
    else if (key === "enum" && Array.isArray(value))
      value.slice(0, nodesMax).forEach(reader.addText);
    else if (key === "description" || key === "title") reader.addText(value);
    else reader.follow(value);
  }
}

function readProperties(properties: JsonObject, reader: Reader): void {
  for (const [name, schema] of entriesOf(properties)) {
    reader.addText(name);
    reader.follow(schema);
  }
}

/** Unlike `Object.entries`, this does not copy a million keys before it reads the first. */
function* entriesOf(object: JsonObject): Generator<readonly [string, JsonValue | undefined]> {
  let visited = 0;
  for (const key in object) {
    if (++visited > nodesMax) return;
    yield [key, object[key]];
  }
}

export interface SearchedTool {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema. From any other value, only the parts that look like JSON Schema are read. */
  readonly parameters?: JsonValue;
  readonly server?: string;
  readonly serverDescription?: string;
}

/** What a tool is found by: the texts of its definition, cut to a size that a catalogue of thousands can bear. */

import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";

export interface ToolText {
  /** Without the server, if that stands in it. */
  readonly name: string;
  readonly description: string;
  /** Names, titles, descriptions and values to choose from, the outer ones first. */
  readonly parameters: string;
  readonly server: string;
  readonly serverDescription: string;
}

/** A name or a description that is longer says nothing new: most have below 500 characters. */
const textCharsMax = 4_000;
/** All parameters of one tool together. */
const parameterCharsMax = 8_000;
/** Values of one schema that are looked at, so that a schema of a megabyte costs as little as one of some pages. */
const nodesMax = 2_000;

/** MCP clients put the server before the tool: mcp__server__tool. */
const mcpName = /^mcp__(.+?)__(.+)$/su;

/** The server that a tool's name tells; undefined where it tells none. */
export function serverOf(name: string): string | undefined {
  return mcpName.exec(cut(name))?.[1];
}

/** Of at most `charsMax` characters; what says most about a tool comes first. */
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
  const match = mcpName.exec(cut(tool.name));
  const server = tool.server ?? match?.[1] ?? "";
  const name = match?.[2] ?? tool.name;
  const isPrefixed =
    server !== "" && name.startsWith(server) && /^[/:._-]/u.test(name.slice(server.length));
  return { server, name: isPrefixed ? name.slice(server.length + 1) : name };
}

/** Takes what is found on the way through a schema. */
interface Reader {
  addText(value: JsonValue | undefined): void;
  follow(value: JsonValue | undefined): void;
}

/** Breadth first, with a queue instead of recursion: a schema may be nested as deep as it likes. */
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

/** Not `Object.entries`: that would copy a million keys before the first is read. */
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
  /** JSON Schema; anything else is read as far as it looks like it. */
  readonly parameters?: JsonValue;
  readonly server?: string;
  readonly serverDescription?: string;
}

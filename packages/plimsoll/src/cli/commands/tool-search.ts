/**
 * `plimsoll tool-search`: finds the tools that match a query. With --jsonl, reads catalogues and queries as lines of JSON, and
 * writes names.
 */

import { readFileSync, statSync } from "node:fs";
import type { Writable } from "node:stream";
import { BoundedMap } from "../../bounds/bounded-map.ts";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";
import { buildToolIndex, type ToolIndex } from "../../search/tool-index.ts";
import type { SearchedTool } from "../../search/tool-text.ts";
import type { WordVectors } from "../../search/vectors.ts";
import { loadWordVectors } from "../../session/models/word-vectors.ts";
import { harmlessJson } from "../../text/unseen.ts";
import { plainTool, toolOfAnyForm } from "../../wire/format/named-tool.ts";
import { badLine, type Input, jsonLines, writeLine } from "../console/json-lines.ts";
import { type Progress, withProgress } from "../console/progress.ts";
import { oneLine, table } from "../console/terminal.ts";

export interface ToolSearchFlags {
  readonly catalogue?: string;
  readonly k: number;
  readonly json?: boolean;
  readonly jsonl?: boolean;
}

/** Maximum size of a catalogue file in bytes. The whole file is kept in memory. */
const fileBytesMax = 256 * 1024 * 1024;
/** Maximum number of catalogues in memory. Beyond this, the oldest catalogue is forgotten. */
const cataloguesMax = 16;
const descriptionCharsMax = 80;

export async function runToolSearch(
  query: string | undefined,
  flags: ToolSearchFlags,
): Promise<void> {
  if (flags.jsonl === true)
    return withProgress("Answering queries", { isStreaming: true, readsInput: true }, (progress) =>
      runToolSearchJsonl(process.stdin, process.stdout, progress),
    );
  if (query === undefined || query.trim() === "" || flags.catalogue === undefined)
    throw new PlimsollError(
      "USAGE",
      'Give a query and a catalogue, like `plimsoll tool-search "merge two PDFs" --catalogue tools.json`. With --jsonl, send both on standard input.',
    );
  const tools = readCatalogueFile(flags.catalogue);
  const { index } = catalogueOf(tools, await loadWordVectors());
  const found = index.find(query, flags.k).flatMap(({ index: at, score }) => {
    const tool = tools[at];
    return tool === undefined ? [] : [{ tool, score }];
  });
  if (flags.json === true) {
    const shown = found.map(({ tool: { name, server }, score }) => ({ name, server, score }));
    console.log(harmlessJson({ tools: shown }));
  } else if (found.length === 0) {
    console.log("No tool matches. Describe the tool in other words.");
  } else {
    const rows = found.map(({ tool, score }) => [
      tool.name,
      score.toFixed(2),
      oneLine(tool.description ?? "", descriptionCharsMax),
    ]);
    console.log(table([["tool", "score", "description"], ...rows]));
  }
}

function readCatalogueFile(file: string): readonly SearchedTool[] {
  const tools = toolsOf(readJsonFile(file));
  if (tools === undefined || tools.length === 0)
    throw new PlimsollError(
      "USAGE",
      `${file} contains no tools. Give a list of tool definitions, a request body with \`tools\`, or the result of an MCP tools/list.`,
    );
  return tools;
}

function readJsonFile(file: string): JsonValue {
  try {
    if (statSync(file).size > fileBytesMax)
      throw new PlimsollError(
        "USAGE",
        `${file} is larger than ${fileBytesMax} bytes. Give a smaller catalogue.`,
      );
    return JSON.parse(readFileSync(file, "utf8")) as JsonValue;
  } catch (cause) {
    if (PlimsollError.is(cause)) throw cause;
    throw new PlimsollError(
      "USAGE",
      `${file} cannot be read as JSON (${errorMessage(cause)}). Give a file with tool definitions.`,
    );
  }
}

/**
 * Contract: answers in the order of the lines, and each answer uses only earlier lines. A bad line throws USAGE with its number.
 */
export async function runToolSearchJsonl(
  input: Input,
  output: Writable,
  progress?: Progress,
): Promise<void> {
  const vectors = await loadWordVectors();
  const catalogues = new BoundedMap<JsonValue | undefined, Catalogue>({ entries: cataloguesMax });
  let answered = 0;
  for await (const { item, number } of jsonLines(input)) {
    if (item["kind"] === "catalogue") {
      const tools = toolsOf(item["tools"]);
      if (tools === undefined)
        throw badLine(number, 'a catalogue needs "tools", a list of tool definitions');
      catalogues.set(item["set"], catalogueOf(tools, vectors));
    }
    if (item["kind"] !== "tools") continue;
    const names = answer(catalogues.peek(item["catalogue"]), item, number);
    await writeLine(output, { id: item["id"], tools: names });
    answered += 1;
    progress?.step(answered);
  }
}

interface Catalogue {
  readonly names: readonly string[];
  readonly index: ToolIndex;
}

function catalogueOf(tools: readonly SearchedTool[], vectors: WordVectors | undefined): Catalogue {
  return { names: tools.map(({ name }) => name), index: buildToolIndex(tools, vectors) };
}

function answer(
  catalogue: Catalogue | undefined,
  { query, k = 10 }: JsonObject,
  number: number,
): readonly string[] {
  if (catalogue === undefined)
    throw badLine(
      number,
      'no earlier line has a catalogue whose "set" equals the "catalogue" of this line',
    );
  if (typeof query !== "string") throw badLine(number, 'a search needs "query", a text');
  if (typeof k !== "number" || !Number.isInteger(k) || k < 1)
    throw badLine(number, '"k" must be a whole number above 0');
  return catalogue.index.find(query, k).flatMap(({ index }) => catalogue.names[index] ?? []);
}

/** The tools in a list, in a request body, or in an MCP answer. Undefined if the value contains no list of tools. */
function toolsOf(value: JsonValue | undefined): readonly SearchedTool[] | undefined {
  if (Array.isArray(value)) return value.flatMap((item) => toolOf(item) ?? []);
  if (!isObject(value)) return undefined;
  const { tools, result } = value;
  const list = tools ?? (isObject(result) ? result["tools"] : undefined);
  return Array.isArray(list) ? toolsOf(list) : undefined;
}

/** One tool of a list. Undefined if the tool has no name, because a tool without a name cannot be called. */
function toolOf(item: JsonValue): SearchedTool | undefined {
  const tool = plainTool(item);
  const named = toolOfAnyForm(tool);
  if (named === undefined || !isObject(tool)) return undefined;
  const { server, serverDescription } = tool;
  return {
    ...named,
    ...(typeof server === "string" ? { server } : {}),
    ...(typeof serverDescription === "string" ? { serverDescription } : {}),
  };
}

/**
 * The catalogue of a request's tools, made if some of them can be deferred: the size of each tool, the list for the model, and
 * the search.
 */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { Count } from "../../budget/tokenizer.ts";
import type { ToolSelection } from "../../message/edit.ts";
import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import { mayBeDeferred, type SelectedTools, type WeighedTool } from "../../offload/defer-tools.ts";
import type { OwnTools } from "../../offload/own-tools.ts";
import { buildToolIndex, type ToolIndex } from "../../search/tool-index.ts";
import type { WordVectors } from "../../search/vectors.ts";
import { sha256 } from "../../store/body.ts";
import { parseJson } from "../../wire/format/slices.ts";
import type { NativeDeferral, Wire } from "../../wire/format/wire.ts";

export interface ListedTool extends WeighedTool {
  /** The definition of the tool, in the client's own bytes. */
  readonly element: Uint8Array;
  /** The MCP server that the name contains. */
  readonly server?: string;
}

/** A list of tools and its size. */
export interface ToolList {
  readonly elements: readonly Uint8Array[];
  readonly count: Count;
}

export interface Catalogue {
  /** A key that is equal for equal tools. */
  readonly key: string;
  readonly tools: readonly ListedTool[];
  /** Whether the provider itself defers tools. */
  readonly isNative: boolean;
  /** Whether the search tool has the provider's own format instead of being an ordinary function. */
  readonly isNativeSearch: boolean;
  has(name: string): boolean;
  /** The whole list: the selected tools of the client, Plimsoll's tools, and the tools that a search has loaded. */
  list(selection: ToolSelection): Promise<ToolList>;
  /** Only the selected tools of the client, without Plimsoll's tools and without tools that the provider would have to defer. */
  listWithoutOurs(selected: SelectedTools): Promise<ToolList>;
  /** The tools that are not in the list, for the description that the model reads. */
  deferred(selected: SelectedTools): readonly DeferredTool[];
  /**
   * Names of tools that are not in the list, best match first. If the provider defers tools itself, this
   * includes tools that an earlier search found, because that search may have been removed from the conversation.
   */
  find(query: string, selected: SelectedTools, count: number): readonly string[];
  /** These tools in the provider's own format for search results. Empty if the provider expects text. */
  found(names: readonly string[]): readonly JsonObject[];
  /** The tool with this name. If several tools have it, the first of them. */
  definition(name: string): ToolDefinition | undefined;
}

export interface DeferredTool {
  readonly name: string;
  readonly server?: string;
}

export interface CatalogueParts {
  readonly wire: Wire;
  readonly own: OwnTools;
  readonly isNative: boolean;
  readonly count: (json: string) => Promise<Count>;
  readonly vectors?: WordVectors;
}

/** Maximum number of lists to remember. A session uses one list at a time, but several sessions share a catalogue. */
const listsMax = 32;
/** Maximum number of search hits to check. Plimsoll skips hits that are already in the list. */
const hitsMax = 200;

/** The catalogue of a request's tools. Undefined if no tool can be deferred. */
export function catalogueOf(
  tools: readonly ListedTool[],
  parts: CatalogueParts,
): Catalogue | undefined {
  if (!tools.some(mayBeDeferred)) return undefined;
  const { wire } = parts;
  const deferral = nativeDeferral(parts);
  const isNative = deferral !== undefined;
  const lists = new BoundedMap<string, ToolList>({ entries: listsMax });
  const names = new Set(tools.map(({ name }) => name));
  let index: ToolIndex | undefined;
  const definitionOf = ({ element }: ListedTool): ToolDefinition | undefined =>
    wire.tools.decode(jsonOf(element));
  const indexOf = (): ToolIndex => {
    index ??= buildToolIndex(
      tools.map((tool) => ({
        ...(definitionOf(tool) ?? { name: tool.name ?? "" }),
        ...(tool.server === undefined ? {} : { server: tool.server }),
      })),
      parts.vectors,
    );
    return index;
  };
  return {
    key: sha256(Buffer.concat(tools.map(({ element }) => element))),
    tools,
    isNative,
    isNativeSearch: deferral?.search !== undefined,
    has: (name) => names.has(name),
    listWithoutOurs: (selected) => {
      const { listed, loaded, notKept } = split(tools, selected);
      const { mark, isAlone } = markFor(wire, tools, notKept);
      const elements = [...listed, ...loaded].map(({ element }) =>
        isAlone ? unmarked(wire, element) : element,
      );
      const last = elements.at(-1);
      const isMarking = isAlone && mark !== undefined && last !== undefined;
      const marked = isMarking ? [...elements.slice(0, -1), withMark(wire, last, mark)] : elements;
      return listOf(marked, parts.count);
    },
    list: async (selection) => {
      const key = JSON.stringify([selection.kept, selection.loaded, selection.note]);
      const known = lists.get(key);
      if (known !== undefined) return known;
      const list = await makeList(tools, selection, { ...parts, ...(deferral && { deferral }) });
      return lists.set(key, list);
    },
    deferred: (selected) => {
      const isListed = listedBy(selected);
      return tools.flatMap((tool) => {
        if (isListed(tool) || tool.name === undefined) return [];
        const { name, server } = tool;
        return [{ name, ...(server === undefined ? {} : { server }) }];
      });
    },
    found: (found) =>
      deferral?.found(
        found
          .flatMap((name) => tools.filter((tool) => tool.name === name))
          .map(({ element }) => jsonOf(element))
          .filter(isObject),
      ) ?? [],
    find: (query, selected, count) => {
      const isListed = listedBy(isNative ? { ...selected, loaded: [] } : selected);
      const hits = indexOf().find(query, hitsMax);
      const found = hits.flatMap(({ index: at }) => {
        const tool = tools[at];
        return tool === undefined || isListed(tool) ? [] : (tool.name ?? []);
      });
      return [...new Set(found)].slice(0, count);
    },
    definition: (name) => {
      const tool = tools.find((one) => one.name === name);
      return tool && definitionOf(tool);
    },
  };
}

/**
 * The provider's own search has a fixed name. If a client's tool uses that
 * name, Plimsoll's search is an ordinary function instead.
 */
function nativeDeferral({ wire, own, isNative }: CatalogueParts): NativeDeferral | undefined {
  const { deferral } = wire.tools;
  const isTaken = deferral?.search !== undefined && own.isRenamed;
  return isNative && !isTaken ? deferral : undefined;
}

function listedBy({ kept, loaded }: SelectedTools): (tool: ListedTool) => boolean {
  const names = new Set([...kept, ...loaded]);
  return (tool) => !mayBeDeferred(tool) || names.has(tool.name ?? "");
}

/** The client's tools in groups. */
interface Split {
  /** First the tools that are never deferred, in the client's order, then the kept tools, in the order of the selection. */
  readonly listed: readonly ListedTool[];
  readonly loaded: readonly ListedTool[];
  /** Tools that may be deferred and were not kept. Includes the loaded tools. */
  readonly notKept: readonly ListedTool[];
}

function split(tools: readonly ListedTool[], { kept, loaded }: SelectedTools): Split {
  const named = (names: readonly string[], among: readonly ListedTool[]): readonly ListedTool[] =>
    names.flatMap((name) => among.filter((tool) => tool.name === name));
  const deferrable = tools.filter(mayBeDeferred);
  const isKept = new Set(kept);
  const notKept = deferrable.filter(({ name }) => !isKept.has(name ?? ""));
  return {
    listed: [...tools.filter((tool) => !mayBeDeferred(tool)), ...named(kept, deferrable)],
    loaded: named(loaded, notKept),
    notKept,
  };
}

type ListParts = CatalogueParts & { readonly deferral?: NativeDeferral };

/**
 * Plimsoll's tools come after the kept tools and before the loaded tools, so that loading another tool changes only the end of
 * the list.
 */
async function makeList(
  tools: readonly ListedTool[],
  selection: ToolSelection,
  parts: ListParts,
): Promise<ToolList> {
  const { wire, deferral, count } = parts;
  const { listed, loaded, notKept } = split(tools, selection);
  const { mark, isAlone } = markFor(wire, tools, notKept);
  const first = [
    ...listed.map(({ element }) => (isAlone ? unmarked(wire, element) : element)),
    ...ownElements(parts, selection.note, mark),
  ];
  const whole = [...first, ...loaded.map(({ element }) => unmarked(wire, element))];
  return deferral === undefined
    ? listOf(whole, count)
    : nativeList(deferral, { first, whole, notKept }, count);
}

interface NativeParts {
  readonly first: readonly Uint8Array[];
  /** All elements of the list, including the loaded tools. */
  readonly whole: readonly Uint8Array[];
  readonly notKept: readonly ListedTool[];
}

/** The list for a provider that defers tools itself. */
async function nativeList(
  { defer }: NativeDeferral,
  { first, whole, notKept }: NativeParts,
  count: CatalogueParts["count"],
): Promise<ToolList> {
  // If `defer` is undefined, the tools that the model found are in the conversation, and are counted there.
  if (defer === undefined) return listOf(first, count);
  // Deferred tools come after all other tools. They take no tokens until the model has found them, so only the loaded tools are
  // counted.
  const { count: counted } = await listOf(whole, count);
  const behind = notKept.map(({ element }) => asDeferred(element, defer));
  return { elements: [...first, ...behind], count: counted };
}

/** Plimsoll's tools, with the search tool last. If the client's cache mark must move, the search tool gets it. */
function ownElements(
  { wire, own, deferral }: ListParts,
  note: ToolSelection["note"],
  mark: JsonValue | undefined,
): readonly Uint8Array[] {
  const search = own.search(note);
  const element = deferral?.search?.(search) ?? wire.tools.encode(search);
  return [
    ...own.definitions.map((tool) => wire.tools.encode(tool)),
    mark === undefined ? element : wire.cache.markTool(element, mark),
  ].map(encode);
}

async function listOf(
  elements: readonly Uint8Array[],
  count: CatalogueParts["count"],
): Promise<ToolList> {
  const text = elements.map((bytes) => decoder.decode(bytes)).join(",");
  return { elements, count: await count(`[${text}]`) };
}

/**
 * If the client's last cache mark is on a deferred tool, it moves to the last of Plimsoll's tools. If the client's marks have
 * different lifetimes, moving one could put them in the wrong order, so only the last mark is kept.
 */
function markFor(
  wire: Wire,
  tools: readonly ListedTool[],
  notKept: readonly ListedTool[],
): { readonly mark?: JsonValue; readonly isAlone: boolean } {
  const marks = tools.flatMap((tool) => {
    const mark = markOf(wire, tool.element);
    return mark === undefined ? [] : [{ tool, mark }];
  });
  const last = marks.at(-1);
  if (last === undefined) return { isAlone: false };
  const isAlone = marks.some(({ mark }) => JSON.stringify(mark) !== JSON.stringify(last.mark));
  return isAlone || notKept.includes(last.tool) ? { mark: last.mark, isAlone } : { isAlone };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function encode(tool: JsonObject): Uint8Array {
  return encoder.encode(JSON.stringify(tool));
}

function jsonOf(element: Uint8Array): JsonValue {
  return parseJson(element, { start: 0, end: element.length });
}

function markOf(wire: Wire, element: Uint8Array): JsonValue | undefined {
  return wire.cache.markOn(jsonOf(element));
}

/** Removes the cache mark from a tool, because the mark has moved to the last of Plimsoll's tools. */
function unmarked(wire: Wire, element: Uint8Array): Uint8Array {
  const json = jsonOf(element);
  if (!isObject(json) || wire.cache.markOn(json) === undefined) return element;
  return encode(wire.cache.markTool(json, undefined));
}

function withMark(wire: Wire, element: Uint8Array, mark: JsonValue): Uint8Array {
  const json = jsonOf(element);
  return isObject(json) ? encode(wire.cache.markTool(json, mark)) : element;
}

function asDeferred(element: Uint8Array, defer: (tool: JsonObject) => JsonObject): Uint8Array {
  const json = jsonOf(element);
  return isObject(json) ? encode(defer(json)) : element;
}

/** The tools of a request, where some of them may be held back: what each weighs, how the list is told, how one is found. */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { Count } from "../../budget/tokenizer.ts";
import type { ToolSelection } from "../../message/edit.ts";
import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import { mayBeDeferred, type SelectedTools, type WeighedTool } from "../../offload/defer-tools.ts";
import type { OwnTools } from "../../offload/own-tools.ts";
import { buildToolIndex, type ToolIndex } from "../../search/tool-index.ts";
import { serverOf } from "../../search/tool-text.ts";
import type { WordVectors } from "../../search/vectors.ts";
import { sha256 } from "../../store/body.ts";
import { parseJson } from "../../wire/format/slices.ts";
import type { NativeDeferral, Wire } from "../../wire/format/wire.ts";

export interface ListedTool extends WeighedTool {
  /** In the client's own bytes. */
  readonly element: Uint8Array;
}

/** What a list of tools comes to. */
export interface ToolList {
  readonly elements: readonly Uint8Array[];
  readonly count: Count;
}

export interface Catalogue {
  /** The same for the same tools, whoever reads them. */
  readonly key: string;
  readonly tools: readonly ListedTool[];
  /** The provider holds tools back itself. */
  readonly isNative: boolean;
  /** Our search is no function: the provider has a form of its own for it. */
  readonly isNativeSearch: boolean;
  has(name: string): boolean;
  /** The whole list: what is told of the client's, ours, and what was loaded since. */
  list(selection: ToolSelection): Promise<ToolList>;
  /** What is told of the client's alone: none of ours, and nothing that the provider would have to hold back. */
  listWithoutOurs(selected: SelectedTools): Promise<ToolList>;
  /** Tools that are not told, as the model may be told of them. */
  deferred(selected: SelectedTools): readonly DeferredTool[];
  /** Names of tools that are not told, best first. Where the provider holds them back, also what was found before: that may have left the conversation. */
  find(query: string, selected: SelectedTools, count: number): readonly string[];
  /** These tools in the form that the provider has for an answer to a search; empty where that is a text. */
  found(names: readonly string[]): readonly JsonObject[];
  /** By its name; the first of several. */
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

/** A session tells one list at a time; several sessions share a catalogue. */
const listsMax = 32;
/** More hits than this are looked through for those that are not told already. */
const hitsMax = 200;

/** Undefined: there is none that may be held back. */
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
      tools.map((tool) => definitionOf(tool) ?? { name: tool.name ?? "" }),
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
        const server = serverOf(tool.name);
        return [{ name: tool.name, ...(server === undefined ? {} : { server }) }];
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

/** A search of the provider's own has one name only: where a client's tool has that, ours is a function beside the others. */
function nativeDeferral({ wire, own, isNative }: CatalogueParts): NativeDeferral | undefined {
  const { deferral } = wire.tools;
  const isTaken = deferral?.search !== undefined && own.isRenamed;
  return isNative && !isTaken ? deferral : undefined;
}

function listedBy({ kept, loaded }: SelectedTools): (tool: ListedTool) => boolean {
  const names = new Set([...kept, ...loaded]);
  return (tool) => !mayBeDeferred(tool) || names.has(tool.name ?? "");
}

/** The client's tools by what is done with them. */
interface Split {
  /** Those that are never held back, as the client has them; then what is kept, in the order in which it was chosen. */
  readonly listed: readonly ListedTool[];
  readonly loaded: readonly ListedTool[];
  /** Also what was loaded. */
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

/** Ours are between what is kept and what was loaded: so what is loaded later leaves the bytes before it as they are. */
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
  /** With what was loaded. */
  readonly whole: readonly Uint8Array[];
  readonly notKept: readonly ListedTool[];
}

/** For a provider that holds tools back itself. */
async function nativeList(
  { defer }: NativeDeferral,
  { first, whole, notKept }: NativeParts,
  count: CatalogueParts["count"],
): Promise<ToolList> {
  // What the model found is in the conversation, and is counted there.
  if (defer === undefined) return listOf(first, count);
  // What the provider holds back comes behind all others, and only what the model found takes room.
  const { count: counted } = await listOf(whole, count);
  const behind = notKept.map(({ element }) => asDeferred(element, defer));
  return { elements: [...first, ...behind], count: counted };
}

/** Plimsoll's tools, the search last: it takes the client's mark, where that must move. */
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
 * The client's last mark goes to the last of ours, if it stood on a tool that is held back. Marks that live for different
 * times could come into the wrong order: then only the last one is left.
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

/** Its mark has gone to the last of ours: a tool that comes behind that must not bring one more. */
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

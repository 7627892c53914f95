/** The tools of a request, where some of them may be held back: what each weighs, how the list is told, how one is found. */

import type { Count } from "../budget/tokenizer.ts";
import type { Telling } from "../message/edit.ts";
import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";
import type { ToolDefinition } from "../message/tool.ts";
import { mayBeDeferred, type ToldTools, type WeighedTool } from "../offload/defer-tools.ts";
import type { OwnTools } from "../offload/own-tools.ts";
import { buildToolIndex, type ToolIndex } from "../search/tool-index.ts";
import { serverOf } from "../search/tool-text.ts";
import type { WordVectors } from "../search/vectors.ts";
import { parseJson } from "../wire/slices.ts";
import type { Wire } from "../wire/wire.ts";

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
  readonly tools: readonly ListedTool[];
  /** The provider holds tools back itself. */
  readonly isNative: boolean;
  /** The whole list: what is told of the client's, ours, and what was loaded since. */
  list(telling: Telling): Promise<ToolList>;
  /** Tools that are not told, as the model may be told of them. */
  deferred(told: ToldTools): readonly DeferredTool[];
  /** Names of tools that are not told, best first. */
  find(query: string, told: ToldTools, count: number): readonly string[];
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
  const lists = new Map<string, ToolList>();
  let index: ToolIndex | undefined;
  const definitionOf = ({ element }: ListedTool): ToolDefinition | undefined =>
    parts.wire.decodeTool(jsonOf(element));
  const indexOf = (): ToolIndex => {
    index ??= buildToolIndex(
      tools.map((tool) => definitionOf(tool) ?? { name: tool.name ?? "" }),
      parts.vectors,
    );
    return index;
  };
  return {
    tools,
    isNative: parts.isNative,
    list: async (telling) => {
      const key = JSON.stringify([telling.kept, telling.loaded, telling.note]);
      const known = lists.get(key);
      if (known !== undefined) return known;
      const list = await makeList(tools, telling, parts);
      if (lists.size >= listsMax) lists.delete(lists.keys().next().value as string);
      lists.set(key, list);
      return list;
    },
    deferred: (told) => {
      const isTold = toldBy(told);
      return tools.flatMap((tool) => {
        if (isTold(tool) || tool.name === undefined) return [];
        const server = serverOf(tool.name);
        return [{ name: tool.name, ...(server === undefined ? {} : { server }) }];
      });
    },
    find: (query, told, count) => {
      const isTold = toldBy(told);
      const hits = indexOf().find(query, hitsMax);
      const found = hits.flatMap(({ index: at }) => {
        const tool = tools[at];
        return tool === undefined || isTold(tool) ? [] : (tool.name ?? []);
      });
      return [...new Set(found)].slice(0, count);
    },
    definition: (name) => {
      const tool = tools.find((one) => one.name === name);
      return tool && definitionOf(tool);
    },
  };
}

function toldBy({ kept, loaded }: ToldTools): (tool: ListedTool) => boolean {
  const names = new Set([...kept, ...loaded]);
  return (tool) => !mayBeDeferred(tool) || names.has(tool.name ?? "");
}

/** Ours stand between what is kept and what was loaded: so what is loaded later leaves the bytes before it as they are. */
async function makeList(
  tools: readonly ListedTool[],
  { kept, loaded, note }: Telling,
  parts: CatalogueParts,
): Promise<ToolList> {
  const { wire, own, isNative, count } = parts;
  const isKept = toldBy({ kept, loaded: [] });
  const held = tools.filter((tool) => !isKept(tool));
  const shown = tools.filter(isKept);
  const behind = loaded.flatMap((name) => held.filter((tool) => tool.name === name));
  const ours = [...own.definitions, own.search(note)].map((tool) => wire.encodeTool(tool));
  const mark = held
    .map(({ element }) => markOf(wire, element))
    .findLast((one) => one !== undefined);
  const marked = ours.map((tool, at) =>
    mark === undefined || at < ours.length - 1 ? tool : wire.markTool(tool, mark),
  );
  const told = [
    ...shown.map(({ element }) => element),
    ...marked.map(encode),
    ...behind.map(({ element }) => unmarked(wire, element)),
  ];
  const counted = await count(`[${told.map((bytes) => decoder.decode(bytes)).join(",")}]`);
  if (!isNative) return { elements: told, count: counted };
  // Where the provider holds them back, they stand in their place, and only those that were found take room.
  const elements = tools.map((tool) =>
    isKept(tool) ? tool.element : deferredElement(wire, tool.element),
  );
  return { elements: [...elements, ...marked.map(encode)], count: counted };
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
  return wire.toolMark(jsonOf(element));
}

/** Its mark has gone to the last of ours: a tool that comes behind that must not bring one more. */
function unmarked(wire: Wire, element: Uint8Array): Uint8Array {
  const json = jsonOf(element);
  if (!isObject(json) || wire.toolMark(json) === undefined) return element;
  return encode(wire.markTool(json, undefined));
}

function deferredElement(wire: Wire, element: Uint8Array): Uint8Array {
  const json = jsonOf(element);
  return isObject(json) && wire.deferTool !== undefined ? encode(wire.deferTool(json)) : element;
}

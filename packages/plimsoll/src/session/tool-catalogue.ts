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
import type { NativeDeferral, Wire } from "../wire/wire.ts";

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
  /** Our search is no function: the provider has a form of its own for it. */
  readonly isNativeSearch: boolean;
  /** The whole list: what is told of the client's, ours, and what was loaded since. */
  list(telling: Telling): Promise<ToolList>;
  /** Tools that are not told, as the model may be told of them. */
  deferred(told: ToldTools): readonly DeferredTool[];
  /** Names of tools that are not told, best first. Where the provider holds them back, also what was found before: that may have left the conversation. */
  find(query: string, told: ToldTools, count: number): readonly string[];
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
  const lists = new Map<string, ToolList>();
  let index: ToolIndex | undefined;
  const definitionOf = ({ element }: ListedTool): ToolDefinition | undefined =>
    wire.decodeTool(jsonOf(element));
  const indexOf = (): ToolIndex => {
    index ??= buildToolIndex(
      tools.map((tool) => definitionOf(tool) ?? { name: tool.name ?? "" }),
      parts.vectors,
    );
    return index;
  };
  return {
    tools,
    isNative,
    isNativeSearch: deferral?.search !== undefined,
    list: async (telling) => {
      const key = JSON.stringify([telling.kept, telling.loaded, telling.note]);
      const known = lists.get(key);
      if (known !== undefined) return known;
      const list = await makeList(tools, telling, { ...parts, ...(deferral && { deferral }) });
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
    found: (names) =>
      deferral?.found(
        names
          .flatMap((name) => tools.filter((tool) => tool.name === name))
          .map(({ element }) => jsonOf(element))
          .filter(isObject),
      ) ?? [],
    find: (query, told, count) => {
      const isTold = toldBy(isNative ? { ...told, loaded: [] } : told);
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

/** A search of the provider's own has one name only: where a client's tool has that, ours is a function beside the others. */
function nativeDeferral({ wire, own, isNative }: CatalogueParts): NativeDeferral | undefined {
  const { deferral } = wire;
  const isTaken = deferral?.search !== undefined && own.hasStepped;
  return isNative && !isTaken ? deferral : undefined;
}

function toldBy({ kept, loaded }: ToldTools): (tool: ListedTool) => boolean {
  const names = new Set([...kept, ...loaded]);
  return (tool) => !mayBeDeferred(tool) || names.has(tool.name ?? "");
}

/** Ours stand between what is kept and what was loaded: so what is loaded later leaves the bytes before it as they are. */
async function makeList(
  tools: readonly ListedTool[],
  { kept, loaded, note }: Telling,
  parts: CatalogueParts & { readonly deferral?: NativeDeferral },
): Promise<ToolList> {
  const { wire, own, deferral, count } = parts;
  const isKept = toldBy({ kept, loaded: [] });
  const held = tools.filter((tool) => !isKept(tool));
  const shown = tools.filter(isKept);
  const behind = loaded.flatMap((name) => held.filter((tool) => tool.name === name));
  const search = own.search(note);
  const ours = [
    ...own.definitions.map((tool) => wire.encodeTool(tool)),
    deferral?.search?.(search) ?? wire.encodeTool(search),
  ];
  const mark = held
    .map(({ element }) => markOf(wire, element))
    .findLast((one) => one !== undefined);
  const marked = ours.map((tool, at) =>
    mark === undefined || at < ours.length - 1 ? tool : wire.markTool(tool, mark),
  );
  const first = [...shown.map(({ element }) => element), ...marked.map(encode)];
  const whole = [...first, ...behind.map(({ element }) => unmarked(wire, element))];
  const counted = (list: readonly Uint8Array[]): Promise<Count> =>
    count(`[${list.map((bytes) => decoder.decode(bytes)).join(",")}]`);
  if (deferral === undefined) return { elements: whole, count: await counted(whole) };
  const { hold } = deferral;
  // What was found stands in the conversation, and is counted there.
  if (hold === undefined) return { elements: first, count: await counted(first) };
  // They stand in their place, and only those that were found take room.
  const elements = tools.map((tool) =>
    isKept(tool) ? tool.element : heldBack(tool.element, hold),
  );
  return { elements: [...elements, ...marked.map(encode)], count: await counted(whole) };
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

function heldBack(element: Uint8Array, hold: (tool: JsonObject) => JsonObject): Uint8Array {
  const json = jsonOf(element);
  return isObject(json) ? encode(hold(json)) : element;
}

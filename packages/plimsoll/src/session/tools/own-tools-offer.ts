/** Plimsoll's own tools in a request. Once an edit has created a handle, their bytes and their place stay the same. */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import { addCounts, type Measurement, measurement } from "../../budget/measure.ts";
import type { Count } from "../../budget/tokenizer.ts";
import type { Config } from "../../config/schema.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import { classOf, type ToolClass } from "../../offload/defer-tools.ts";
import { type OwnTools, ownToolsBeside } from "../../offload/own-tools.ts";
import { mcpNamesIn, type ReadMcpName } from "../../search/mcp-names.ts";
import type { WordVectors } from "../../search/vectors.ts";
import { sha256 } from "../../store/body.ts";
import { type BodySlices, parseJson, type Slice } from "../../wire/format/slices.ts";
import type { ToolChange, Wire, WireRequest } from "../../wire/format/wire.ts";
import type { View } from "../log/view.ts";
import type { FactsReader } from "../measure/message-facts.ts";
import type { Preamble } from "../measure/preamble.ts";
import type { Target } from "../measure/target.ts";
import { type Catalogue, catalogueOf, type ListedTool, type ToolList } from "./catalogue.ts";

/** Plimsoll's tools as elements of the request's tool list, without the search tool. */
export interface OwnOffer extends ToolList {
  readonly own: OwnTools;
  /** The same list with the search tool at the end. */
  withSearch(note: string): Promise<ToolList>;
  /** Whether to offer the tools even if no edit has created a handle. */
  readonly isAlways: boolean;
  /** The request's own tools, if some of them can be deferred. */
  readonly catalogue?: Catalogue;
  /** Whether all tools together exceed the provider's maximum, so that Plimsoll's tools cannot be added. */
  readonly isTooMany: boolean;
}

export interface OfferReader {
  /**
   * The offer for the tools of a request. Undefined if the request has no tools, or too many tools of which none can be deferred.
   * The caller decides whether to use the offer.
   */
  read(asked: AskedTools): Promise<OwnOffer | undefined>;
  /** Like `read`, but for tools in neutral form. `names` are further names that Plimsoll's tools must not use. */
  beside(given: GivenTools): Promise<OwnOffer | undefined>;
}

export interface AskedTools {
  readonly body: Uint8Array;
  readonly tools: readonly Slice[];
  /** Hash of the preamble or message that contains the tools. */
  readonly hash: string | undefined;
  readonly target: Target;
}

/** The tools of a request, whether they are in the body's tool list or in a message. */
export function askedTools(
  body: Uint8Array,
  { messages, toolsInMessage: within }: WireRequest,
  {
    slices,
    head,
    target,
  }: { readonly slices: BodySlices; readonly head: Preamble; readonly target: Target },
): AskedTools {
  const holder = messages[within?.message ?? -1];
  if (within === undefined || holder === undefined)
    return {
      body,
      tools: target.wire.tools.list.read(body, slices),
      hash: head.hash,
      target,
    };
  const tools = within.elements.map(({ start, end }) => ({
    start: holder.start + start,
    end: holder.start + end,
  }));
  return {
    body,
    tools,
    hash: sha256(body.subarray(holder.start, holder.end)),
    // It is unknown whether the provider would defer tools that are in a message.
    target: { ...target, defersNatively: false },
  };
}

export interface GivenTools {
  readonly wire: Wire;
  readonly tools: readonly ToolDefinition[];
  readonly names: readonly string[];
  readonly target: Target;
}

/** Maximum number of offers to remember. A tool list usually stays the same for hundreds of turns. */
const maxOffers = 200;
/** Maximum number of bytes of all remembered catalogues together, because catalogues may be large. The newest is always kept. */
const maxBytes = 32 * 1024 * 1024;

export function createOfferReader(
  facts: FactsReader,
  config: Config,
  vectors?: WordVectors,
): OfferReader {
  const known = new BoundedMap<string, { readonly offer: OwnOffer | undefined }>({
    entries: maxOffers,
    weight: maxBytes,
    weightOf: ({ offer }) => bytesOf(offer),
  });
  const classify = classifierOf(config);

  const offerFor = async (
    wire: Wire,
    target: Target,
    {
      listed,
      names,
    }: { readonly listed: readonly ListedTool[]; readonly names: readonly string[] },
  ): Promise<OwnOffer | undefined> => {
    const mayDefer = config.agent?.tool_deferral_threshold !== 1;
    const maySearch = mayDefer && listed.some((tool) => tool.class !== "builtin");
    const own = ownToolsBeside(new Set(names));
    const count = (json: string): Promise<Count> => facts.countTools(json, target.ruler);
    const texts = own.definitions.map((tool) => JSON.stringify(wire.tools.encode(tool)));
    const weighed = maySearch ? await weigh(listed, count) : [];
    const catalogue = catalogueOf(weighed, {
      wire,
      own,
      isNative: target.defersNatively,
      count,
      ...(vectors === undefined ? {} : { vectors }),
    });
    const isTooMany = listed.length + texts.length > (wire.tools.max ?? Number.POSITIVE_INFINITY);
    if (isTooMany && catalogue === undefined) return undefined;
    const list = async (all: readonly string[]): Promise<ToolList> => ({
      elements: all.map((text) => new TextEncoder().encode(text)),
      count: await count(`[${all.join(",")}]`),
    });
    return {
      own,
      ...(await list(texts)),
      withSearch: (note) => list([...texts, JSON.stringify(wire.tools.encode(own.search(note)))]),
      isAlways: config.own_tools === "first-request",
      ...(catalogue === undefined ? {} : { catalogue }),
      isTooMany,
    };
  };

  return {
    beside: ({ wire, tools, names, target }) => {
      const readName = mcpNamesIn(tools.map(({ name }) => name));
      const listed = tools.map((tool) => ({
        name: tool.name,
        class: tool.source ?? classify(tool.name, readName),
        ...serverIn(readName, tool.name),
        tokens: 0,
        element: new TextEncoder().encode(JSON.stringify(wire.tools.encode(tool))),
      }));
      return offerFor(wire, target, { listed, names });
    },
    read: async ({ body, tools, hash = "", target }) => {
      const { wire, ruler } = target;
      if (tools.length === 0) return undefined;
      const key = [wire.name, ruler.key, target.defersNatively, hash].join("\0");
      const found = known.get(key);
      if (found !== undefined) return found.offer;
      const parsed = tools.map((slice) => ({ slice, json: parseJson(body, slice) }));
      const isDeferring = parsed.some(({ json }) => wire.tools.isDeferring(json));
      const readName = mcpNamesIn(parsed.flatMap(({ json }) => wire.tools.nameOf(json) ?? []));
      const listed = parsed.map(({ slice, json }) => {
        const name = wire.tools.nameOf(json);
        return {
          ...(name === undefined ? {} : { name }),
          ...serverIn(readName, name),
          // If the client already defers tools, Plimsoll defers none.
          class: isDeferring ? "builtin" : classify(name, readName),
          tokens: 0,
          // A copy, because a slice of the buffer would keep the whole body in memory.
          element: new Uint8Array(body.subarray(slice.start, slice.end)),
        } as const;
      });
      const inside = parsed.flatMap(({ json }) => wire.tools.inside(json));
      const names = [
        ...listed.flatMap(({ name }) => name ?? []),
        ...inside.flatMap((tool) => wire.tools.nameOf(tool) ?? []),
      ];
      const offer = await offerFor(wire, target, { listed, names });
      known.set(key, { offer });
      return offer;
    },
  };
}

/** The class of a tool: by the user's patterns, or by the way in which clients name the tools of MCP servers. */
function classifierOf({
  tool_classes: { mcp, skill = [] } = {},
}: Config): (name: string | undefined, readName: ReadMcpName) => ToolClass {
  return (name, readName) => {
    if (name === undefined) return "builtin";
    if (mcp === undefined && readName(name) !== undefined) return "mcp";
    return classOf(name, { mcp: mcp ?? [], skill });
  };
}

function serverIn(readName: ReadMcpName, name: string | undefined): Pick<ListedTool, "server"> {
  const server = name === undefined ? undefined : readName(name)?.server;
  return server === undefined ? {} : { server };
}

/**
 * Memory that an offer takes, in bytes. The lists and the index made from a catalogue take about as much as the catalogue itself.
 */
function bytesOf(offer: OwnOffer | undefined): number {
  const tools = offer?.catalogue?.tools ?? [];
  return 2 * tools.reduce((sum, { element }) => sum + element.length, 1024);
}

/**
 * Counts all tools together, because one count per tool would be slow. Then divides the tokens among the tools by their bytes.
 */
async function weigh(
  tools: readonly ListedTool[],
  count: (json: string) => Promise<Count>,
): Promise<readonly ListedTool[]> {
  const decoder = new TextDecoder();
  const texts = tools.map(({ element }) => decoder.decode(element));
  const { tokens } = await count(`[${texts.join(",")}]`);
  const bytes = tools.reduce((sum, { element }) => sum + element.length, 1);
  return tools.map((tool) => ({
    ...tool,
    tokens: Math.ceil((tokens * tool.element.length) / bytes),
  }));
}

/** Maximum share of the limit that Plimsoll's tools may take. If they would take more, they are not worth their room. */
const mostShare = 0.12;

export function worthItsRoom(
  offer: OwnOffer | undefined,
  limitTokens: number,
): OwnOffer | undefined {
  return offer !== undefined && offer.count.tokens <= limitTokens * mostShare ? offer : undefined;
}

/** The request's list of tools, and its size. */
export interface MeasuredTools {
  readonly tools: VisibleTools;
  readonly count: Count;
}

const clientsOwn: VisibleTools = { elements: [], isWhole: false };

/** The tool list that the model sees in this view. */
export async function toolsOf(
  offer: OwnOffer | undefined,
  view: Pick<View, "edits" | "tools" | "searchNote">,
  { components: { tools: own } }: Pick<Measurement, "components">,
): Promise<MeasuredTools> {
  if (offer === undefined) return { tools: clientsOwn, count: own };
  if (offer.catalogue !== undefined && view.tools !== undefined) {
    const { elements, count } = await offer.catalogue.list(view.tools);
    return { tools: { elements, isWhole: true }, count };
  }
  if (offer.isTooMany || !isNeeded(offer, view)) return { tools: clientsOwn, count: own };
  // If the model has searched for tools while some were deferred, the search tool stays in the list, because the model may call
  // it again.
  const { searchNote } = view;
  const ours = searchNote === undefined ? offer : await offer.withSearch(searchNote);
  return {
    tools: { elements: ours.elements, isWhole: false },
    count: addCounts([own, ours.count]),
  };
}

/**
 * Whether the request must offer Plimsoll's tools. It must if they are always offered, or if the view contains handles or answers
 * of these tools.
 */
export function isNeeded({ isAlways }: OwnOffer, { edits }: Pick<View, "edits">): boolean {
  return (
    isAlways ||
    edits.some(
      ({ action }) =>
        action.kind === "expand" || ("handle" in action && action.handle !== undefined),
    )
  );
}

export function withTools(measured: Measurement, tools: Count): Measurement {
  return measurement({ ...measured.components, tools });
}

/** The tools that the model sees beside the client's, or instead of them. The client's list has at least one tool. */
export type VisibleTools = ToolChange<Uint8Array>;

/** Tools of ours in a request: the same bytes in the same place, from the first edit that leaves a handle on. */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import { addCounts, type Measurement, measurement } from "../../budget/measure.ts";
import type { Count } from "../../budget/tokenizer.ts";
import type { Config } from "../../config/schema.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import { classOf, type ToolClass } from "../../offload/defer-tools.ts";
import { type OwnTools, ownToolsBeside } from "../../offload/own-tools.ts";
import type { WordVectors } from "../../search/vectors.ts";
import { sha256 } from "../../store/body.ts";
import { type BodySlices, parseJson, type Slice } from "../../wire/format/slices.ts";
import type { Wire, WireRequest } from "../../wire/format/wire.ts";
import type { View } from "../log/view.ts";
import type { FactsReader } from "../measure/message-facts.ts";
import type { Preamble } from "../measure/preamble.ts";
import type { Target } from "../measure/target.ts";
import { type Catalogue, catalogueOf, type ListedTool, type ToolList } from "./catalogue.ts";

/** With ours as elements of the request's list of tools, all but the search. */
export interface OwnOffer extends ToolList {
  readonly own: OwnTools;
  /** With the search behind them. */
  withSearch(note: string): Promise<ToolList>;
  /** Also without an edit that leaves a handle. */
  readonly isAlways: boolean;
  /** The request's own tools, where some of them may be held back. */
  readonly catalogue?: Catalogue;
  /** All of them together are more than the provider takes: ours cannot come on top. */
  readonly isTooMany: boolean;
}

export interface OfferReader {
  /** Undefined: it has no tools, or too many of which none can be held back. Whether ours belong in it is the caller's to say. */
  read(asked: AskedTools): Promise<OwnOffer | undefined>;
  /** Beside tools in the neutral form; `names` are those that must stay free besides. */
  beside(given: GivenTools): Promise<OwnOffer | undefined>;
}

export interface AskedTools {
  readonly body: Uint8Array;
  readonly tools: readonly Slice[];
  /** Hash of what has the tools in it. */
  readonly hash: string | undefined;
  readonly target: Target;
}

/** The tools of a request, wherever they stand. */
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
      tools: slices.elements.get(target.wire.fields.tools) ?? [],
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
    // It is not known whether a provider would hold back tools that an item brings.
    target: { ...target, defersNatively: false },
  };
}

export interface GivenTools {
  readonly wire: Wire;
  readonly tools: readonly ToolDefinition[];
  readonly names: readonly string[];
  readonly target: Target;
}

/** A list of tools is the same for hundreds of turns. */
const maxOffers = 200;
/** Catalogues may be large: so many bytes of all of them together, beside the newest. */
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
  const patterns = {
    mcp: config.tool_classes?.mcp ?? ["mcp__*"],
    skill: config.tool_classes?.skill ?? [],
  };
  const classify = (name: string | undefined): ToolClass =>
    name === undefined ? "builtin" : classOf(name, patterns);

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
      const listed = tools.map((tool) => ({
        name: tool.name,
        class: tool.source ?? classify(tool.name),
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
      const listed = parsed.map(({ slice, json }) => {
        const name = wire.tools.nameOf(json);
        return {
          ...(name === undefined ? {} : { name }),
          // Who holds tools back already needs no help.
          class: isDeferring ? "builtin" : classify(name),
          tokens: 0,
          // A copy: a slice of a buffer would keep all of the body.
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

/** What is made of a catalogue, lists and an index, takes about as much again. */
function bytesOf(offer: OwnOffer | undefined): number {
  const tools = offer?.catalogue?.tools ?? [];
  return 2 * tools.reduce((sum, { element }) => sum + element.length, 1024);
}

/** One count for all, shared out by their bytes: each alone would take a call of the counter. */
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

/** In a smaller window our tools would take more room than they are worth. */
const mostShare = 0.12;

export function worthItsRoom(
  offer: OwnOffer | undefined,
  limitTokens: number,
): OwnOffer | undefined {
  return offer !== undefined && offer.count.tokens <= limitTokens * mostShare ? offer : undefined;
}

/** The request's list of tools, and what all of it takes. */
export interface MeasuredTools {
  readonly tools: VisibleTools;
  readonly count: Count;
}

const clientsOwn: VisibleTools = { elements: [], isWhole: false };

/** As the view tells them. */
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
  // The model may have searched when there was something to be found, and may be just searching.
  const { searchNote } = view;
  const ours = searchNote === undefined ? offer : await offer.withSearch(searchNote);
  return {
    tools: { elements: ours.elements, isWhole: false },
    count: addCounts([own, ours.count]),
  };
}

/** Handles stand in the view, or answers of ours: then the model must be able to use them. */
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

/** Elements of the list of tools: behind the client's own, of which there is at least one, or in place of the whole list. */
export interface VisibleTools {
  readonly elements: readonly Uint8Array[];
  readonly isWhole: boolean;
}

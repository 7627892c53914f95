/** Tools of ours in a request: the same bytes in the same place, from the first edit that leaves a handle on. */

import type { Count } from "../budget/tokenizer.ts";
import { type OwnTools, ownToolsBeside } from "../offload/own-tools.ts";
import { type BodySlices, parseJson } from "../wire/slices.ts";
import type { Wire, WireRequest } from "../wire/wire.ts";
import type { Config } from "./config.ts";
import type { Draft } from "./draft.ts";
import type { FactsReader } from "./message-facts.ts";
import type { Target } from "./target.ts";
import type { View } from "./view.ts";

export interface OwnOffer {
  readonly own: OwnTools;
  /** As elements of the request's list of tools. */
  readonly elements: readonly Uint8Array[];
  readonly count: Count;
  /** Also without an edit that leaves a handle. */
  readonly isAlways: boolean;
}

export interface OfferReader {
  /** Undefined: none of ours belong in this request. */
  read(asked: AskedTools): Promise<OwnOffer | undefined>;
  beside(wire: Wire, names: readonly string[], target: Target): Promise<OwnOffer>;
}

export interface AskedTools {
  readonly body: Uint8Array;
  readonly slices: BodySlices;
  readonly request: WireRequest;
  /** Hash of system prompt and tools. */
  readonly head: string | undefined;
  readonly target: Target;
}

/** A list of tools is the same for hundreds of turns. */
const maxOffers = 200;

export function createOfferReader(facts: FactsReader, config: Config): OfferReader {
  const known = new Map<string, OwnOffer>();
  const remember = (key: string, offer: OwnOffer): OwnOffer => {
    if (known.size >= maxOffers) known.delete(known.keys().next().value as string);
    known.set(key, offer);
    return offer;
  };

  const beside: OfferReader["beside"] = async (wire, names, target) => {
    const own = ownToolsBeside(new Set(names));
    const texts = own.definitions.map((tool) => JSON.stringify(wire.encodeTool(tool)));
    return {
      own,
      elements: texts.map((text) => new TextEncoder().encode(text)),
      count: await facts.countTools(`[${texts.join(",")}]`, target.ruler),
      isAlways: config.own_tools === "first-request",
    };
  };

  return {
    beside,
    read: async ({ body, slices, request, head = "", target }) => {
      const { wire, ruler } = target;
      const tools = slices.elements.get("tools") ?? [];
      if (tools.length === 0 || request.hasOtherPlans === true) return undefined;
      const key = `${wire.name}\0${ruler.key}\0${head}`;
      const found = known.get(key);
      if (found !== undefined) return found;
      const names = tools.flatMap((slice) => wire.toolName(parseJson(body, slice)) ?? []);
      const offer = await beside(wire, names, target);
      const isTooMany = tools.length + offer.elements.length > (wire.maxTools ?? Infinity);
      return isTooMany ? undefined : remember(key, offer);
    },
  };
}

/** In a smaller window our tools would take more room than they are worth. */
const mostShare = 0.12;

export function worthItsRoom(
  offer: OwnOffer | undefined,
  limitTokens: number,
): OwnOffer | undefined {
  return offer !== undefined && offer.count.tokens <= limitTokens * mostShare ? offer : undefined;
}

/** Without our tools no call of ours may stand in the conversation. */
export function withOffer(draft: Draft, offer: OwnOffer | undefined, limitTokens: number): Draft {
  const { offer: _given, ...plain } = draft;
  const worth = worthItsRoom(offer, limitTokens);
  return worth === undefined ? { ...plain, isPlain: true } : { ...plain, offer: worth };
}

/** Handles stand in the view, or answers of ours: then the model must be able to use them. */
export function offeredWith(
  offer: OwnOffer | undefined,
  { edits }: Pick<View, "edits">,
): OwnOffer | undefined {
  const isNeeded =
    offer?.isAlways === true ||
    edits.some(
      ({ action }) =>
        action.kind === "expand" || ("handle" in action && action.handle !== undefined),
    );
  return isNeeded ? offer : undefined;
}

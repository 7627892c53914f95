/** A request that has been recorded and measured, and not yet been sent: what the guard and the strategies work on. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { addCounts, type Measurement, measurement } from "../../budget/measure.ts";
import type { Projection } from "../../budget/projection.ts";
import type { WhoAsks } from "../../config/limits.ts";
import type { OutputSize } from "../../message/message.ts";
import type { Wire, WireEdit } from "../../wire/format/wire.ts";
import type { BranchState, LogMessage, SessionLog } from "../log/log.ts";
import type { Path, Sum } from "../log/path.ts";
import { type View, wholeView } from "../log/view.ts";
import type { FactsReader } from "../measure/message-facts.ts";
import type { Preamble } from "../measure/preamble.ts";
import type { Target } from "../measure/target.ts";
import {
  type MeasuredTools,
  type OwnOffer,
  toolsOf,
  type VisibleTools,
  withTools,
  worthItsRoom,
} from "../tools/own-tools-offer.ts";
import { type BodyChanges, type Patch, type Rendering, renderView } from "./render.ts";

export interface Draft {
  readonly turn: { readonly id: string; readonly at: number };
  readonly log: SessionLog;
  readonly branch: BranchState;
  readonly wire: Wire;
  readonly path: Path;
  readonly head: Preamble;
  /** In the order in which they may be tried. */
  readonly targets: readonly [Target, ...Target[]];
  readonly who: WhoAsks;
  /** The whole conversation as the client sent it, before correction. */
  readonly measured: Measurement;
  /** Of all messages. */
  readonly sum: Sum;
  readonly origin: DraftOrigin;
  readonly tools: DraftTools;
  readonly request: DraftRequest;
}

/**
 * proxy: a client sent it. library: an agent appended to it. store: a person steers a conversation that nobody sends just now.
 * one-off: messages that belong to no session.
 */
export type DraftOrigin = "proxy" | "library" | "store" | "one-off";

/**
 * offered: Plimsoll's tools may go with it. none: they cannot, so the conversation may contain no call of them. forced: they cannot,
 * and fewer of the client's go than it sent, because its choice of tools leaves no room for all. unseen: nobody looks at its
 * tools now.
 */
export type DraftTools =
  | { readonly kind: "offered"; readonly offer: OwnOffer }
  | { readonly kind: "none" }
  | { readonly kind: "forced"; readonly list: MeasuredTools }
  | { readonly kind: "unseen" };

/** What the request is beside its conversation. */
export interface DraftRequest {
  /** The request with these changes, in its bytes. */
  readonly compose: (changes: BodyChanges) => Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Nothing that an upstream quotes of them is kept. */
  readonly credentials?: () => readonly string[];
  /** How long an answer it asks for, where it says so. */
  readonly output?: OutputSize;
  /** The provider holds part of the conversation: any edit would mean to write all of it out. */
  readonly hasServerSideHistory?: boolean;
  /** The client asks for a cache that lives long. */
  readonly hasLongMarks?: boolean;
  /** The provider keeps nothing of its answers. */
  readonly isNotStored?: boolean;
  /** The caller says whether the conversation must end with this turn, by what is known of it. */
  readonly isLast?: (sent: LastTurn) => boolean;
}

export interface LastTurn {
  readonly target: Target;
  readonly projection: Projection;
}

/** A view as messages, and how large it is. */
export interface Sized {
  readonly view: View;
  readonly patches: readonly Patch[];
  /** Before correction. */
  readonly measured: Measurement;
  /** Of the messages. */
  readonly bytes: number;
  readonly media: number;
  /** The list of tools, where it is not the client's own. */
  readonly tools: VisibleTools;
}

/** The messages of a view are the client's own, with patches: only these are read and counted. */
export async function sizeView(
  facts: Pick<FactsReader, "learn">,
  draft: Draft,
  view: View,
  lastWords?: string,
): Promise<Sized> {
  if (view !== wholeView || lastWords !== undefined) await draft.path.load();
  const { tools, count } =
    draft.tools.kind === "forced"
      ? draft.tools.list
      : await toolsOf(offerIn(draft), view, draft.measured);
  const patches = renderView(view, draft.path, renderingOf(draft, { tools, lastWords }));
  const measured = withTools(draft.measured, count);
  if (patches.length === 0) return { view, patches, measured, ...draft.sum, tools };
  const added = await learnAdded(facts, draft, patches);
  const left = sumWithout(draft, patches);
  return {
    view,
    patches,
    measured: withMessages(measured, draft, { left, added }),
    bytes: added.reduce((all, message) => all + message.bytes, left.bytes),
    media: added.reduce((all, message) => all + (message.media ?? 0), left.media),
    tools,
  };
}

const manyElements = 250;

/** What the patches bring, message by message. */
async function learnAdded(
  facts: Pick<FactsReader, "learn">,
  { wire, targets: [target] }: Draft,
  patches: readonly Patch[],
): Promise<readonly LogMessage[]> {
  const elements = patches.flatMap((patch) => patch.elements);
  // Plimsoll has just written them; to read them takes as long again.
  if (elements.length > manyElements) await nextTurn();
  return facts.learn(wire, elements, target.ruler);
}

/** What the patches leave of the client's messages. */
function sumWithout({ path, sum }: Draft, patches: readonly Patch[]): Sum {
  let { tokens, bytes, media } = sum;
  for (const { first, end } of patches) {
    const removed = path.sumOf({ first, last: end - 1 });
    tokens -= removed.tokens;
    bytes -= removed.bytes;
    media -= removed.media;
  }
  return { tokens, bytes, media };
}

function withMessages(
  { components }: Measurement,
  { sum }: Draft,
  { left, added }: { readonly left: Sum; readonly added: readonly LogMessage[] },
): Measurement {
  // System prompts that are among the messages were measured apart.
  const apart = components.conversation.tokens - sum.tokens;
  const ofClient = { ...components.conversation, tokens: left.tokens + apart };
  return measurement({ ...components, conversation: addCounts([ofClient, ...added]) });
}

/** As the wire says, or stricter: some servers of a wire want strict turns. */
export function ownTextPlacement({
  wire,
  targets: [target],
}: Pick<Draft, "wire" | "targets">): WireEdit["ownTextPlacement"] {
  return target.profile === undefined ? wire.edit.ownTextPlacement : "inside";
}

export function renderingOf(
  draft: Pick<Draft, "wire" | "targets" | "tools">,
  { tools, lastWords }: Pick<Sized, "tools"> & { readonly lastWords?: string | undefined },
): Rendering {
  const offer = offerIn(draft);
  const catalogue = offer?.catalogue;
  // A conversation may contain calls of Plimsoll's tools only where the list has these tools.
  const isWithoutOwnTools = offer === undefined || tools.elements.length === 0;
  return {
    wire: draft.wire,
    ownTextPlacement: ownTextPlacement(draft),
    ...(lastWords === undefined ? {} : { lastWords }),
    ...(isWithoutOwnTools && draft.tools.kind !== "unseen" ? { isWithoutOwnTools } : {}),
    ...(offer === undefined ? {} : { isNative: catalogue?.isNative === true }),
    ...(catalogue === undefined ? {} : { isListed: (name: string) => catalogue.has(name) }),
  };
}

/** Plimsoll's tools, where the request can have them. */
export function offerIn({ tools }: Pick<Draft, "tools">): OwnOffer | undefined {
  return tools.kind === "offered" ? tools.offer : undefined;
}

/** Where Plimsoll offers no tools of its own, the conversation may contain no call of them. */
export function withOffer(draft: Draft, offer: OwnOffer | undefined, limitTokens: number): Draft {
  return { ...draft, tools: offeredTools(offer, limitTokens) };
}

/** Plimsoll offers its tools where they are worth the room that they take. */
export function offeredTools(offer: OwnOffer | undefined, limitTokens: number): DraftTools {
  const worth = worthItsRoom(offer, limitTokens);
  return worth === undefined ? { kind: "none" } : { kind: "offered", offer: worth };
}

/** A draft: a request that is recorded and measured but not yet sent. The guard and the strategies work on it. */

import { addCounts, type Measurement, measurement } from "../../budget/measure.ts";
import type { Projection } from "../../budget/projection.ts";
import type { WhoAsks } from "../../config/limits.ts";
import type { OutputSize } from "../../message/message.ts";
import type { Wire, WireEdit } from "../../wire/format/wire.ts";
import type { BranchState, SessionLog } from "../log/log.ts";
import type { Path, Sum } from "../log/path.ts";
import { type View, wholeView } from "../log/view.ts";
import type { FactsReader } from "../measure/message-facts.ts";
import type { Preamble } from "../measure/preamble.ts";
import type { Target } from "../measure/target.ts";
import type { AskAgain } from "../models/session-summariser.ts";
import {
  type MeasuredTools,
  type OwnOffer,
  toolsOf,
  type VisibleTools,
  withTools,
  worthItsRoom,
} from "../tools/own-tools-offer.ts";
import { type DrawnView, drawView } from "./drawn-view.ts";
import type { BodyChanges, Patch, Rendering } from "./render.ts";

export interface Draft {
  readonly turn: { readonly id: string; readonly at: number };
  readonly log: SessionLog;
  readonly branch: BranchState;
  readonly wire: Wire;
  readonly path: Path;
  readonly head: Preamble;
  /** Targets in the order in which Plimsoll tries them. */
  readonly targets: readonly [Target, ...Target[]];
  readonly who: WhoAsks;
  /** Size of the whole conversation as the client sent it, before calibration. */
  readonly measured: Measurement;
  /** Tokens, bytes and media of all messages together. */
  readonly sum: Sum;
  readonly origin: DraftOrigin;
  readonly tools: DraftTools;
  readonly request: DraftRequest;
}

/**
 * proxy: a client sent the request. library: an agent appended messages. store: a person steers a
 * stored conversation while no request is under way. one-off: the messages belong to no session.
 */
export type DraftOrigin = "proxy" | "library" | "store" | "one-off";

/**
 * offered: Plimsoll's own tools may be added to the request. none: they cannot be added, so the conversation must
 * not contain calls to them. forced: the client's tool choice rules out Plimsoll's tools and its own tools do not
 * all fit, so some of them are left out. unseen: the draft was made without looking at the tools.
 */
export type DraftTools =
  | { readonly kind: "offered"; readonly offer: OwnOffer }
  | { readonly kind: "none" }
  | { readonly kind: "forced"; readonly list: MeasuredTools }
  | { readonly kind: "unseen" };

/** Everything about the request except its conversation. */
export interface DraftRequest {
  /** The bytes of the request with these changes applied. */
  readonly compose: (changes: BodyChanges) => Uint8Array;
  /** The same for another provider, if the bytes differ. */
  readonly composeForOther?: (changes: BodyChanges) => Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Secrets of the request. Plimsoll removes them from any upstream error it keeps. */
  readonly credentials?: () => readonly string[];
  /** Asks a model at the upstream of this request once more, with its headers. Absent in the library. */
  readonly askAgainAs?: (model: string) => AskAgain;
  /** Maximum answer length that the request asks for, or undefined if the request does not set one. */
  readonly output?: OutputSize;
  /** Whether the provider stores part of the conversation. If so, Plimsoll must send the whole conversation to make an edit. */
  readonly hasServerSideHistory?: boolean;
  /** Whether the client asks for a long-lived cache. */
  readonly hasLongMarks?: boolean;
  /** Whether the client asked the provider not to store the answer. */
  readonly isNotStored?: boolean;
  /** Name of the tool with which the model reports in a final turn. Undefined if a final turn asks for an answer in words. */
  readonly finalTool?: string;
  /** Tells from the size of this turn whether it must be the final turn. Set by the library after it has denied a tool result. */
  readonly isLast?: (sent: LastTurn) => boolean;
}

export interface LastTurn {
  readonly target: Target;
  readonly projection: Projection;
}

/** A view rendered as patches, with its size. */
export interface Sized {
  readonly view: View;
  readonly patches: readonly Patch[];
  /** Size of the request with this view, before calibration. */
  readonly measured: Measurement;
  /** Total bytes of the messages. */
  readonly bytes: number;
  readonly media: number;
  /** The list of tools, if it differs from the client's. */
  readonly tools: VisibleTools;
}

/** Measures a view. Only the patches are read and counted; all other messages are the client's own and already measured. */
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
  const drawing = {
    path: draft.path,
    rendering: renderingOf(draft, { tools, lastWords }),
    ruler: draft.targets[0].ruler,
  };
  const { patches, removed, added } = await drawView(facts, view, drawing);
  const measured = withTools(draft.measured, count);
  if (patches.length === 0) return { view, patches, measured, ...draft.sum, tools };
  return {
    view,
    patches,
    measured: withMessages(measured, draft, { removed, added }),
    bytes: draft.sum.bytes - removed.bytes + added.bytes,
    media: draft.sum.media - removed.media + added.media,
    tools,
  };
}

function withMessages(
  { components }: Measurement,
  { sum }: Draft,
  { removed, added }: Pick<DrawnView, "removed" | "added">,
): Measurement {
  // System prompts inside the messages are counted separately and are not part of `sum`.
  const apart = components.conversation.tokens - sum.tokens;
  const tokens = sum.tokens - removed.tokens + apart;
  const conversation = addCounts([{ ...components.conversation, tokens }, added]);
  return measurement({ ...components, conversation });
}

/**
 * Where Plimsoll may put its own texts. If the server requires alternating roles, its rule is stricter than the rule of the wire.
 */
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
  // A conversation may contain calls to Plimsoll's tools only if the tool list contains these tools.
  const isWithoutOwnTools = offer === undefined || tools.elements.length === 0;
  return {
    wire: draft.wire,
    ownTextPlacement: ownTextPlacement(draft),
    ...(lastWords === undefined ? {} : { lastWords }),
    ...(isWithoutOwnTools && draft.tools.kind !== "unseen" ? { isWithoutOwnTools } : {}),
    ...(offer === undefined ? {} : { isNative: catalogue?.isNative === true }),
    ...(catalogue === undefined ? {} : { listed: catalogue }),
  };
}

/** Plimsoll's own tools, or undefined if they are not added to the request. */
export function offerIn({ tools }: Pick<Draft, "tools">): OwnOffer | undefined {
  return tools.kind === "offered" ? tools.offer : undefined;
}

/** The draft with an offer of Plimsoll's tools. Without an offer, the conversation must not contain calls to these tools. */
export function withOffer(draft: Draft, offer: OwnOffer | undefined, limitTokens: number): Draft {
  return { ...draft, tools: offeredTools(offer, limitTokens) };
}

/** Plimsoll offers its tools only if they are worth the room they take. */
export function offeredTools(offer: OwnOffer | undefined, limitTokens: number): DraftTools {
  const worth = worthItsRoom(offer, limitTokens);
  return worth === undefined ? { kind: "none" } : { kind: "offered", offer: worth };
}

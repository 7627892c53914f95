/** Chooses the tools that stay in the list: how much room there is for them, and which of them were called last. */

import { isSpoken } from "../../compact/units/head.ts";
import type { Config } from "../../config/schema.ts";
import type { ToolSelection } from "../../message/edit.ts";
import {
  deferralNote,
  type LastUse,
  type SelectedTools,
  type StayingTools,
  selectTools,
  type ToolRoom,
} from "../../offload/defer-tools.ts";
import type { OwnTools } from "../../offload/own-tools.ts";
import type { Catalogue } from "../tools/catalogue.ts";
import { decoded } from "./conversation-for-strategies.ts";
import type { Draft } from "./draft.ts";

/** The note text of a selection that defers no tools. */
export const nothingDeferred = "";
/**
 * Share of the tools' room that a selection may fill. If it stays for good, the remaining room is for tools that the model finds
 * later.
 */
const selectedShares = { once: 0.75, each_turn: 1 } as const;
/** Maximum number of times that the room is reduced because an exact count did not fit. */
const triesMax = 4;

/** The room that is left for deferrable tools when the client's other tools and Plimsoll's own tools are in the list. */
export async function roomFor(
  { catalogue, own }: RequestTools,
  { wire }: Pick<Draft, "wire">,
  tokens: number,
): Promise<ToolRoom> {
  const nothing = { kept: [], loaded: [] };
  const least = await catalogue.list(selectionOf(catalogue, own, nothing));
  const deferredCount = catalogue.isNative ? catalogue.deferred(nothing).length : 0;
  const most = wire.tools.max ?? Number.POSITIVE_INFINITY;
  return {
    tokens: tokens - least.count.tokens,
    count: most - (least.elements.length - deferredCount),
  };
}

/** The client's tools of a request, and Plimsoll's own. */
export interface RequestTools {
  readonly catalogue: Catalogue;
  readonly own: OwnTools;
}

export type ChoosingWorld = { readonly config: Pick<Config, "agent"> };

export function selectedShare({ config: { agent } }: ChoosingWorld): number {
  return selectedShares[agent?.tool_deferral ?? "once"];
}

/**
 * The name of the message with which the user began this turn, if Plimsoll has not chosen its tools yet. Undefined if it has, or
 * if it chooses only once. The results of tools, and words of the user next to them, belong to the turn that asked for them.
 */
export async function turnToChooseFor(
  { config }: ChoosingWorld,
  { path, wire, branch }: Pick<Draft, "path" | "wire" | "branch">,
): Promise<string | undefined> {
  if (config.agent?.tool_deferral !== "each_turn") return undefined;
  await path.load();
  const begins = (index: number): boolean => {
    const message = decoded(wire, path.contentAt(index));
    const hasResults = message?.parts.some(({ kind }) => kind === "tool-result") === true;
    return isSpoken(message) && !hasResults;
  };
  let start = path.length - 1;
  while (start >= 0 && !begins(start)) start--;
  const chain = path.chainAt(start);
  return chain === branch.memory.toolsChosenFor ? undefined : chain;
}

export interface Chosen {
  readonly selection: ToolSelection;
  readonly tokens: number;
}

export interface Choosing extends RequestTools {
  readonly most: number;
  /** Share of `most` that the selection may fill. */
  readonly share: number;
  readonly lastUse: LastUse;
  readonly stays: StayingTools;
}

/** Selects tools by estimated sizes. Then counts the list exactly, and if it is too large, selects again with less room. */
export async function chooseWithin(
  draft: Pick<Draft, "wire">,
  choosing: Choosing,
): Promise<Chosen> {
  const { catalogue, own, most, share, lastUse, stays } = choosing;
  let room = await roomFor(choosing, draft, Math.floor(most * share));
  for (let tries = 1; ; tries++) {
    const chosen = selectTools(catalogue.tools, room, lastUse, stays);
    const selection = selectionOf(catalogue, own, chosen);
    const { count } = await catalogue.list(selection);
    const isFine = count.tokens <= most || selection.kept.length === 0 || tries >= triesMax;
    if (isFine) return { selection, tokens: count.tokens };
    room = { ...room, tokens: Math.floor((room.tokens * most * share) / count.tokens) };
  }
}

export async function everything({ catalogue, own, lastUse }: Choosing): Promise<Chosen> {
  const room = { tokens: Number.POSITIVE_INFINITY, count: Number.POSITIVE_INFINITY };
  const selection = selectionOf(catalogue, own, selectTools(catalogue.tools, room, lastUse));
  const open = { ...selection, note: nothingDeferred };
  return { selection: open, tokens: (await catalogue.list(open)).count.tokens };
}

function selectionOf(catalogue: Catalogue, own: OwnTools, selected: SelectedTools): ToolSelection {
  return {
    ...selected,
    note: deferralNote(catalogue.deferred(selected), own.nameOf("tool_search")),
  };
}

/** For each tool, the position of its last call. A tool that was found but never called counts as called before all others. */
export async function lastUses({ path, wire }: Draft, selected?: SelectedTools): Promise<LastUse> {
  await path.load();
  const uses = new Map<string, number>();
  let at = 1;
  for (let index = 0; index < path.length; index++) {
    for (const part of decoded(wire, path.contentAt(index))?.parts ?? [])
      if (part.kind === "tool-call") uses.set(part.name, at++);
  }
  const found = new Set(selected?.loaded);
  return (name) => uses.get(name) ?? (found.has(name) ? 0 : undefined);
}

/** The tools that must be listed because the conversation has calls of them. Most providers do not require that. */
export async function stayingTools(draft: Draft): Promise<StayingTools> {
  if (draft.wire.tools.declaresCalled !== true) return () => false;
  const lastUse = await lastUses(draft);
  return (name) => lastUse(name) !== undefined;
}

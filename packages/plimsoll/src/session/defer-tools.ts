/**
 * Tools that take too much of the window are held back. What is told is decided once and stays, whatever the client's
 * catalogue does: these bytes stand before everything else. It is decided anew only with a compaction, and grows by searches.
 */

import type { Edit, Telling } from "../message/edit.ts";
import {
  chooseTold,
  deferralNote,
  type LastUse,
  type ToldTools,
  type ToolRoom,
} from "../offload/defer-tools.ts";
import type { OwnTools } from "../offload/own-tools.ts";
import type { Compaction, CompactionWorld } from "./compaction.ts";
import type { Config } from "./config.ts";
import { type Draft, sizeView } from "./draft.ts";
import { commitEdits, reportDegraded } from "./edit-log.ts";
import { judge } from "./judge-view.ts";
import type { FitWorld } from "./last-resort.ts";
import type { OwnOffer } from "./own-offer.ts";
import { anchorOf, indexOn, viewOf } from "./path.ts";
import { guardOf } from "./projection.ts";
import { announce } from "./record.ts";
import { decoded } from "./seen.ts";
import type { Catalogue } from "./tool-catalogue.ts";
import { foldView } from "./view.ts";

const usualShare = 0.1;
/** Of what tools may take, so much is given away at first: the rest is for what is found later. */
const firstShare = 0.75;
/** The room is made smaller so often until an exact count agrees. */
const triesMax = 4;

/** What all tools of a request may take of its limit. */
export function mostToolTokens({ agent }: Config, limitTokens: number): number {
  return Math.floor(limitTokens * (agent?.tool_deferral_threshold ?? usualShare));
}

/** Room for the client's tools beside ours. */
export function roomBeside(
  { own, count }: OwnOffer,
  { maxTools = Number.POSITIVE_INFINITY }: { readonly maxTools?: number },
  tokens: number,
): ToolRoom {
  return { tokens: tokens - count.tokens, count: maxTools - own.definitions.length - 1 };
}

/** Contract: never rejects; where it cannot be done all tools are told. */
export async function deferTools(world: FitWorld, draft: Draft): Promise<void> {
  const { offer, log, branch, path } = draft;
  if (offer?.catalogue === undefined) return;
  const { catalogue } = offer;
  const view = viewOf(log, branch, path);
  if (view.tools !== undefined || wasUndone(draft)) return;
  const most = mostToolTokens(world.config, guardOf(world, draft).limit);
  const { tokens: all } = draft.measured.components.tools;
  const isTooMany = catalogue.tools.length > (draft.wire.maxTools ?? Number.POSITIVE_INFINITY);
  if (all <= most && !isTooMany) return;
  const lastUse = await lastUses(draft);
  const told = await chooseWithin(draft, { offer, catalogue, most, lastUse });
  if (told === undefined || (told.tokens >= all && !isTooMany)) return;
  const edit = toolsEdit(draft, told.telling, {
    reason: reasonFor(catalogue, told.telling),
    before: all,
    after: told.tokens,
  });
  if ((await commitEdits(world, log, [edit])) === "unsaved") {
    reportDegraded(draft, "view", "the store could not keep which tools are held back");
    return;
  }
  announce(log, {
    type: "tools-deferred",
    session: log.record.id,
    at: draft.turn.at,
    turn: draft.turn.id,
    shown: catalogue.tools.length - catalogue.deferred(told.telling).length,
    deferred: catalogue.deferred(told.telling).length,
    tokensBefore: all,
    tokensAfter: told.tokens,
  });
}

/** Somebody wants to have all of them told. */
function wasUndone({ log, path }: Draft): boolean {
  const indexOf = indexOn(path, log);
  return log.edits.some(
    ({ action, anchor }) => action.kind === "tools" && indexOf(anchor) !== undefined,
  );
}

interface Choosing {
  readonly offer: OwnOffer;
  readonly catalogue: Catalogue;
  readonly most: number;
  readonly lastUse: LastUse;
}

/** By estimates first; counted exactly, and chosen again where they were too low. */
async function chooseWithin(
  { wire }: Draft,
  { offer, catalogue, most, lastUse }: Choosing,
): Promise<{ readonly telling: Telling; readonly tokens: number } | undefined> {
  let room = roomBeside(offer, wire, Math.floor(most * firstShare));
  for (let tries = 1; ; tries++) {
    const telling = tellingOf(catalogue, offer.own, chooseTold(catalogue.tools, room, lastUse));
    const { count } = await catalogue.list(telling);
    const isFine = count.tokens <= most || telling.kept.length === 0 || tries >= triesMax;
    if (isFine) return { telling, tokens: count.tokens };
    room = { ...room, tokens: Math.floor((room.tokens * most * firstShare) / count.tokens) };
  }
}

function tellingOf(catalogue: Catalogue, own: OwnTools, told: ToldTools): Telling {
  return { ...told, note: deferralNote(catalogue.deferred(told), own.nameOf("tool_search")) };
}

function reasonFor(catalogue: Catalogue, told: ToldTools): string {
  const deferred = catalogue.deferred(told).length;
  return `Tools take too much of the window: ${deferred} of ${catalogue.tools.length} are held back.`;
}

/** By its place among all calls of the conversation. */
export async function lastUses({ path, wire }: Draft): Promise<LastUse> {
  await path.load();
  const uses = new Map<string, number>();
  let at = 1;
  for (let index = 0; index < path.length; index++) {
    for (const part of decoded(wire, path.contentAt(index))?.parts ?? [])
      if (part.kind === "tool-call") uses.set(part.name, at++);
  }
  return (name) => uses.get(name);
}

export interface ToolsReason {
  readonly reason: string;
  readonly before: number;
  readonly after: number;
}

export function toolsEdit(
  { log, branch, path, turn }: Draft,
  telling: Telling,
  { reason, before, after }: ToolsReason,
): Edit {
  return {
    seq: (log.edits.at(-1)?.seq ?? 0) + 1,
    branch: branch.record.id,
    step: `${turn.id}+tools`,
    anchor: anchorOf(log, path),
    at: turn.at,
    action: { kind: "tools", ...telling },
    place: "undefined",
    strategy: "defer_tools",
    reason,
    tokensBefore: before,
    tokensAfter: after,
  };
}

/**
 * With a compaction the conversation is read anew anyway: tools that were found and called since stand among the others from
 * then on, and those that were never called are held back again. Without any that were found nothing changes.
 */
export async function toldAnew(
  world: FitWorld & CompactionWorld,
  draft: Draft,
  compaction: Compaction,
): Promise<Compaction> {
  const { offer, log, path } = draft;
  const { tools: told } = compaction.sized.view;
  const hasLoaded = told !== undefined && told.loaded.length > 0;
  if (offer?.catalogue === undefined || !hasLoaded || compaction.edits.length === 0)
    return compaction;
  const { catalogue } = offer;
  const used = await lastUses(draft);
  // What was only just found has not been called yet.
  const lastUse: LastUse = (name) => used(name) ?? (told.loaded.includes(name) ? 0 : undefined);
  const most = mostToolTokens(world.config, guardOf(world, draft).limit);
  const chosen = await chooseWithin(draft, { offer, catalogue, most, lastUse });
  if (chosen === undefined) return compaction;
  const edit: Edit = {
    ...toolsEdit(draft, chosen.telling, {
      reason: "Tools that were found and called stand among the others now.",
      before: compaction.sized.measured.tools,
      after: chosen.tokens,
    }),
    seq: (log.edits.at(-1)?.seq ?? 0) + 1 + compaction.edits.length,
    step: draft.turn.id,
  };
  const edits = [...compaction.edits, edit];
  const view = foldView(indexOn(path, log), [...log.edits, ...edits]);
  const sized = await sizeView(world.facts, draft, view);
  return judge(world, draft, sized).kind === "invalid"
    ? compaction
    : { ...compaction, edits, sized };
}

/**
 * Defers tools if the tool list takes too much of the window. Plimsoll selects the listed tools once and keeps this list stable,
 * even if the client's list changes. The list comes first in the prompt, so any change to it invalidates the provider's cache.
 * Searches add tools to it. Plimsoll selects again with a compaction, if the list has become too large, or if all tools fit
 * again.
 */

import type { Config } from "../../config/schema.ts";
import type { NewEdit, ToolSelection } from "../../message/edit.ts";
import {
  deferralNote,
  type LastUse,
  type SelectedTools,
  type StayingTools,
  selectTools,
  type ToolRoom,
} from "../../offload/defer-tools.ts";
import type { OwnTools } from "../../offload/own-tools.ts";
import type { WireRequest } from "../../wire/format/wire.ts";
import { decoded } from "../draft/conversation-for-strategies.ts";
import { type Draft, offerIn, withOffer } from "../draft/draft.ts";
import { type CalibrationWorld, guardOf } from "../draft/projection.ts";
import { commit, editOn, type ProposalWorld, propose } from "../draft/propose-edits.ts";
import { type ToolTokens, tokensIn } from "../draft/tool-tokens.ts";
import { announce } from "../log/append.ts";
import type { EditStore } from "../log/edits.ts";
import { remember } from "../log/log.ts";
import { indexOn, viewOf } from "../log/path.ts";
import { reportDegraded } from "../log/report.ts";
import { isAnchoredOn } from "../log/view.ts";
import type { Catalogue } from "../tools/catalogue.ts";
import { isNeeded, type OwnOffer } from "../tools/own-tools-offer.ts";
import type { Compaction } from "./compaction.ts";

/** The note text of a selection that defers no tools. */
const nothingDeferred = "";
/** Share of the tools' room that the first selection may fill. The remaining room is for tools that the model finds later. */
const firstShare = 0.75;
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

interface ToolWorld extends ProposalWorld, EditStore {
  readonly config: Config;
}

/** Contract: never rejects. If deferring fails, the model sees all tools. */
export async function deferTools(world: ToolWorld, draft: Draft): Promise<void> {
  const { log, branch, path } = draft;
  const offer = offerIn(draft);
  const catalogue = offer?.catalogue;
  if (
    offer === undefined ||
    catalogue === undefined ||
    branch.memory.undeferrable === catalogue.key
  )
    return;
  const { tools: selected } = viewOf(log, branch, path);
  const tokens = tokensIn(world, draft);
  const stays = await stayingTools(draft);
  const adjustment = await adjustmentFor(draft, { offer, catalogue, tokens, selected, stays });
  if (adjustment === "as it is") return;
  const lastUse = await lastUses(draft, selected);
  const choosing = { catalogue, own: offer.own, most: tokens.chosen, lastUse, stays };
  const chosen =
    adjustment === "all" ? await everything(choosing) : await chooseWithin(draft, choosing);
  if (selected !== undefined && isSameSelection(selected, chosen.selection)) return;
  const { tokens: all } = draft.measured.components.tools;
  if (selected === undefined && chosen.tokens >= all && adjustment !== "fewer") return;
  await commitSelection(world, draft, { catalogue, chosen, all });
}

/**
 * fewer: there are more tools than the provider accepts. smaller: the tools take too many tokens. all: there is room for all
 * tools.
 */
type Adjustment = "as it is" | "fewer" | "smaller" | "all";

interface AdjustmentInput {
  readonly offer: OwnOffer;
  readonly catalogue: Catalogue;
  readonly tokens: ToolTokens;
  readonly selected: ToolSelection | undefined;
  readonly stays: StayingTools;
}

function adjustmentFor(draft: Draft, input: AdjustmentInput): Adjustment | Promise<Adjustment> {
  const { selected, ...before } = input;
  if (selected === undefined) return wasUndone(draft) ? "as it is" : firstAdjustment(draft, before);
  const isOutdated =
    selected.note === nothingDeferred && before.catalogue.deferred(selected).length > 0;
  const first = isOutdated ? firstAdjustment(draft, before) : "as it is";
  return first === "as it is" ? laterAdjustment(draft, { ...before, selected }) : first;
}

function firstAdjustment(
  draft: Draft,
  { offer, catalogue, tokens }: Omit<AdjustmentInput, "selected" | "stays">,
): Adjustment {
  const { log, branch, path, wire, measured } = draft;
  const isTooMany = catalogue.tools.length > (wire.tools.max ?? Number.POSITIVE_INFINITY);
  // Plimsoll's tools are needed, but the tool list is already full.
  const mustJoin = offer.isTooMany && isNeeded(offer, viewOf(log, branch, path));
  if (isTooMany || mustJoin) return "fewer";
  return measured.components.tools.tokens > tokens.chosen ? "smaller" : "as it is";
}

/**
 * Checks whether an existing selection must change, because the client's tools or the known size of the window may have changed.
 */
async function laterAdjustment(
  { wire, measured }: Draft,
  {
    offer,
    catalogue,
    tokens,
    selected,
    stays,
  }: AdjustmentInput & { readonly selected: ToolSelection },
): Promise<Adjustment> {
  // The model may call a deferred tool that it knows from somewhere else.
  if (catalogue.deferred(selected).some(({ name }) => stays(name))) return "smaller";
  const maxTools = wire.tools.max ?? Number.POSITIVE_INFINITY;
  const all = measured.components.tools.tokens + offer.count.tokens;
  const count = catalogue.tools.length + offer.elements.length + 1;
  const isRoomy = all <= tokens.chosen * firstShare && count <= maxTools;
  if (isRoomy && catalogue.deferred(selected).length > 0) return "all";
  // If the provider defers tools itself, it gets found tools inside the conversation. They are then not part of the list.
  const list = await catalogue.list(catalogue.isNative ? { ...selected, loaded: [] } : selected);
  const isTooMany = !catalogue.isNative && list.elements.length > maxTools;
  const mayGo = [...selected.kept, ...selected.loaded].some(catalogue.has);
  // Tools that the model has found stay, even if the system prompt is large.
  const allowed = selected.loaded.length === 0 ? tokens.chosen : tokens.most;
  return mayGo && (isTooMany || list.count.tokens > allowed) ? "smaller" : "as it is";
}

function isSameSelection(one: ToolSelection, other: ToolSelection): boolean {
  return JSON.stringify([one.kept, one.loaded]) === JSON.stringify([other.kept, other.loaded]);
}

interface Chosen {
  readonly selection: ToolSelection;
  readonly tokens: number;
}

interface Committing {
  readonly catalogue: Catalogue;
  readonly chosen: Chosen;
  /** Tokens of the client's whole tool list. */
  readonly all: number;
}

/** Stores the selection as an edit. If the selection would be invalid, Plimsoll does not try again with this catalogue. */
async function commitSelection(
  world: ProposalWorld & EditStore,
  draft: Draft,
  { catalogue, chosen, all }: Committing,
): Promise<void> {
  const { log, branch, turn } = draft;
  const { selection, tokens } = chosen;
  const deferred = catalogue.deferred(selection).length;
  const edit = toolsEdit(draft, selection, {
    reason:
      deferred === 0
        ? "All tools fit again."
        : `Tools take too much of the window: ${deferred} of ${catalogue.tools.length} are deferred.`,
    before: all,
    after: tokens,
  });
  const proposed = await propose(world, draft, [edit]);
  if (proposed.kind === "invalid") {
    remember(branch, { kind: "tools-undeferrable", catalogue: catalogue.key });
    reportDegraded(draft, "view", `tools cannot be deferred: ${proposed.reason}`);
    return;
  }
  if (proposed.kind === "pointless") return;
  if ((await commit(world, draft, proposed)) === "unsaved") {
    reportDegraded(draft, "view", "the store could not save the selection of deferred tools");
    return;
  }
  announce(log, {
    type: "tools-deferred",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    shown: catalogue.tools.length - deferred,
    deferred,
    tokensBefore: all,
    tokensAfter: tokens,
  });
}

/** Whether a person has undone the deferral, which means that the model should see all tools. */
function wasUndone({ log, path }: Draft): boolean {
  const indexOf = indexOn(path, log);
  return log.edits.some((edit) => edit.action.kind === "tools" && isAnchoredOn(indexOf, edit));
}

interface Choosing extends RequestTools {
  readonly most: number;
  readonly lastUse: LastUse;
  readonly stays: StayingTools;
}

/** Selects tools by estimated sizes. Then counts the list exactly, and if it is too large, selects again with less room. */
async function chooseWithin(draft: Pick<Draft, "wire">, choosing: Choosing): Promise<Chosen> {
  const { catalogue, own, most, lastUse, stays } = choosing;
  let room = await roomFor(choosing, draft, Math.floor(most * firstShare));
  for (let tries = 1; ; tries++) {
    const chosen = selectTools(catalogue.tools, room, lastUse, stays);
    const selection = selectionOf(catalogue, own, chosen);
    const { count } = await catalogue.list(selection);
    const isFine = count.tokens <= most || selection.kept.length === 0 || tries >= triesMax;
    if (isFine) return { selection, tokens: count.tokens };
    room = { ...room, tokens: Math.floor((room.tokens * most * firstShare) / count.tokens) };
  }
}

async function everything({ catalogue, own, lastUse }: Choosing): Promise<Chosen> {
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

export interface AskedTools {
  readonly offer: OwnOffer | undefined;
  /** The settings in the request that concern its tools. */
  readonly request: Pick<WireRequest, "forbidsOwnTools" | "wantedTools">;
}

/** Decides which tools a request contains: the client's tools, plus Plimsoll's own if the model may choose its tools freely. */
export function withTools(
  world: ForcedWorld,
  draft: Draft,
  { offer, request }: AskedTools,
): Draft | Promise<Draft> {
  const { forbidsOwnTools, wantedTools: wanted = [] } = request;
  return forbidsOwnTools === true
    ? withFewerTools(world, draft, { offer, wanted })
    : withOffer(draft, offer, guardOf(world, draft).limit);
}

/**
 * If the client restricts the tool choice, Plimsoll cannot add its tools, so the model could not search for deferred tools. If
 * all of the client's tools fit, the list contains all of them. Otherwise it contains the tools that Plimsoll would not defer,
 * plus the tools that the client's tool choice names.
 */
async function withFewerTools(
  world: ForcedWorld,
  draft: Draft,
  { offer, wanted }: { readonly offer: OwnOffer | undefined; readonly wanted: readonly string[] },
): Promise<Draft> {
  const plain: Draft = { ...draft, tools: { kind: "none" } };
  const catalogue = offer?.catalogue;
  if (offer === undefined || catalogue === undefined) return plain;
  if (isFittingWhole(world, draft, catalogue)) return plain;
  const selected = await usualSelection(world, draft, { catalogue, own: offer.own });
  const stays = await stayingTools(draft);
  const called = catalogue.deferred(selected).flatMap(({ name }) => (stays(name) ? [name] : []));
  const named = [...called, ...wanted].filter((name) => !selected.kept.includes(name));
  const loaded = [...selected.loaded, ...named];
  const list = await catalogue.listWithoutOurs({ ...selected, loaded: [...new Set(loaded)] });
  const listed = { tools: { elements: list.elements, isWhole: true }, count: list.count };
  return { ...draft, tools: { kind: "forced", list: listed } };
}

type ForcedWorld = CalibrationWorld & Pick<ToolWorld, "config">;

/** Whether the request fits with all of its tools and the provider accepts so many tools. */
function isFittingWhole(world: ForcedWorld, draft: Draft, { tools }: Catalogue): boolean {
  const { limit, thresholds } = guardOf(world, draft);
  const { total } = world.calibrations.correct(draft.log, draft.targets[0], draft.measured);
  const maxTools = draft.wire.tools.max ?? Number.POSITIVE_INFINITY;
  return total <= limit * thresholds.compact && tools.length <= maxTools;
}

/** The selection that would apply if the model could choose freely. */
async function usualSelection(
  world: Pick<ToolWorld, "config">,
  draft: Draft,
  requestTools: RequestTools,
): Promise<ToolSelection> {
  const { tools } = viewOf(draft.log, draft.branch, draft.path);
  if (tools !== undefined) return tools;
  const { chosen: most } = tokensIn(world, draft);
  const { selection } = await chooseWithin(draft, {
    ...requestTools,
    most,
    lastUse: await lastUses(draft),
    stays: await stayingTools(draft),
  });
  return selection;
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

export interface ToolsReason {
  readonly reason: string;
  readonly before: number;
  readonly after: number;
}

export function toolsEdit(
  draft: Draft,
  selection: ToolSelection,
  { reason, before, after }: ToolsReason,
): NewEdit {
  const made = {
    action: { kind: "tools" as const, ...selection },
    strategy: "defer_tools",
    reason,
    tokensBefore: before,
    tokensAfter: after,
  };
  return editOn(draft, made, `${draft.turn.id}+tools`);
}

/**
 * A compaction makes the provider read the conversation again anyway. So Plimsoll selects tools again: tools that were found and
 * called become regular ones, and tools that were found but never called are deferred again. If the model has found no tools, the
 * selection stays.
 */
export async function reselectTools(
  world: ProposalWorld & Pick<ToolWorld, "config">,
  draft: Draft,
  compaction: Compaction,
): Promise<Compaction> {
  const offer = offerIn(draft);
  const { tools: selected } = compaction.sized.view;
  const hasLoaded = selected !== undefined && selected.loaded.length > 0;
  if (offer?.catalogue === undefined || !hasLoaded || compaction.edits.length === 0)
    return compaction;
  const { catalogue, own } = offer;
  const used = await lastUses(draft, selected);
  // The model is about to call the tools that it found last.
  const found = new Set(draft.branch.memory.found?.names);
  const lastUse: LastUse = (name) => (found.has(name) ? Number.MAX_SAFE_INTEGER : used(name));
  const chosen = await chooseWithin(draft, {
    catalogue,
    own,
    most: tokensIn(world, draft).chosen,
    lastUse,
    stays: await stayingTools(draft),
  });
  const edit: NewEdit = {
    ...toolsEdit(draft, chosen.selection, {
      reason: "Tools that were found and called are now part of the regular list.",
      before: compaction.sized.measured.tools,
      after: chosen.tokens,
    }),
    step: draft.turn.id,
  };
  const proposed = await propose(world, draft, [...compaction.edits, edit]);
  if (proposed.kind === "invalid" || proposed.kind === "pointless") return compaction;
  return { ...compaction, edits: proposed.edits, sized: proposed.sized };
}

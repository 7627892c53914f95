/**
 * Defers tools if the tool list takes too much of the window. Plimsoll selects the listed tools once and keeps this list stable,
 * even if the client's list changes. The list comes first in the prompt, so any change to it invalidates the provider's cache.
 * Searches add tools to it. Plimsoll selects again with a compaction, if the list has become too large, or if all tools fit
 * again. With `tool_deferral: each_turn`, it also selects again for each turn of the user.
 */

import type { Config } from "../../config/schema.ts";
import { deferral, type NewEdit, type ToolSelection } from "../../message/edit.ts";
import type { LastUse, StayingTools } from "../../offload/defer-tools.ts";
import type { WireRequest } from "../../wire/format/wire.ts";
import {
  type Chosen,
  chooseWithin,
  everything,
  lastUses,
  nothingDeferred,
  type RequestTools,
  selectedShare,
  stayingTools,
  turnToChooseFor,
} from "../draft/choose-tools.ts";
import { type Draft, offerIn, withOffer } from "../draft/draft.ts";
import { deferralNotes } from "../draft/note-deferred.ts";
import { type CalibrationWorld, guardOf } from "../draft/projection.ts";
import {
  commit,
  editOn,
  type ProposalWorld,
  type Proposed,
  propose,
} from "../draft/propose-edits.ts";
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

interface ToolWorld extends ProposalWorld, EditStore {
  readonly config: Config;
}

/** Contract: never rejects. If deferring fails, the model sees all tools. */
export async function deferTools(world: ToolWorld, draft: Draft): Promise<void> {
  const input = await readInput(world, draft);
  if (input === undefined) return;
  const { offer, catalogue, selected, newTurn } = input;
  const adjustment = await adjustmentFor(draft, input);
  if (newTurn !== undefined) remember(draft.branch, { kind: "tools-chosen", for: newTurn });
  if (adjustment === "as it is") return;
  const chosen = await choose(draft, input, adjustment);
  if (selected !== undefined && isSameSelection(selected, chosen.selection, input)) return;
  const { tokens: all } = draft.measured.components.tools;
  if (selected === undefined && chosen.tokens >= all && adjustment !== "fewer") return;
  await commitSelection(world, draft, { catalogue, own: offer.own, chosen, all });
}

/** Undefined if no tools can be deferred. */
async function readInput(world: ToolWorld, draft: Draft): Promise<AdjustmentInput | undefined> {
  const { log, branch, path } = draft;
  const offer = offerIn(draft);
  const catalogue = offer?.catalogue;
  if (
    offer === undefined ||
    catalogue === undefined ||
    branch.memory.undeferrable === catalogue.key
  )
    return undefined;
  return {
    offer,
    catalogue,
    tokens: tokensIn(world, draft),
    selected: viewOf(log, branch, path).tools,
    stays: await stayingTools(draft),
    share: selectedShare(world),
    newTurn: await turnToChooseFor(world, draft),
  };
}

async function choose(
  draft: Draft,
  { offer, catalogue, tokens, selected, stays, share, newTurn }: AdjustmentInput,
  adjustment: Adjustment,
): Promise<Chosen> {
  // In a new turn, tools that were found in the last one and never called count as never called.
  const lastUse = await lastUses(draft, newTurn === undefined ? selected : undefined);
  const choosing = { catalogue, own: offer.own, most: tokens.chosen, share, lastUse, stays };
  return adjustment === "all" ? everything(choosing) : chooseWithin(draft, choosing);
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
  readonly share: number;
  /** The turn of the user for which the tools must be chosen anew. Undefined if they need not. */
  readonly newTurn: string | undefined;
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
  { offer, catalogue, tokens }: Pick<AdjustmentInput, "offer" | "catalogue" | "tokens">,
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
async function laterAdjustment(draft: Draft, input: LaterInput): Promise<Adjustment> {
  const { catalogue, selected, stays } = input;
  const deferred = catalogue.deferred(selected);
  // The model may call a deferred tool that it knows from somewhere else.
  if (deferred.some(({ name }) => stays(name))) return "smaller";
  const isRoomy = isRoomForAll(draft, input);
  const isNewTurn = input.newTurn !== undefined;
  // In a new turn, the client may have taken away all tools that were deferred.
  const isTold = isNewTurn && selected.note !== nothingDeferred;
  if (isRoomy && (deferred.length > 0 || isTold)) return "all";
  return (isNewTurn && !isRoomy) || (await isListTooLarge(draft, input)) ? "smaller" : "as it is";
}

type LaterInput = AdjustmentInput & { readonly selected: ToolSelection };

function isRoomForAll(
  { wire, measured }: Draft,
  { offer, catalogue, tokens, share }: LaterInput,
): boolean {
  const all = measured.components.tools.tokens + offer.count.tokens;
  const count = catalogue.tools.length + offer.elements.length + 1;
  const maxTools = wire.tools.max ?? Number.POSITIVE_INFINITY;
  return all <= tokens.chosen * share && count <= maxTools;
}

/** Whether the selected tools take too much, and some of them can be deferred. */
async function isListTooLarge(
  { wire }: Draft,
  { catalogue, tokens, selected }: LaterInput,
): Promise<boolean> {
  // If the provider defers tools itself, it gets found tools inside the conversation. They are then not part of the list.
  const list = await catalogue.list(catalogue.isNative ? { ...selected, loaded: [] } : selected);
  const maxTools = wire.tools.max ?? Number.POSITIVE_INFINITY;
  const isTooMany = !catalogue.isNative && list.elements.length > maxTools;
  const mayGo = [...selected.kept, ...selected.loaded].some(catalogue.has);
  // Tools that the model has found stay, even if the system prompt is large.
  const allowed = selected.loaded.length === 0 ? tokens.chosen : tokens.most;
  return mayGo && (isTooMany || list.count.tokens > allowed);
}

/** In a new turn, the note with the number of deferred tools must be the same too. */
function isSameSelection(
  one: ToolSelection,
  other: ToolSelection,
  { newTurn }: AdjustmentInput,
): boolean {
  const isSameNote = newTurn === undefined || one.note === other.note;
  return (
    isSameNote &&
    JSON.stringify([one.kept, one.loaded]) === JSON.stringify([other.kept, other.loaded])
  );
}

interface Committing extends RequestTools {
  readonly chosen: Chosen;
  /** Tokens of the client's whole tool list. */
  readonly all: number;
}

/** Stores the selection as an edit. If the selection would be invalid, Plimsoll does not try again with this catalogue. */
async function commitSelection(
  world: ToolWorld,
  draft: Draft,
  committing: Committing,
): Promise<void> {
  const { log, branch, turn } = draft;
  const { catalogue, chosen, all } = committing;
  const proposed = await proposeSelection(world, draft, committing);
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
  const deferred = catalogue.deferred(chosen.selection).length;
  announce(log, {
    type: "tools-deferred",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    shown: catalogue.tools.length - deferred,
    deferred,
    tokensBefore: all,
    tokensAfter: chosen.tokens,
  });
}

/** The edit with the selection, and the note about it if the configuration asks for one and it is valid here. */
async function proposeSelection(
  world: ToolWorld,
  draft: Draft,
  { catalogue, own, chosen, all }: Committing,
): Promise<Proposed> {
  const { selection, tokens } = chosen;
  const deferred = catalogue.deferred(selection);
  const edit = toolsEdit(draft, selection, {
    reason:
      deferred.length === 0
        ? "All tools fit again."
        : `Tools take too much of the window: ${deferred.length} of ${catalogue.tools.length} are deferred.`,
    before: all,
    after: tokens,
  });
  const notes = deferralNotes(world.config, draft, {
    step: edit.step,
    count: new Set(deferred.map(({ name }) => name)).size,
    searchTool: own.nameOf("tool_search"),
  });
  const noted = await propose(world, draft, [edit, ...notes]);
  return noted.kind === "invalid" ? propose(world, draft, [edit]) : noted;
}

/** Whether a person has undone the deferral, which means that the model should see all tools. */
function wasUndone({ log, path }: Draft): boolean {
  const indexOf = indexOn(path, log);
  return log.edits.some((edit) => edit.action.kind === "tools" && isAnchoredOn(indexOf, edit));
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
  const turn = await turnToChooseFor(world, draft);
  if (tools !== undefined && turn === undefined) return tools;
  const { chosen: most } = tokensIn(world, draft);
  const { selection } = await chooseWithin(draft, {
    ...requestTools,
    most,
    share: selectedShare(world),
    lastUse: await lastUses(draft),
    stays: await stayingTools(draft),
  });
  return selection;
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
    strategy: deferral,
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
    share: selectedShare(world),
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

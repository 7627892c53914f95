/** `tool_search`: the model searches for deferred tools. It can call the tools it finds from the next round on. */

import type { Config } from "../../config/schema.ts";
import type { ToolSelection } from "../../message/edit.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import {
  deferralNote,
  type SelectedTools,
  type StayingTools,
  withLoaded,
} from "../../offload/defer-tools.ts";
import type { OwnAnswer } from "../../offload/own-tools.ts";
import { readingCost } from "../../prompt/compaction-payoff.ts";
import { toolSearchTexts } from "../../text/for-models.ts";
import { lastUses, type RequestTools, roomFor, stayingTools } from "../draft/choose-tools.ts";
import { type Draft, offerIn, type Sized } from "../draft/draft.ts";
import { assessView, type CalibrationWorld, guardOf } from "../draft/projection.ts";
import { commit, type ProposalWorld, propose } from "../draft/propose-edits.ts";
import { mostToolTokens } from "../draft/tool-tokens.ts";
import { announce } from "../log/append.ts";
import type { EditStore } from "../log/edits.ts";
import { remember } from "../log/log.ts";
import { viewOf } from "../log/path.ts";
import type { PricesOf } from "../measure/prices.ts";
import type { Catalogue } from "../tools/catalogue.ts";
import { toolsEdit } from "./defer-tools.ts";
import { type Fitted, fitted } from "./last-resort.ts";

/** Maximum number of tools that one search loads. For further matches, the answer only gives their names. */
const loadedMax = 5;
const namedMax = 10;
/** Maximum length in characters of a schema that the answer repeats. A longer schema appears only in the tool list. */
const schemaCharsMax = 1500;
const descriptionCharsMax = 600;
/**
 * The room for found tools if the provider defers tools itself. Its list never changes, so no tool has to make room for another.
 * Whether the window has room is checked separately.
 */
const roomBehind = { tokens: Number.POSITIVE_INFINITY, count: Number.POSITIVE_INFINITY };

export interface FoundTools {
  readonly fitted: Fitted;
  readonly answer: OwnAnswer;
}

export interface ToolSearch {
  readonly query: string;
  /** The request as it would be sent without this search. */
  readonly before: Fitted;
  /** Tokens of this turn's inner rounds so far. They are not part of `before`. */
  readonly innerTokens: number;
  /** Whether an earlier search has changed the list and no request has been sent since then. */
  readonly isBehindAnother: boolean;
}

/** Contract: the tools in the answer can be called with the next request, and the selection is stored. */
export async function loadTools(
  world: LoadWorld,
  draft: Draft,
  search: ToolSearch,
): Promise<FoundTools> {
  const { before, query } = search;
  const failed = (text: string): FoundTools => ({
    fitted: before,
    answer: { text, isError: true },
  });
  const deferral = deferralIn(draft);
  if (deferral === undefined) return failed(toolSearchTexts.nothingDeferred);
  const { requestTools, selected } = deferral;
  const found = requestTools.catalogue.find(query, selected, namedMax);
  if (found.length === 0) return failed(toolSearchTexts.noMatch);
  const next = await withFound(world, draft, { requestTools, selected, found, search });
  if (next === undefined)
    return failed(toolSearchTexts.noRoom(found, requestTools.own.nameOf("compact_context")));
  const { names } = next;
  const sized = await commitSelection(world, draft, next.selection, before);
  if (sized === undefined) return failed(toolSearchTexts.notNow);
  const isSame = requestTools.catalogue.isNative || search.isBehindAnother;
  noteFound(draft, names, rereading(world, draft, before, isSame));
  return {
    fitted: fittedWith(world, draft, sized, before),
    answer: answerFor(requestTools.catalogue, { names, found }),
  };
}

interface LoadWorld extends ProposalWorld, EditStore, CalibrationWorld {
  readonly config: Config;
  readonly pricesOf: PricesOf;
}

/** The tools of a request and the current selection. Undefined if no tools are deferred. */
function deferralIn(draft: Draft): Pick<Finding, "requestTools" | "selected"> | undefined {
  const offer = offerIn(draft);
  const catalogue = offer?.catalogue;
  const selected = viewOf(draft.log, draft.branch, draft.path).tools;
  if (offer === undefined || catalogue === undefined || selected === undefined) return undefined;
  return { requestTools: { catalogue, own: offer.own }, selected };
}

/** Records the found tools, so that later searches of the same turn do not remove them. */
function noteFound(draft: Draft, names: readonly string[], reread: Rereading): void {
  const { log, branch, turn } = draft;
  const all = [...foundBefore(draft), ...names];
  remember(branch, { kind: "tools-found", turn: turn.id, names: all });
  announce(log, {
    type: "tools-loaded",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    names,
    ...reread,
  });
}

/** The turn as Plimsoll will send it from now on. */
function fittedWith(
  world: LoadWorld,
  draft: Draft,
  sized: Sized,
  { outcome, target }: Fitted,
): Fitted {
  const after = assessView(world, draft, sized, guardOf(world, draft));
  const changed = outcome === "passthrough" ? "edited" : outcome;
  return fitted(draft, { ...after, sized, target, outcome: changed });
}

interface Rereading {
  readonly rereadTokens: number;
  readonly priceUsd?: number;
}

/**
 * Tokens that the provider must read again after the tools have changed, and the price of these tokens. Tools come first in the
 * prompt, so everything after them must be read again.
 */
function rereading(
  { pricesOf }: Pick<LoadWorld, "pricesOf">,
  { targets }: Draft,
  { measurement }: Fitted,
  isSame: boolean,
): Rereading {
  const rereadTokens = isSame ? 0 : measurement.total - measurement.tools;
  const { prices } = pricesOf(targets[0]);
  if (prices === undefined) return { rereadTokens };
  const priceUsd =
    readingCost(prices, rereadTokens, 0) - readingCost(prices, rereadTokens, rereadTokens);
  return { rereadTokens, priceUsd };
}

function foundBefore({ branch, turn }: Draft): readonly string[] {
  const { found } = branch.memory;
  return found?.turn === turn.id ? found.names : [];
}

interface Finding {
  readonly requestTools: RequestTools;
  readonly selected: ToolSelection;
  /** Names of the matching tools, best match first. */
  readonly found: readonly string[];
  readonly search: ToolSearch;
}

/**
 * Loads as many of the best matches as fit into the tools' share of the limit, by an exact count. Loads the best match even if it
 * does not fit into that share, as long as the window has room.
 */
async function withFound(
  { config }: Pick<LoadWorld, "config">,
  draft: Draft,
  { requestTools, selected, found, search }: Finding,
): Promise<{ readonly selection: ToolSelection; readonly names: readonly string[] } | undefined> {
  const { catalogue } = requestTools;
  const most = mostToolTokens(config, search.before.limit);
  const lastUse = await lastUses(draft, selected);
  const stays = await foundOrCalled(draft);
  const room = catalogue.isNative ? roomBehind : await roomFor(requestTools, draft, most);
  for (
    let names = thatFit(catalogue, { found, search, most });
    names.length > 0;
    names = names.slice(0, -1)
  ) {
    const chosen = withLoaded(catalogue.tools, selected, { names, stays, room, lastUse });
    const selection = { ...chosen, note: noteFor(requestTools, selected, chosen) };
    const { count } = await catalogue.list(selection);
    if (catalogue.isNative || count.tokens <= most || names.length === 1)
      return { selection, names };
  }
  return undefined;
}

/**
 * If tools left the list, the note counts anew. Otherwise it stays the same, so that the list up to the new tools is the same for
 * the provider's cache.
 */
function noteFor(
  { catalogue, own }: RequestTools,
  before: ToolSelection,
  chosen: SelectedTools,
): string {
  const listed = new Set([...chosen.kept, ...chosen.loaded]);
  const isLonger = [...before.kept, ...before.loaded].every((name) => listed.has(name));
  return isLonger
    ? before.note
    : deferralNote(catalogue.deferred(chosen), own.nameOf("tool_search"));
}

/** The tools that this search may not remove: those of earlier searches of the turn, and those that the provider wants listed. */
async function foundOrCalled(draft: Draft): Promise<StayingTools> {
  const found = new Set(foundBefore(draft));
  const isCalled = await stayingTools(draft);
  return (name) => found.has(name) || isCalled(name);
}

/** The best matches that the window has room for, best match first. */
function thatFit(
  { tools }: Catalogue,
  { found, search, most }: Pick<Finding, "found" | "search"> & { readonly most: number },
): readonly string[] {
  const { before, innerTokens } = search;
  const free = before.limit - before.tokensAfter - innerTokens;
  let room = Math.min(most, free);
  const names: string[] = [];
  for (const name of found) {
    const tokens = tools
      .filter((tool) => tool.name === name)
      .reduce((sum, tool) => sum + tool.tokens, 0);
    if (names.length >= loadedMax || tokens > room) continue;
    names.push(name);
    room -= tokens;
  }
  return names;
}

/** Stores the selection as an edit. Returns undefined if the selection would be invalid or cannot be stored. */
async function commitSelection(
  world: ProposalWorld & EditStore,
  draft: Draft,
  selection: ToolSelection,
  before: Fitted,
): Promise<Sized | undefined> {
  const edit = toolsEdit(draft, selection, {
    reason: "The model searched for tools.",
    before: before.measured.tools,
    after: 0,
  });
  const proposed = await propose(world, draft, [edit]);
  if (proposed.kind === "invalid" || proposed.kind === "pointless") return undefined;
  const { sized } = proposed;
  const edits = proposed.edits.map((one) => ({ ...one, tokensAfter: sized.measured.tools }));
  const saved = await commit(world, draft, { ...proposed, edits });
  return saved === "stored" ? sized : undefined;
}

interface Found {
  readonly names: readonly string[];
  readonly found: readonly string[];
}

/** The answer to a search. If the provider defers tools itself, the answer has the provider's own form. */
function answerFor(catalogue: Catalogue, { names, found }: Found): OwnAnswer {
  const blocks = catalogue.found(names);
  if (blocks.length > 0) return { text: toolSearchTexts.found(names), isError: false, blocks };
  const others = found.filter((name) => !names.includes(name));
  const described = names.map((name) => describe(name, catalogue.definition(name)));
  return { text: toolSearchTexts.loaded(described, others), isError: false };
}

function describe(name: string, tool: ToolDefinition | undefined): string {
  const description = (tool?.description ?? "").slice(0, descriptionCharsMax);
  const schema = JSON.stringify(tool?.parameters ?? {});
  const isShort = schema.length <= schemaCharsMax;
  return [`## ${name}`, description, isShort ? schema : toolSearchTexts.schemaInList]
    .filter((line) => line !== "")
    .join("\n");
}

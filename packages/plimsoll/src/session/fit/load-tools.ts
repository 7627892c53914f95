/** `tool_search`: the model looks for tools that it was not told of; what is found can be called from the next round on. */

import type { Telling } from "../../message/edit.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import { withLoaded } from "../../offload/defer-tools.ts";
import type { OwnAnswer } from "../../offload/own-tools.ts";
import { readingCost } from "../../prompt/compaction-payoff.ts";
import { type Draft, offerIn, type Sized } from "../draft/draft.ts";
import { guardOf, judged } from "../draft/projection.ts";
import { commit, propose } from "../draft/propose-edits.ts";
import { announce } from "../log/append.ts";
import { remember } from "../log/log.ts";
import { viewOf } from "../log/path.ts";
import type { Catalogue } from "../tools/catalogue.ts";
import { type Held, lastUses, mostToolTokens, roomFor, toolsEdit } from "./defer-tools.ts";
import { type Fitted, type FitWorld, fitted } from "./last-resort.ts";

/** What one search brings in; what is found beyond that is only named. */
const loadedMax = 5;
const namedMax = 10;
/** A longer schema is not told twice: it stands among the tools. */
const schemaCharsMax = 1500;
const descriptionCharsMax = 600;
/** What is found does not join a list that never changes: nothing there has to make room, and the window is looked at by itself. */
const roomBehind = { tokens: Number.POSITIVE_INFINITY, count: Number.POSITIVE_INFINITY };

export interface FoundTools {
  readonly fitted: Fitted;
  readonly answer: OwnAnswer;
}

export interface ToolSearch {
  readonly query: string;
  /** As the turn is sent now. */
  readonly before: Fitted;
  /** Said in this turn behind that. */
  readonly innerTokens: number;
  /** Another search has changed the list already, and no request has gone out since. */
  readonly isBehindAnother: boolean;
}

/** Contract: what is answered can be called with the next request, and is stored. */
export async function loadTools(
  world: FitWorld,
  draft: Draft,
  search: ToolSearch,
): Promise<FoundTools> {
  const { log, branch, path } = draft;
  const offer = offerIn(draft);
  const { before, query } = search;
  const told = viewOf(log, branch, path).tools;
  const catalogue = offer?.catalogue;
  const failed = (text: string): FoundTools => ({
    fitted: before,
    answer: { text, isError: true },
  });
  if (offer === undefined || catalogue === undefined || told === undefined)
    return failed("No tools are held back here: you are told of all there are.");
  const found = catalogue.find(query, told, namedMax);
  if (found.length === 0)
    return failed(
      "No tool that you are not told of matches: say in other words what it should do, or name its server.",
    );
  const next = await withFound(world, draft, {
    held: { catalogue, own: offer.own },
    told,
    found,
    search,
  });
  if (next === undefined)
    return failed(
      `There is no room for ${found.join(", ")}: call ${offer.own.nameOf("compact_context")} first, then search again.`,
    );
  const { names } = next;
  const sized = await tell(world, draft, next.telling, before);
  if (sized === undefined) return failed("These tools cannot be told now: go on without them.");
  const all = [...foundBefore(draft), ...names];
  remember(branch, { kind: "tools-found", turn: draft.turn.id, names: all });
  const isNative = catalogue.isNative;
  announce(log, {
    type: "tools-loaded",
    session: log.record.id,
    at: draft.turn.at,
    turn: draft.turn.id,
    names,
    ...rereading(world, draft, before, isNative || search.isBehindAnother),
  });
  const after = judged(world, draft, sized, guardOf(world, draft));
  const { outcome, target } = before;
  return {
    fitted: fitted(draft, {
      ...after,
      sized,
      target,
      outcome: outcome === "passthrough" ? "edited" : outcome,
    }),
    answer: answerFor(catalogue, { names, found }),
  };
}

/** Tools stand before everything else: what the provider has read of the rest it must read again. */
function rereading(
  { pricesOf }: FitWorld,
  { targets }: Draft,
  { measurement }: Fitted,
  isSame: boolean,
): { readonly rereadTokens: number; readonly priceUsd?: number } {
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
  readonly held: Held;
  readonly told: Telling;
  /** Best first. */
  readonly found: readonly string[];
  readonly search: ToolSearch;
}

/** As many of the best as the tenth has room for, counted exactly; the best one in any case, if the window holds it. */
async function withFound(
  world: FitWorld,
  draft: Draft,
  { held, told, found, search }: Finding,
): Promise<{ readonly telling: Telling; readonly names: readonly string[] } | undefined> {
  const { catalogue } = held;
  const most = mostToolTokens(world.config, search.before.limit);
  const lastUse = await lastUses(draft, told);
  const stays = foundBefore(draft);
  const room = catalogue.isNative ? roomBehind : await roomFor(held, draft, most);
  for (
    let names = thatFit(catalogue, { found, search, most });
    names.length > 0;
    names = names.slice(0, -1)
  ) {
    const chosen = withLoaded(catalogue.tools, told, { names, stays, room, lastUse });
    const telling = { ...chosen, note: told.note };
    const { count } = await catalogue.list(telling);
    if (catalogue.isNative || count.tokens <= most || names.length === 1) return { telling, names };
  }
  return undefined;
}

/** The best first, as long as there is room for them in the window. */
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

/** Undefined: it would not be valid, or cannot be kept. */
async function tell(
  world: FitWorld,
  draft: Draft,
  telling: Telling,
  before: Fitted,
): Promise<Sized | undefined> {
  const edit = toolsEdit(draft, telling, {
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

/** Where the provider holds them back itself it has a form for what is found. */
function answerFor(catalogue: Catalogue, { names, found }: Found): OwnAnswer {
  const blocks = catalogue.found(names);
  if (blocks.length > 0) return { text: `Found: ${names.join(", ")}`, isError: false, blocks };
  const others = found.filter((name) => !names.includes(name));
  const told = names.map((name) => describe(name, catalogue.definition(name)));
  const more = others.length === 0 ? "" : `\n\nAlso found, not loaded: ${others.join(", ")}.`;
  return {
    text: `These tools can be called now.\n\n${told.join("\n\n")}${more}`,
    isError: false,
  };
}

function describe(name: string, tool: ToolDefinition | undefined): string {
  const description = (tool?.description ?? "").slice(0, descriptionCharsMax);
  const schema = JSON.stringify(tool?.parameters ?? {});
  const isShort = schema.length <= schemaCharsMax;
  return [`## ${name}`, description, isShort ? schema : "(its schema stands among the tools)"]
    .filter((line) => line !== "")
    .join("\n");
}

/** When a compaction is made: when it must be, and before that only when it pays. */

import { inOwnTokens, inProviderTokens, scaleBetween } from "../../budget/token-scale.ts";
import type { Config } from "../../config/schema.ts";
import type { Usage } from "../../message/message.ts";
import {
  readingCost,
  type Worth,
  withPrice,
  withSaved,
  worthOf,
} from "../../prompt/compaction-payoff.ts";
import type { CacheRule, PriceList } from "../../prompt/price-rows.ts";
import type { Draft, Sized } from "../draft/draft.ts";
import type { AssessedView, Guard } from "../draft/projection.ts";
import { type BranchState, remember } from "../log/log.ts";
import type { KnownCache } from "../log/memory.ts";
import type { PricesOf } from "../measure/prices.ts";
import type { Fitted } from "./last-resort.ts";

/**
 * wait: it goes as it is. compact: it is made smaller; for money's sake alone (`isVoluntary`), or because it is full, which
 * may wait for a while, or because it must be.
 */
export type Timing =
  | { readonly kind: "wait" }
  | {
      readonly kind: "compact";
      readonly reason: "compact" | "forced" | "cold" | "pays";
      readonly isVoluntary: boolean;
      readonly worth?: Worth;
      /** What the next request costs more than without it, once it is known how large it is. */
      readonly priceOf?: (tokensAfter: number) => number;
      /** Before correction: nothing larger is worth it. */
      readonly mostTokens?: number;
    };

interface World {
  readonly config: Config;
  readonly pricesOf: PricesOf;
  readonly now: () => number;
}

/** A compaction goes this deep, so that it is rare. */
const depth = 0.5;
/** And leaves so much of the room beside the head. */
const restLeft = 0.4;

/** The size to aim at. The head cannot be taken out: of the rest, enough is left to be worth something. */
export function usualGoal(limit: number, head: number): number {
  return Math.max(limit * depth, head + (limit - head) * restLeft);
}

/** For money's sake alone: as deep as any other, and at least half of what is beside the head goes. */
function earlyGoal({ limit, projection: { tokens, head } }: AssessedView): number {
  return Math.min(usualGoal(limit, head), head + (tokens - head) * depth);
}

/** As many turns are expected as there were (what has lasted, lasts), within these. */
const expected = { least: 3, most: 100 };
export const waits: Timing = { kind: "wait" };

export function timingOf(
  world: World,
  draft: Draft,
  start: Sized,
  { guard, before }: { readonly guard: Guard; readonly before: AssessedView },
): Timing {
  const { verdict } = before;
  if (verdict.kind === "fits") return earlyTiming(world, draft, start, { guard, before });
  if (verdict.kind !== "compact") return { kind: "compact", reason: "compact", isVoluntary: false };
  const isForced = verdict.isForced || verdict.overTokens > 0;
  const afterTokens = usualGoal(before.limit, before.projection.head);
  const worth = worthNow(world, draft, start, { guard, before, afterTokens });
  // Limits of agents are for what a model can bear, and not for money.
  const mayWait = !isForced && guard.own.agentLimit === undefined && !isCold(world, draft);
  if (mayWait && worth !== undefined && worth.savedUsd <= 0) return waits;
  return {
    kind: "compact",
    reason: isForced ? "forced" : "compact",
    isVoluntary: false,
    ...(worth === undefined ? {} : { worth }),
  };
}

/** Below the line at which a compaction is due: only where it is cheaper, and the last one has paid. */
function earlyTiming(
  world: World,
  draft: Draft,
  start: Sized,
  { guard, before }: { readonly guard: Guard; readonly before: AssessedView },
): Timing {
  const { when = "cold", compact_from: from = guard.thresholds.warn } = world.config.cost ?? {};
  const { branch } = draft;
  const { hasServerSideHistory } = draft.request;
  // Nobody knows how full a window is whose size nobody has named.
  const isGuess = draft.targets[0].limit.windowSource === "fallback";
  const isFull = !isGuess && filledBesideHead(before) >= from;
  if (!isFull || when === "forced" || hasServerSideHistory === true) return waits;
  const cold = isCold(world, draft);
  if (when === "cold" && !cold) return waits;
  if ((branch.memory.debtUsd ?? 0) > 0) return waits;
  const goal = earlyGoal(before);
  const worth = worthNow(world, draft, start, { guard, before, afterTokens: goal });
  const saves = worth !== undefined && (cold ? worth.priceUsd < 0 : worth.savedUsd > 0);
  if (!saves) return waits;
  return {
    kind: "compact",
    reason: cold ? "cold" : "pays",
    isVoluntary: true,
    worth,
    mostTokens: Math.floor(
      inOwnTokens(goal, scaleBetween(start.measured.total, before.projection.tokens)),
    ),
    priceOf: (afterTokens) =>
      priceAt(world, draft, { before, afterTokens, prefixTokens: prefixOf(start, before) }),
  };
}

/** What the head takes no compaction gives back, whether the limit gave way to it or not: it fills nothing here. */
function filledBesideHead({ limit, projection: { tokens, head } }: AssessedView): number {
  return head < limit ? (tokens - head) / (limit - head) : 0;
}

/** From here on a compaction is forced, as the guard sees it. */
function forcedFrom(
  { limit, isBesideHead, projection }: AssessedView,
  { thresholds }: Guard,
): number {
  const head = isBesideHead ? projection.head : 0;
  return head + (limit - head) * thresholds.block;
}

/** System prompt and tools: what stands before every edit. */
function prefixOf({ measured }: Sized, { projection }: AssessedView): number {
  const scale = scaleBetween(measured.total, projection.tokens);
  return inProviderTokens(measured.system + measured.tools, scale);
}

interface Pricing {
  readonly before: AssessedView;
  readonly afterTokens: number;
  readonly prefixTokens: number;
}

function priceAt(
  world: World,
  draft: Draft,
  { before, afterTokens, prefixTokens }: Pricing,
): number {
  const { prices } = listFor(world, draft);
  if (prices === undefined) return 0;
  const cached = cachedNow(world, draft);
  return (
    readingCost(prices, afterTokens, Math.min(cached, prefixTokens)) -
    readingCost(prices, before.projection.tokens, cached)
  );
}

interface Weighing {
  readonly guard: Guard;
  readonly before: AssessedView;
  /** What is left of the request. */
  readonly afterTokens: number;
}

/** Undefined: prices or the state of the cache are not known. */
function worthNow(
  world: World,
  draft: Draft,
  start: Sized,
  { guard, before, afterTokens }: Weighing,
): Worth | undefined {
  const { branch } = draft;
  const { caches, pace, turns: ended } = branch.memory;
  if (caches === undefined) return undefined;
  const { tokens } = before.projection;
  const turns = Math.max(1, pace?.turns ?? 1);
  const grown = (tokens - (pace?.tokens ?? 0)) / turns;
  const lasted = Math.max(expected.least, Math.min(expected.most, ended === 0 ? turns : ended));
  return worthOf(
    {
      tokens,
      cachedTokens: cachedNow(world, draft),
      afterTokens,
      prefixTokens: prefixOf(start, before),
      growthTokens: Math.max(1, grown),
      forcedTokens: forcedFrom(before, guard),
      turnsToCome: world.config.cost?.expected_turns ?? lasted,
    },
    listFor(world, draft),
  );
}

/** A cache that lives long is dearer to write. */
function listFor({ pricesOf }: World, { targets, request }: Draft): PriceList {
  const list = pricesOf(targets[0]);
  const { prices } = list;
  if (request.hasLongMarks !== true || prices?.cacheWriteLong === undefined) return list;
  return { ...list, prices: { ...prices, cacheWrite: prices.cacheWriteLong } };
}

function cachedNow(world: World, draft: Draft): number {
  const known = cacheOf(draft);
  return known === undefined || isCold(world, draft) ? 0 : known.tokens;
}

/** Caches that keep what they like may keep it longer than they say: an assumption on the long side, for who is wrong here pays. */
const automaticSeconds = 3600;

/** What the provider had of this conversation is gone by now. A clock that went back says nothing. */
function isCold({ pricesOf, now }: World, { branch, targets, request }: Draft): boolean {
  const rule = pricesOf(targets[0]).cache;
  const seconds = secondsOf(rule, request.hasLongMarks === true);
  if (branch.memory.caches === undefined || seconds === undefined) return false;
  const cache = cacheOf({ branch, targets });
  // What one model has read is nothing to another.
  return cache === undefined || now() - cache.at > seconds * 1000;
}

function secondsOf(rule: CacheRule, hasLongMarks: boolean): number | undefined {
  switch (rule.kind) {
    case "marks":
      return hasLongMarks ? rule.longTtlSeconds : rule.ttlSeconds;
    case "automatic":
      return Math.max(rule.ttlSeconds, automaticSeconds);
    case "unknown":
      return undefined;
  }
}

/** What a turn leaves behind for the next decision: what the provider has now, how fast the conversation grows. */
export function noteTurn(
  { pricesOf, now }: Omit<World, "config">,
  branch: BranchState,
  fitted: Fitted,
  { usage, sentLength }: { readonly usage: Usage | undefined; readonly sentLength?: number },
): void {
  const { target, tokensAfter, tokensBefore, outcome } = fitted;
  const list = pricesOf(target);
  const isSmaller = outcome === "compacted" || outcome === "recovered";
  remember(branch, {
    kind: "ended",
    target: target.key,
    at: now(),
    tokens: tokensAfter,
    isSmaller,
    cachedTokens: usage && cachedTokens(list.cache, usage),
    ...(sentLength === undefined ? {} : { sentLength }),
  });
  // What the turn of a compaction itself saves is in its price.
  if (!isSmaller) payBack(branch, list, tokensBefore - tokensAfter);
}

/** At the price of the cache, which is the least that it would have cost to send it all. */
function payBack(branch: BranchState, { prices }: PriceList, keptTokens: number): void {
  const { debtUsd: debt = 0 } = branch.memory;
  if (debt === 0 || prices === undefined) return;
  const { usd } = withSaved({ usd: debt }, readingCost(prices, keptTokens, keptTokens));
  remember(branch, { kind: "owes", debtUsd: usd });
}

function cacheOf({ branch, targets }: Pick<Draft, "branch" | "targets">): KnownCache | undefined {
  return branch.memory.caches?.find(({ target }) => target === targets[0].key);
}

/** What the provider has after a turn; undefined: nothing is known. */
function cachedTokens(rule: CacheRule, usage: Usage): number | undefined {
  const { cacheReadTokens: read, cacheWriteTokens: written, inputTokens } = usage;
  const isReported = read !== undefined || written !== undefined;
  switch (rule.kind) {
    case "marks":
      return isReported ? (read ?? 0) + (written ?? 0) : undefined;
    case "automatic":
      return inputTokens >= rule.minTokens ? inputTokens : 0;
    case "unknown":
      return undefined;
  }
}

/** A compaction for money's sake was made: no other one before this one has paid. */
export function owe(branch: BranchState, priceUsd: number): void {
  const { usd } = withPrice({ usd: branch.memory.debtUsd ?? 0 }, { priceUsd });
  remember(branch, { kind: "owes", debtUsd: usd });
}

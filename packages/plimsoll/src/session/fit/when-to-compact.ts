/** Decides when to compact: if the window is getting too full, and before that only if a compaction saves money. */

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
 * wait: send the request as it is. compact: make it smaller first. A compaction is voluntary if it only saves money
 * (`isVoluntary`), due if the window is filling up but there is still time, and forced if it cannot be put off.
 */
export type Timing =
  | { readonly kind: "wait" }
  | {
      readonly kind: "compact";
      readonly reason: "compact" | "forced" | "cold" | "pays";
      readonly isVoluntary: boolean;
      readonly worth?: Worth;
      /** The extra cost of the next request if it is compacted to the given size. */
      readonly priceOf?: (tokensAfter: number) => number;
      /**
       * Maximum size after the compaction, in tokens before calibration. With a larger result, the compaction would not save
       * money.
       */
      readonly mostTokens?: number;
    };

interface World {
  readonly config: Config;
  readonly pricesOf: PricesOf;
  readonly now: () => number;
}

/** A compaction reduces the request to this share of the limit, so that compactions are rare. */
const depth = 0.5;
/** A compaction aims for at least the head plus this share of the limit's remaining tokens. */
const restLeft = 0.4;

/** The size to aim for. Because the head cannot be removed, the goal leaves a useful number of tokens beside it. */
export function usualGoal(limit: number, head: number): number {
  return Math.max(limit * depth, head + (limit - head) * restLeft);
}

/**
 * The size to aim for if the compaction only saves money: the usual goal, or the head plus half of all other tokens if that is
 * less.
 */
function earlyGoal({ limit, projection: { tokens, head } }: AssessedView): number {
  return Math.min(usualGoal(limit, head), head + (tokens - head) * depth);
}

/** Plimsoll assumes that as many turns will follow as there were so far, but at least `least` and at most `most`. */
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
  // If the agent has a limit of its own, Plimsoll does not wait. Such limits are set because models get worse with long input,
  // not to save money.
  const mayWait = !isForced && guard.own.agentLimit === undefined && !isCold(world, draft);
  if (mayWait && worth !== undefined && worth.savedUsd <= 0) return waits;
  return {
    kind: "compact",
    reason: isForced ? "forced" : "compact",
    isVoluntary: false,
    ...(worth === undefined ? {} : { worth }),
  };
}

/** Below the threshold for a compaction, Plimsoll compacts only if that saves money and the previous compaction has paid off. */
function earlyTiming(
  world: World,
  draft: Draft,
  start: Sized,
  { guard, before }: { readonly guard: Guard; readonly before: AssessedView },
): Timing {
  const { when = "cold", compact_from: from = guard.thresholds.warn } = world.config.cost ?? {};
  const { branch } = draft;
  const { hasServerSideHistory } = draft.request;
  // If the size of the window is only assumed, Plimsoll cannot tell how full the window is.
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

/** The share of the room beside the head that is filled. The head is left out because no compaction can remove it. */
function filledBesideHead({ limit, projection: { tokens, head } }: AssessedView): number {
  return head < limit ? (tokens - head) / (limit - head) : 0;
}

/** The size at which the guard forces a compaction. */
function forcedFrom(
  { limit, isBesideHead, projection }: AssessedView,
  { thresholds }: Guard,
): number {
  const head = isBesideHead ? projection.head : 0;
  return head + (limit - head) * thresholds.block;
}

/** Tokens of the system prompt and the tools, which come before every edit. */
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
  /** Size of the request after the compaction. */
  readonly afterTokens: number;
}

/** Costs and savings of a compaction now. Undefined if the prices or the state of the cache are unknown. */
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

/** The prices of the target. If the client asks for a long-lived cache, writing to the cache costs more. */
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

/**
 * Automatic caches may keep content longer than documented, so Plimsoll assumes a lifetime of at least this many seconds. If it
 * assumed too short a lifetime, it would make compactions that cost money.
 */
const automaticSeconds = 3600;

/** Whether the provider's cache for this conversation has expired. If the clock went backwards, the cache counts as alive. */
function isCold({ pricesOf, now }: World, { branch, targets, request }: Draft): boolean {
  const rule = pricesOf(targets[0]).cache;
  const seconds = secondsOf(rule, request.hasLongMarks === true);
  if (branch.memory.caches === undefined || seconds === undefined) return false;
  const cache = cacheOf({ branch, targets });
  // If this target has no known cache, the cache is cold, because a model cannot use another model's cache.
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

/** Records facts for the next decision: how many tokens the provider has cached, and the size of the request. */
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
  // For the turn that compacted, the savings are already part of the compaction's price.
  if (!isSmaller) payBack(branch, list, tokensBefore - tokensAfter);
}

/**
 * Subtracts a turn's savings from the debt. Saved tokens are counted at the cache price, because sending them would have cost at
 * least that.
 */
function payBack(branch: BranchState, { prices }: PriceList, keptTokens: number): void {
  const { debtUsd: debt = 0 } = branch.memory;
  if (debt === 0 || prices === undefined) return;
  const { usd } = withSaved({ usd: debt }, readingCost(prices, keptTokens, keptTokens));
  remember(branch, { kind: "owes", debtUsd: usd });
}

function cacheOf({ branch, targets }: Pick<Draft, "branch" | "targets">): KnownCache | undefined {
  return branch.memory.caches?.find(({ target }) => target === targets[0].key);
}

/** Tokens that the provider has cached after a turn. Undefined if unknown. */
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

/**
 * Records the price of a compaction that was made to save money. Plimsoll makes no other such compaction until the savings cover
 * this price.
 */
export function owe(branch: BranchState, priceUsd: number): void {
  const { usd } = withPrice({ usd: branch.memory.debtUsd ?? 0 }, { priceUsd });
  remember(branch, { kind: "owes", debtUsd: usd });
}

/** Turns as columns for the charts: stacked components, limit, cache share, cost. Pure. */

import type { TurnPoint } from "plimsoll/api";
import type { CostReport } from "../api.ts";

type Column = (number | null)[];

export interface TurnSeries {
  /** Numbers of the turns. 1 is the oldest turn of the session. */
  readonly numbers: number[];
  /** Tokens by component. The values are stacked: each includes all components below it. */
  readonly system: number[];
  readonly skills: number[];
  readonly tools: number[];
  readonly conversation: number[];
  readonly limit: number[];
  /** Size of the request that the client sent. */
  readonly before: Column;
  /** Share of the input read from the cache, from 0 to 1. */
  readonly cached: Column;
  readonly usd: Column;
}

/** Contract: turns are oldest first. */
export function seriesOf(turns: readonly TurnPoint[], firstNumber: number = 1): TurnSeries {
  const sizes = turns.map(({ measurement }) => measurement);
  return {
    numbers: turns.map((_, index) => index + firstNumber),
    system: sizes.map(({ system }) => system),
    skills: sizes.map(({ system, skills }) => system + skills),
    tools: sizes.map(({ system, skills, tools }) => system + skills + tools),
    conversation: sizes.map(
      ({ system, skills, tools, conversation }) => system + skills + tools + conversation,
    ),
    limit: turns.map(({ limit }) => limit),
    before: turns.map((turn) => withoutUs(turn) ?? null),
    cached: turns.map((turn) => cachedShare(turn) ?? null),
    usd: turns.map(({ usd }) => usd ?? null),
  };
}

const changed: ReadonlySet<TurnPoint["outcome"]> = new Set(["edited", "compacted", "recovered"]);

/** Size of the request that the client sent, if Plimsoll sent a different one. */
export function savedFrom({ outcome, tokensBefore }: TurnPoint): number | undefined {
  return changed.has(outcome) ? tokensBefore : undefined;
}

/** Size that the request would have had without Plimsoll. If the request was sent unchanged, this is the size that was sent. */
function withoutUs(turn: TurnPoint): number | undefined {
  return turn.outcome === "passthrough" ? turn.measurement.total : savedFrom(turn);
}

export interface History {
  readonly turns: readonly TurnPoint[];
  readonly firstNumber: number;
  /** Number of turns of the session. It is higher than the number of listed turns if the list is partial. */
  readonly counted: number;
  readonly isPartial: boolean;
}

/**
 * Numbers the turns. In a whole session, the number of the newest turn is the total count. In a branch, the numbers start at 1.
 */
export function historyOf(
  listed: readonly TurnPoint[],
  counted: number,
  branch: string | undefined,
): History {
  const missing = Math.max(0, counted - listed.length);
  const isWhole = branch === undefined;
  return {
    turns: isWhole ? listed : listed.filter((turn) => turn.branch === branch),
    firstNumber: isWhole ? missing + 1 : 1,
    counted: listed.length + missing,
    isPartial: missing > 0,
  };
}

/** Share of the input that the provider read from its cache. Undefined if the provider did not report it. */
export function cachedShare({ usage }: TurnPoint): number | undefined {
  if (usage?.cacheReadTokens === undefined || usage.inputTokens <= 0) return undefined;
  return Math.min(1, usage.cacheReadTokens / usage.inputTokens);
}

export function oldestFirst(turns: readonly TurnPoint[]): readonly TurnPoint[] {
  return turns.toSorted((one, other) => one.at - other.at);
}

export interface Mark {
  /** Index of the turn. It starts at 0. */
  readonly index: number;
  readonly kind: "compacted" | "recovered";
}

export function marksOf(turns: readonly TurnPoint[]): readonly Mark[] {
  return turns.flatMap(({ outcome }, index) =>
    outcome === "compacted" || outcome === "recovered" ? [{ index, kind: outcome }] : [],
  );
}

export interface Totals {
  readonly usd?: number;
  readonly savedUsd?: number;
  /** Share of the input read from the cache, over all turns whose provider reported it. */
  readonly cached?: number;
  readonly compactions: number;
}

export function totalsOf(turns: readonly TurnPoint[]): Totals {
  const told = turns.flatMap(({ usage }) =>
    usage?.cacheReadTokens === undefined
      ? []
      : [{ read: usage.inputTokens, cached: usage.cacheReadTokens }],
  );
  const read = told.reduce((sum, usage) => sum + usage.read, 0);
  const usd = sumOf(turns.map((turn) => turn.usd));
  const savedUsd = sumOf(turns.map((turn) => turn.savedUsd));
  return {
    compactions: marksOf(turns).length,
    ...(usd === undefined ? {} : { usd }),
    ...(savedUsd === undefined ? {} : { savedUsd }),
    ...(read === 0 ? {} : { cached: told.reduce((sum, usage) => sum + usage.cached, 0) / read }),
  };
}

/** Totals of all turns of a session, for the case that not all turns are listed. */
export function totalsOfCost(cost: CostReport): Totals {
  const { compactions, usd, savedUsd, cachedTokens, sentTokens, measured } = cost;
  const isCacheKnown = measured.cache > 0 && sentTokens > 0;
  return {
    compactions,
    ...(usd === null ? {} : { usd }),
    ...(savedUsd === null ? {} : { savedUsd }),
    ...(isCacheKnown ? { cached: cachedTokens / sentTokens } : {}),
  };
}

/** The sum of the known values. Undefined if no value is known, because unknown is not zero. */
function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0);
}

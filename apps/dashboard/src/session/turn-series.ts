/** Turns as columns for the charts: components stacked, limit, share of the cache, money. Pure. */

import type { TurnPoint } from "plimsoll/api";

type Column = (number | null)[];

export interface TurnSeries {
  /** 1 is the oldest turn. */
  readonly numbers: number[];
  /** Stacked: each holds itself and all that stand below it. */
  readonly system: number[];
  readonly skills: number[];
  readonly tools: number[];
  readonly conversation: number[];
  readonly limit: number[];
  /** What the client's own request would have taken. */
  readonly before: Column;
  /** Of what the model read, 0…1. */
  readonly cached: Column;
  readonly usd: Column;
}

/** Contract: turns are oldest first. */
export function seriesOf(turns: readonly TurnPoint[]): TurnSeries {
  const sizes = turns.map(({ measurement }) => measurement);
  return {
    numbers: turns.map((_, index) => index + 1),
    system: sizes.map(({ system }) => system),
    skills: sizes.map(({ system, skills }) => system + skills),
    tools: sizes.map(({ system, skills, tools }) => system + skills + tools),
    conversation: sizes.map(
      ({ system, skills, tools, conversation }) => system + skills + tools + conversation,
    ),
    limit: turns.map(({ limit }) => limit),
    before: turns.map(({ tokensBefore }) => tokensBefore ?? null),
    cached: turns.map((turn) => cachedShare(turn) ?? null),
    usd: turns.map(({ usd }) => usd ?? null),
  };
}

/** Undefined where the provider told nothing. */
export function cachedShare({ usage }: TurnPoint): number | undefined {
  if (usage?.cacheReadTokens === undefined || usage.inputTokens <= 0) return undefined;
  return Math.min(1, usage.cacheReadTokens / usage.inputTokens);
}

export function oldestFirst(turns: readonly TurnPoint[]): readonly TurnPoint[] {
  return turns.toSorted((one, other) => one.at - other.at);
}

export interface Mark {
  /** Of the turn, from 0. */
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
  /** Of all that was read in turns whose provider told it. */
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

/** Undefined where none is known: unknown is not zero. */
function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0);
}

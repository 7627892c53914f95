/** Turns as columns for the charts: components stacked, limit, share of the cache, money. Pure. */

import type { TurnPoint } from "plimsoll/api";
import type { CostReport } from "../api.ts";

type Column = (number | null)[];

export interface TurnSeries {
  /** 1 is the oldest turn of the session. */
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

/** What the client's own request would have taken, where that is not what went out. */
export function savedFrom({ outcome, tokensBefore }: TurnPoint): number | undefined {
  return changed.has(outcome) ? tokensBefore : undefined;
}

/** What went out as it came is what it would have been without us, however it was counted. */
function withoutUs(turn: TurnPoint): number | undefined {
  return turn.outcome === "passthrough" ? turn.measurement.total : savedFrom(turn);
}

export interface History {
  readonly turns: readonly TurnPoint[];
  readonly firstNumber: number;
  /** Of the session; more than are listed where the list is partial. */
  readonly counted: number;
  readonly isPartial: boolean;
}

/** Of the session the newest turn has the number of all; those of a branch are counted by themselves. */
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

/** Of all turns of a session, where not all are listed. */
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

/** Undefined where none is known: unknown is not zero. */
function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0);
}

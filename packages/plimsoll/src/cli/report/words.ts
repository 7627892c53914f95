/** Shares, times and reasons in a report, in readable form. */

import { grouped } from "../../text/digits.ts";

/** A share in percent, such as 93.7 %. A share that is not quite zero or one is never shown as 0 % or 100 %. */
export function percent(share: number): string {
  if (share <= 0) return "0 %";
  if (share === 1) return "100 %";
  const tenths = Math.round(share * 1000);
  if (tenths === 0) return "<0.1 %";
  return `${((tenths === 1000 ? 999 : tenths) / 10).toFixed(1)} %`;
}

/** A time such as 2026-01-31 14:05:09, in UTC, because a report may be read anywhere. */
export function timeOf(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime())
    ? "unknown"
    : date.toISOString().slice(0, 19).replace("T", " ");
}

const units = [
  { ms: 86_400_000, name: "d" },
  { ms: 3_600_000, name: "h" },
  { ms: 60_000, name: "min" },
  { ms: 1000, name: "s" },
] as const;

/** A duration such as 3 h 12 min. */
export function durationOf(milliseconds: number): string {
  const index = units.findIndex(({ ms }) => milliseconds >= ms);
  const unit = units[index];
  if (unit === undefined) return "less than a second";
  const whole = `${Math.floor(milliseconds / unit.ms)} ${unit.name}`;
  const next = units[index + 1];
  const rest = next === undefined ? 0 : Math.floor((milliseconds % unit.ms) / next.ms);
  return next === undefined || rest === 0 ? whole : `${whole} ${rest} ${next.name}`;
}

/** A number with its noun: 1 turn, 2 turns. */
export function counted(count: number, one: string, several: string = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : several}`;
}

const reasons: Readonly<Record<string, string>> = {
  compact: "the window was nearly full",
  forced: "it would not have fitted",
  cold: "the cache had expired, so the compaction cost little",
  pays: "it costs less than it saves",
  media: "the provider does not accept more images in one request",
  "by hand": "a person asked for it",
  reset: "a person asked for a fresh start",
};

/** The reason for a compaction in words. An unknown reason stays as it is. */
export function whyCompacted(reason: string): string {
  return Object.hasOwn(reasons, reason) ? (reasons[reason] ?? reason) : reason;
}

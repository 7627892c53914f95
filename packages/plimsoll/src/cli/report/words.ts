/** Shares, times and reasons of a report as people read them. */

import { grouped } from "../../text/digits.ts";

/** 93.7 %; what is not quite nothing or all does not look like it. */
export function percent(share: number): string {
  if (share <= 0) return "0 %";
  if (share === 1) return "100 %";
  const tenths = Math.round(share * 1000);
  if (tenths === 0) return "<0.1 %";
  return `${((tenths === 1000 ? 999 : tenths) / 10).toFixed(1)} %`;
}

/** 2026-01-31 14:05:09, in UTC: a report is read anywhere. */
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

/** 3 h 12 min */
export function durationOf(milliseconds: number): string {
  const index = units.findIndex(({ ms }) => milliseconds >= ms);
  const unit = units[index];
  if (unit === undefined) return "less than a second";
  const whole = `${Math.floor(milliseconds / unit.ms)} ${unit.name}`;
  const next = units[index + 1];
  const rest = next === undefined ? 0 : Math.floor((milliseconds % unit.ms) / next.ms);
  return next === undefined || rest === 0 ? whole : `${whole} ${rest} ${next.name}`;
}

/** 1 turn, 2 turns */
export function counted(count: number, one: string, several: string = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : several}`;
}

const reasons: Readonly<Record<string, string>> = {
  compact: "the window was nearly full",
  forced: "it would not have fitted",
  cold: "the cache had gone cold, so that it cost little",
  pays: "it costs less than it saves",
  media: "the provider takes no more images in one request",
  "by hand": "somebody asked for it",
  reset: "somebody asked for a fresh start",
};

/** Why a compaction was made, in words; what is not known is said as it is. */
export function whyCompacted(reason: string): string {
  return Object.hasOwn(reasons, reason) ? (reasons[reason] ?? reason) : reason;
}

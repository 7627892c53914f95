/** Figures and times of a report as people read them, and what kinds and edits are called. */

import type { SegmentKind } from "../../message/api.ts";
import type { Edit } from "../../message/edit.ts";

/** In the order of the legend. */
export const kinds: readonly { readonly kind: SegmentKind; readonly name: string }[] = [
  { kind: "system", name: "System" },
  { kind: "skills", name: "Skills" },
  { kind: "tools", name: "Tools" },
  { kind: "user", name: "User" },
  { kind: "assistant", name: "Assistant" },
  { kind: "results", name: "Results" },
  { kind: "summary", name: "Summaries" },
  { kind: "handle", name: "Handles" },
];

export function kindName(kind: SegmentKind): string {
  return kinds.find((known) => known.kind === kind)?.name ?? kind;
}

/** 12,345 */
export function grouped(count: number): string {
  return Math.round(count).toLocaleString("en-US");
}

/** 12,345 · 1.2M · 3.4B: for where there is little room. */
export function brief(count: number): string {
  if (Math.abs(count) >= 1e9) return `${(count / 1e9).toFixed(1)}B`;
  if (Math.abs(count) >= 1e6) return `${(count / 1e6).toFixed(1)}M`;
  return grouped(count);
}

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

export function whatItDid({ action }: Edit): string {
  switch (action.kind) {
    case "replace":
      return action.handle === undefined ? "part shortened" : "part moved out";
    case "remove":
      return "taken out";
    case "fold":
      return "folded into a summary";
    case "insert":
      return action.handle === undefined ? "note added" : "summary added";
    case "expand":
      return "shown with its lookups";
    case "tools":
      return `tools held back, ${action.kept.length + action.loaded.length} told`;
    case "pin":
      return "pinned";
    case "checkpoint":
      return "checkpoint";
    case "revert":
      return `edit ${action.edit} undone`;
    case "restore":
      return `back to edit ${action.to}`;
  }
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

/**
 * Truncation on a person's request and for recovery: removes whole units from the middle and keeps the order.
 * Automatic truncation, the last strategy of a turn, chooses its ranges in `cut-to-fit.ts`.
 */

import type { Message, Role } from "../../message/message.ts";
import type { Unit } from "../../message/unit.ts";
import { spokenUnits } from "./head.ts";

/** How much of the middle stays: nothing, the last two units, half, or a quarter. */
export type Keep = "none" | "lastTwo" | "half" | "quarter";

/** A range of messages, both ends included. */
export interface TruncationRange {
  readonly first: number;
  readonly last: number;
}

/**
 * The ranges to remove, oldest first. Everything up to the first answer stays, and so do the user's last words and the newest
 * unit. So there are two ranges if units go both before and after these words. Roles still alternate across each cut.
 */
export function truncationRanges(
  messages: readonly Message[],
  units: readonly Unit[],
  keep: Keep,
): readonly TruncationRange[] {
  const spans = middleOf(messages, units);
  const count = spans.reduce((sum, { from, until }) => sum + until - from, 0);
  let left = removedUnits(count, keep);
  return spans.flatMap(({ from, until }) => {
    const wanted = from + Math.min(left, until - from);
    left -= wanted - from;
    const isUntouched = from > (spans[0]?.from ?? 0) && wanted === from;
    const next = isUntouched ? undefined : nearestFit(messages, units, { from, until, wanted });
    const [first, last] = [units[from]?.first, units[(next ?? 0) - 1]?.last];
    return next === undefined || first === undefined || last === undefined ? [] : [{ first, last }];
  });
}

/** Units from `from` up to, but not including, `until`. */
interface Span {
  readonly from: number;
  readonly until: number;
}

/** The units that may go: those before the user's last words, and those between these words and the newest unit. */
function middleOf(messages: readonly Message[], units: readonly Unit[]): readonly Span[] {
  const { firstUser, lastUser } = spokenUnits(messages, units);
  if (firstUser < 0) return [];
  const from = firstUser + 2;
  const newest = units.length - 1;
  const spans =
    lastUser <= firstUser
      ? [{ from, until: newest }]
      : [
          { from, until: lastUser },
          { from: Math.max(from, lastUser + 1), until: newest },
        ];
  return spans.filter((span) => span.from < span.until);
}

function removedUnits(count: number, keep: Keep): number {
  switch (keep) {
    case "none":
      return count;
    case "lastTwo":
      return Math.max(0, count - 2);
    case "half":
      return Math.floor(count / 2);
    case "quarter":
      return Math.floor((count * 3) / 4);
  }
}

/**
 * The first unit after the cut. Its role must be valid after the last unit before the cut. Of such units, it is the closest to
 * `wanted`.
 */
function nearestFit(
  messages: readonly Message[],
  units: readonly Unit[],
  { from, until, wanted }: Span & { readonly wanted: number },
): number | undefined {
  const before = sideOf(messages[units[from - 1]?.last ?? -1]?.role);
  const fits = (index: number): boolean =>
    sideOf(messages[units[index]?.first ?? -1]?.role) !== before;
  for (let distance = 0; distance <= until - from; distance++) {
    for (const index of [wanted - distance, wanted + distance]) {
      if (index > from && index <= until && fits(index)) return index;
    }
  }
  return undefined;
}

/** The side that a role belongs to. Tool results belong to the user's side, because they are addressed to the model. */
export function sideOf(role: Role | undefined): "user" | "assistant" | "system" | undefined {
  return role === "tool" ? "user" : role;
}

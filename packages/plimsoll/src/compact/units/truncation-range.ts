/**
 * Truncation on a person's request and for recovery: removes one range of whole units from the middle and keeps the order.
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
 * The range to remove. Everything up to the first answer stays, and so does everything from the user's last words on. Roles still
 * alternate across the cut. Undefined if there is nothing to remove.
 */
export function truncationRange(
  messages: readonly Message[],
  units: readonly Unit[],
  keep: Keep,
): TruncationRange | undefined {
  const { firstUser, lastUser } = spokenUnits(messages, units);
  const head = firstUser + 1;
  const from = head + 1;
  const until = Math.max(from, lastUser <= firstUser ? units.length - 1 : lastUser);
  if (firstUser < 0 || from >= until) return undefined;
  const wanted = from + removedUnits(until - from, keep);
  const next = nearestFit(messages, units, { from, until, wanted });
  const [first, last] = [units[from]?.first, units[(next ?? 0) - 1]?.last];
  return next === undefined || first === undefined || last === undefined
    ? undefined
    : { first, last };
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
  {
    from,
    until,
    wanted,
  }: { readonly from: number; readonly until: number; readonly wanted: number },
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

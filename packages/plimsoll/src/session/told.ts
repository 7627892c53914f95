/** How figures are told to people: in the provider's tokens, not in ours. */

import type { BranchRecord, TurnRecord } from "../store/store.ts";

/** The provider's tokens for one of ours. As measurements are corrected: counts that are exact or on the safe side are only ever raised. */
export function scaleOf(
  { counters }: Pick<BranchRecord, "counters">,
  lastTurn: TurnRecord | undefined,
): number {
  const factor = counters?.calibration?.factor ?? 1;
  return lastTurn?.measurement.certainty === "estimate" ? factor : Math.max(1, factor);
}

export function told(tokens: number, scale: number): number {
  return Math.round(tokens * scale);
}

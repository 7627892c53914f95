/** Converts token counts for people, who see the provider's tokens and not Plimsoll's. */

import type { BranchRecord } from "../../store/store.ts";

/** The provider's tokens for each token that Plimsoll counts. */
export function scaleOf({ counters }: Pick<BranchRecord, "counters">): number {
  return counters?.calibration?.factor ?? 1;
}

export function told(tokens: number, scale: number): number {
  return Math.round(tokens * scale);
}

/** How figures are told to people: in the provider's tokens, not in ours. */

import type { BranchRecord } from "../../store/store.ts";

/** The provider's tokens for one of ours. */
export function scaleOf({ counters }: Pick<BranchRecord, "counters">): number {
  return counters?.calibration?.factor ?? 1;
}

export function told(tokens: number, scale: number): number {
  return Math.round(tokens * scale);
}

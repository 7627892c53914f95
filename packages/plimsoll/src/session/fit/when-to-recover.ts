/** Decides when a conversation starts afresh: after too many overflows, at a milestone, or on request. */

import type { BranchState, SessionLog } from "../log/log.ts";

const hourMs = 3_600_000;
/** If there are more overflows than this within an hour, the conversation does not work in its window, so it starts afresh. */
const overflowsAllowed = 2;

/** Why a conversation starts afresh, in one word for receipts and figures. */
export type AfreshWhy = "milestone" | "overflows" | "exhausted";

export interface Afresh {
  readonly why: AfreshWhy;
  /** The reason as a sentence, for people. */
  readonly reason: string;
}

/** Why this turn must start afresh, or undefined. */
export function afreshDue(
  log: SessionLog,
  { memory: { mustRecover: wanted } }: BranchState,
  now: number,
): Afresh | undefined {
  if (wanted !== undefined) return { why: "milestone", reason: wanted };
  const recent = log.memory.overflows.filter((at) => at <= now && now - at < hourMs);
  if (recent.length <= overflowsAllowed) return undefined;
  return { why: "overflows", reason: `There were ${recent.length} overflows within an hour.` };
}

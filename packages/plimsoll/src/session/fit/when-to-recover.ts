/** Decides when a conversation starts afresh: after too many overflows, at a milestone, or on request. */

import type { BranchState, SessionLog } from "../log/log.ts";

const hourMs = 3_600_000;
/** If there are more overflows than this within an hour, the conversation does not work in its window, so it starts afresh. */
const overflowsAllowed = 2;

/** The reason why this turn must start afresh, or undefined. */
export function mustRecover(
  log: SessionLog,
  { memory: { mustRecover: wanted } }: BranchState,
  now: number,
): string | undefined {
  if (wanted !== undefined) return wanted;
  const recent = log.memory.overflows.filter((at) => at <= now && now - at < hourMs);
  if (recent.length <= overflowsAllowed) return undefined;
  return `There were ${recent.length} overflows within an hour.`;
}

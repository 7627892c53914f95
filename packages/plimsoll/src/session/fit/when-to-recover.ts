/** When a conversation starts afresh: too many overflows, a milestone, or a wish. */

import type { BranchState, SessionLog } from "../log/log.ts";

const hourMs = 3_600_000;
/** More than this within an hour: the conversation does not get along with its window. */
const overflowsAllowed = 2;

/** Why this turn is to start afresh; undefined when it is not. */
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

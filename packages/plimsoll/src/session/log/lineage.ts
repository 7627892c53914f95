/** Lists the branches whose edits are active on a branch: the branch itself, and the branches that it came from. */

import type { SessionLog } from "./log.ts";

type Branched = Pick<SessionLog, "branches" | "nodes">;

/**
 * The branch itself, the branch that its client left to start it, and the branch that it forked from. The same applies to each of
 * these branches in turn.
 */
export function lineageOf({ branches, nodes }: Branched, branch: string): ReadonlySet<string> {
  const lineage = new Set<string>();
  const open: (string | undefined)[] = [branch];
  while (open.length > 0) {
    const id = open.pop();
    if (id === undefined || lineage.has(id)) continue;
    lineage.add(id);
    const { left, forkSeq = null } = branches.get(id)?.record ?? {};
    open.push(left, forkSeq === null ? undefined : nodes.get(forkSeq)?.branch);
  }
  return lineage;
}

/** Lists the branches whose edits are active on a branch: the branch itself, and those that it came from. */

import type { SessionLog } from "./log.ts";

type Branched = Pick<SessionLog, "branches" | "nodes">;

/** The branch, the branch that its client left for it, the branch that it forked from, and the same for each of those. */
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

/** Lists the branches whose edits are active on a branch: the branch itself, and those that it came from. */

import type { SessionLog } from "./log.ts";

type Branched = Pick<SessionLog, "branches" | "nodes">;

/** A branch, the one that its client left to start it, the one on which its beginning was said, and so on. */
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

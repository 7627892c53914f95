/**
 * Which messages a conversation may look up: those on its own path from the root to its tip, and those that its client left
 * behind when it rewound or compacted. It may never look up any other branch, even in the same session.
 */

import { pathTo, type SessionLog } from "./log.ts";

export type IsVisible = (seq: number) => boolean;

/** `hasOtherLead`: the client sends other leading system messages than those that the session began with. */
export function visibleOn(
  log: Pick<SessionLog, "nodes" | "branches" | "leading">,
  branch: string,
  hasOtherLead: boolean,
): IsVisible {
  const own = ownBranches(log, branch);
  const tip = log.branches.get(branch)?.record.tipSeq ?? null;
  const path = new Set(pathTo(log, tip).map(({ seq }) => seq));
  return (seq) => {
    const node = log.nodes.get(seq);
    // The session's first system prompt may belong to another client: a client joins without proving that it knows the prompt.
    if (node === undefined || (hasOtherLead && log.leading.has(seq))) return false;
    return path.has(seq) || (node.branch !== undefined && own.has(node.branch));
  };
}

/** The branch, the branch that its client left to start it, the branch left before that, and so on. */
export function ownBranches(
  { branches }: Pick<SessionLog, "branches">,
  branch: string,
): ReadonlySet<string> {
  const own = new Set<string>();
  for (let at: string | undefined = branch; at !== undefined && !own.has(at); ) {
    own.add(at);
    at = branches.get(at)?.record.left;
  }
  return own;
}

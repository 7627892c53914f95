/**
 * Tells which messages a branch may look up: those on its own path from the root to its tip, and those that its client abandoned
 * when it rewound or compacted the conversation. A branch must not look up messages of other branches, even in the same session.
 */

import { pathTo, type SessionLog } from "./log.ts";

export type IsVisible = (seq: number) => boolean;

/** `hasOtherLead`: whether the client sends other leading system messages than those with which the session began. */
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
    // The session's first system prompt may belong to another client, because a client can join a session without knowing its
    // prompt.
    if (node === undefined || (hasOtherLead && log.leading.has(seq))) return false;
    return path.has(seq) || (node.branch !== undefined && own.has(node.branch));
  };
}

/** The branch itself, the branch that its client left to start it, the branch that was left before that, and so on. */
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

/** The branches of a session, as a list to choose from. Pure. */

import { visible } from "plimsoll/text/unseen";
import type { Branch } from "../api.ts";
import { tokens } from "../format.ts";

export interface BranchName {
  readonly id: string;
  readonly name: string;
}

/** The names of the branches. The branch with the newest message comes first. */
export function branchNames(branches: readonly Branch[]): readonly BranchName[] {
  return branches
    .toSorted((one, other) => (other.tip ?? 0) - (one.tip ?? 0))
    .map(({ id, relation, messages }) => ({
      id,
      name: `${visible(relation)}, ${tokens(messages)} ${messages === 1 ? "message" : "messages"} (${id.slice(0, 9)})`,
    }));
}

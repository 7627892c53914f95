/** The branches of a session as they are listed for a choice. Pure. */

import { visible } from "plimsoll/text/unseen";
import type { Branch } from "../api.ts";
import { tokens } from "../format.ts";

export interface BranchName {
  readonly id: string;
  readonly name: string;
}

/** Newest used first: the one with the newest message. */
export function branchNames(branches: readonly Branch[]): readonly BranchName[] {
  return branches
    .toSorted((one, other) => (other.tip ?? 0) - (one.tip ?? 0))
    .map(({ id, relation, messages }) => ({
      id,
      name: `${visible(relation)}, ${tokens(messages)} ${messages === 1 ? "message" : "messages"} (${id.slice(0, 9)})`,
    }));
}

/** Edits in words: what each did, and which of them no longer hold. Pure. */

import type { Edit } from "../message/edit.ts";

export interface EditWords {
  /** For a cell of a table. */
  readonly brief: string;
  readonly full: string;
}

export function whatItDid({ action }: Pick<Edit, "action">): EditWords {
  switch (action.kind) {
    case "replace":
      return action.handle === undefined
        ? { brief: "part shortened", full: "A part was replaced by a shorter text" }
        : { brief: "part moved out", full: "A part moved out, behind a handle" };
    case "remove":
      return { brief: "taken out", full: "Taken out, a mark stands in its place" };
    case "fold":
      return { brief: "folded into a summary", full: "Folded into a summary" };
    case "insert":
      return action.handle === undefined
        ? { brief: "note added", full: "A note was added" }
        : { brief: "summary added", full: "A summary was added" };
    case "expand":
      return { brief: "shown with its lookups", full: "Shown with the lookups that led to it" };
    case "tools": {
      const listed = action.kept.length + action.loaded.length;
      return {
        brief: `tools held back, ${listed} told`,
        full: `Tools held back: ${listed} are told`,
      };
    }
    case "pin":
      return { brief: "pinned", full: "Pinned" };
    case "checkpoint":
      return {
        brief: "checkpoint",
        full: action.label === "" ? "A checkpoint" : `Checkpoint: ${action.label}`,
      };
    case "revert":
      return { brief: `edit ${action.edit} undone`, full: `Edit ${action.edit} undone` };
    case "restore":
      return {
        brief: `back to edit ${action.to}`,
        full: action.to === 0 ? "Restored to the beginning" : `Restored to edit ${action.to}`,
      };
  }
}

/**
 * Numbers of the edits that no longer hold, as the service decides it (session/log/view.ts): from the newest back, because whether
 * a way back holds itself is said by those after it.
 */
export function undoneIn(edits: readonly Edit[]): ReadonlySet<number> {
  const undone = new Set<number>();
  let backTo = Number.POSITIVE_INFINITY;
  for (const { seq, action } of edits.toSorted((one, other) => other.seq - one.seq)) {
    if (seq <= backTo) backTo = Number.POSITIVE_INFINITY;
    else if (action.kind !== "expand") undone.add(seq);
    if (undone.has(seq)) continue;
    if (action.kind === "revert") undone.add(action.edit);
    if (action.kind === "restore") backTo = action.to;
  }
  return undone;
}

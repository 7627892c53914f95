/** Describes in words what each edit did, and finds the edits that are no longer in force. Pure. */

import type { Edit } from "../message/edit.ts";

export interface EditWords {
  /** A short text for a cell in a table. */
  readonly brief: string;
  readonly full: string;
}

export function whatItDid({ action }: Pick<Edit, "action">): EditWords {
  switch (action.kind) {
    case "replace":
      return action.handle === undefined
        ? { brief: "part shortened", full: "A part was replaced by a shorter text" }
        : { brief: "part moved out", full: "A part was moved out and is kept under a handle" };
    case "remove":
      return { brief: "taken out", full: "Taken out, with a mark in its place" };
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
        brief: `tools deferred, ${listed} sent`,
        full: `Tools deferred: ${listed} are still sent`,
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
 * Numbers of the edits that are no longer in force, by the same rules as in session/log/view.ts. Starts with the newest edit,
 * because a later edit may have undone a revert or a restore.
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

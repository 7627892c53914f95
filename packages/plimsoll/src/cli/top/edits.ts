/** Edits as a list for people. Edits that one strategy made together form one row. Pure. */

import type { Edit } from "../../message/edit.ts";
import { undoneIn } from "../../watch/edit-words.ts";

export interface EditStep {
  /** Numbers of the first and the last edit of the step. */
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly at: number;
  readonly strategy: string;
  readonly reason: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly state: "holds" | "undone";
}

/** Maximum number of steps to list. Older steps are left out. */
const mostSteps = 100;

/** The steps, newest first. */
export function editSteps(edits: readonly Edit[]): readonly EditStep[] {
  const undone = undoneIn(edits);
  const steps = new Map<string, Edit[]>();
  for (const edit of edits) {
    // Lookups only add messages, so they are not shown as edits.
    if (edit.action.kind === "expand") continue;
    const key = `${edit.step} ${edit.strategy} ${undone.has(edit.seq)}`;
    const known = steps.get(key);
    if (known === undefined) steps.set(key, [edit]);
    else known.push(edit);
  }
  return [...steps.values()]
    .slice(-mostSteps)
    .map((made) => stepOf(made, undone))
    .toReversed();
}

function stepOf(made: readonly Edit[], undone: ReadonlySet<number>): EditStep {
  const [edit] = made as readonly [Edit, ...Edit[]];
  const sum = (tokens: (edit: Edit) => number): number =>
    made.reduce((all, one) => all + tokens(one), 0);
  return {
    first: edit.seq,
    last: made.at(-1)?.seq ?? edit.seq,
    count: made.length,
    at: edit.at,
    strategy: edit.strategy,
    reason: reasonOf(edit, made),
    tokensBefore: sum(({ tokensBefore }) => tokensBefore),
    tokensAfter: sum(({ tokensAfter }) => tokensAfter),
    state: undone.has(edit.seq) ? "undone" : "holds",
  };
}

/** The reason of an edit. For edits made by hand, the kind of action is the reason. */
function reasonOf({ action, reason }: Edit, made: readonly Edit[]): string {
  switch (action.kind) {
    case "revert":
      return `undoes ${takenBack(made)}`;
    case "restore":
      return action.to === 0 ? "back to the beginning" : `back to edit ${action.to}`;
    case "pin":
      return "stays as it is";
    case "checkpoint":
      return action.label === "" ? "a point to restore" : action.label;
    default:
      return reason;
  }
}

/** The numbers of the edits that an undo reverted. The undo also pins the restored content, but these pins are not shown. */
function takenBack(made: readonly Edit[]): string {
  const numbers = made.flatMap(({ action }) => (action.kind === "revert" ? [action.edit] : []));
  const [first, last] = [Math.min(...numbers), Math.max(...numbers)];
  return first === last ? `#${first}` : `#${first}–${last}`;
}

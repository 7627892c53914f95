/** Removes the model's lookups from the view with the first compaction after them. */

import { ownTools } from "../../message/edit.ts";
import type { Draft, Sized } from "../draft/draft.ts";
import { editOn, propose } from "../draft/propose-edits.ts";
import type { Compaction, CompactionTask, CompactionWorld } from "./compaction.ts";

/**
 * Lookups are removed first, because their content is still in the archive. Otherwise lookups would fill the window of an agent
 * that works for hours without a message from its user. Only the lookups for the newest answer stay.
 */
export async function withoutLookups(
  world: CompactionWorld,
  { draft, start }: CompactionTask,
  state: Compaction,
): Promise<Compaction> {
  const newest = newestAnswer(draft);
  const over = start.view.expansions.filter(({ last }) => last < newest);
  if (over.length === 0) return state;
  const reason = "The lookups are in the archive.";
  const edits = over.map(({ edit }) =>
    editOn(draft, { action: { kind: "revert", edit }, strategy: ownTools, reason }),
  );
  const isSmaller = ({ measured }: Sized): boolean => measured.total < start.measured.total;
  const proposed = await propose(world, draft, edits, isSmaller);
  if (proposed.kind === "invalid" || proposed.kind === "pointless") return state;
  return { ...state, edits: proposed.edits, sized: proposed.sized, strategies: [ownTools] };
}

/** Index of the first message of the model's last answer. On wires of items, an answer may consist of several messages. */
function newestAnswer({ path, log }: Draft): number {
  const isModel = (index: number): boolean =>
    log.nodes.get(path.seqAt(index) ?? -1)?.role === "assistant";
  let index = path.length - 1;
  while (index >= 0 && !isModel(index)) index--;
  while (index > 0 && isModel(index - 1)) index--;
  return index;
}

/** What the model looked up leaves the view with the first compaction after it. */

import { ownTools } from "../../message/edit.ts";
import type { Draft, Sized } from "../draft/draft.ts";
import { editOn, propose } from "../draft/propose-edits.ts";
import type { Compaction, CompactionTask, CompactionWorld } from "./compaction.ts";

/**
 * What the model looked up leaves first: it came out of the archive, and an agent that works for hours without a word of its
 * user would otherwise fill its window with it. Only what its newest answer rests on stays.
 */
export async function withoutLookups(
  world: CompactionWorld,
  { draft, start }: CompactionTask,
  state: Compaction,
): Promise<Compaction> {
  const newest = newestAnswer(draft);
  const over = start.view.expansions.filter(({ last }) => last < newest);
  if (over.length === 0) return state;
  const reason = "What was looked up is in the archive.";
  const edits = over.map(({ edit }) =>
    editOn(draft, { action: { kind: "revert", edit }, strategy: ownTools, reason }),
  );
  const isSmaller = ({ measured }: Sized): boolean => measured.total < start.measured.total;
  const proposed = await propose(world, draft, edits, isSmaller);
  if (proposed.kind === "invalid" || proposed.kind === "pointless") return state;
  return { ...state, edits: proposed.edits, sized: proposed.sized, strategies: [ownTools] };
}

/** Where the model's last answer begins; on wires of items it may be several messages. */
function newestAnswer({ path, log }: Draft): number {
  const isModel = (index: number): boolean =>
    log.nodes.get(path.seqAt(index) ?? -1)?.role === "assistant";
  let index = path.length - 1;
  while (index >= 0 && !isModel(index)) index--;
  while (index > 0 && isModel(index - 1)) index--;
  return index;
}

/** What the model looked up leaves the view with the first compaction after it. */

import { type Edit, ownTools } from "../../message/edit.ts";
import { type Draft, sizeView } from "../draft/draft.ts";
import { judge } from "../draft/validate-view.ts";
import { nextEditSeq } from "../log/log.ts";
import { anchorOf, indexOn } from "../log/path.ts";
import { foldView } from "../log/view.ts";
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
  const { log, branch, path, turn } = draft;
  const newest = newestAnswer(draft);
  const over = start.view.expansions.filter(({ last }) => last < newest);
  if (over.length === 0) return state;
  const from = nextEditSeq(log);
  const edits = over.map(
    ({ edit }, index): Edit => ({
      seq: from + index,
      branch: branch.record.id,
      step: turn.id,
      anchor: anchorOf(log, path, branch),
      at: turn.at,
      action: { kind: "revert", edit },
      place: "undefined",
      strategy: ownTools,
      reason: "What was looked up is in the archive.",
      tokensBefore: 0,
      tokensAfter: 0,
    }),
  );
  const view = foldView(indexOn(path, log), [...log.edits, ...edits]);
  const sized = await sizeView(world.facts, draft, view);
  const isSmaller = sized.measured.total < start.measured.total;
  if (!isSmaller || (await judge(world, draft, sized)).kind === "invalid") return state;
  return { ...state, edits, sized, strategies: [ownTools] };
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

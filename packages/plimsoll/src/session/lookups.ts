/** What the model looked up leaves the view with the first compaction after its turn. */

import { isSpoken } from "../compact/truncate.ts";
import type { Edit } from "../message/edit.ts";
import type { Compaction, CompactionTask, CompactionWorld } from "./compaction.ts";
import { type Draft, sizeView } from "./draft.ts";
import { ownTools } from "./expand-answer.ts";
import { judge } from "./judge-view.ts";
import { anchorOf, indexOn } from "./path.ts";
import { decoded } from "./seen.ts";
import { foldView } from "./view.ts";

/**
 * What the model looked up in turns that are over leaves first: it came out of the archive. In the turn that is still open
 * it stays, for the provider wants to see that turn as it was.
 */
export async function withoutLookups(
  world: CompactionWorld,
  { draft, start }: CompactionTask,
  state: Compaction,
): Promise<Compaction> {
  const { log, branch, path, turn } = draft;
  const spoken = lastSpoken(draft);
  const over = start.view.expansions.filter(({ last }) => last < spoken);
  if (over.length === 0) return state;
  const from = (log.edits.at(-1)?.seq ?? 0) + 1;
  const edits = over.map(
    ({ edit }, index): Edit => ({
      seq: from + index,
      branch: branch.record.id,
      step: turn.id,
      anchor: anchorOf(log, path),
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
  if (!isSmaller || judge(world, draft, sized).kind === "invalid") return state;
  return { ...state, edits, sized, strategies: [ownTools] };
}

/** Where the user last spoke: what stands before is over. */
function lastSpoken({ path, wire }: Draft): number {
  for (let index = path.length - 1; index >= 0; index--) {
    const message = decoded(wire, path.contentAt(index));
    const isResult = message?.parts.some(({ kind }) => kind === "tool-result") === true;
    if (isSpoken(message) && !isResult) return index;
  }
  return -1;
}

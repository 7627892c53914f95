/** The note that tells the model that its window fills. */

import { warning } from "../../message/edit.ts";
import { type Draft, type Sized, sizeView } from "../draft/draft.ts";
import { judge } from "../draft/validate-view.ts";
import { commitEdits, type EditStore } from "../log/commit-edits.ts";
import { nextEditSeq, remember } from "../log/log.ts";
import { indexOn, viewOf } from "../log/path.ts";
import { countOfEdits, foldView, markOf } from "../log/view.ts";
import type { CompactionWorld } from "./compaction.ts";
import { makeEdits } from "./edits-from-proposals.ts";

/** Tells the model, behind the last message, that the window fills; undefined when that cannot be done. */
export async function addNote(
  world: EditStore & CompactionWorld,
  draft: Draft,
  start: Sized,
  { filled, isRoomy }: { readonly filled: number; readonly isRoomy: (sized: Sized) => boolean },
): Promise<Sized | undefined> {
  const { log, branch, path, wire, turn } = draft;
  await path.load();
  const { edits } = await makeEdits(
    {
      log,
      branch: branch.record.id,
      wire,
      path,
      view: start.view,
      seen: [path.length - 1],
      sign: world.sign,
      step: turn.id,
      strategy: warning,
      at: turn.at,
      from: nextEditSeq(log),
      wordings: new Map(),
      hasArchive: true,
    },
    [
      {
        kind: "insert",
        after: 0,
        text: `[Plimsoll: this conversation fills ${Math.floor(filled * 100)} % of the room that it has. Its older part will soon be replaced by a short notice; everything stays readable under a handle.${wayOut(draft, start)}]`,
        reason: "The window fills.",
      },
    ],
  );
  remember(branch, { kind: "warned", edits: countOfEdits(start.view) });
  const view = foldView(indexOn(path, log), [...log.edits, ...edits]);
  const noted = await sizeView(world.facts, draft, view);
  // Plimsoll says nothing where the note does not fit behind the last message or would break a rule.
  if (!isRoomy(noted) || (await judge(world, draft, noted)).kind !== "valid") return undefined;
  const tokensAfter = Math.max(0, noted.measured.total - start.measured.total);
  const weighed = edits.map((edit) => ({ ...edit, tokensAfter }));
  const saved = await commitEdits(world, log, weighed);
  if (saved === "unsaved") return undefined;
  remember(branch, { kind: "view-valid", view: markOf(viewOf(log, branch, path)) });
  return noted;
}

/** Only where the model has the tool. */
function wayOut({ offer }: Draft, { tools }: Sized): string {
  if (offer === undefined || tools.elements.length === 0) return "";
  return ` Call ${offer.own.nameOf("compact_context")} to make room now, at a point of your choice.`;
}

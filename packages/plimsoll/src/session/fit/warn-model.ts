/** The note that tells the model that its window is filling up. */

import { warning } from "../../message/edit.ts";
import { documentTexts } from "../../text/document-texts.ts";
import { fillingNote } from "../../text/for-models.ts";
import { type Draft, offerIn, type Sized } from "../draft/draft.ts";
import { commit, type ProposalWorld, propose } from "../draft/propose-edits.ts";
import type { EditStore } from "../log/edits.ts";
import { remember } from "../log/log.ts";
import { countOfEdits } from "../log/view.ts";
import type { CompactionWorld } from "./compaction.ts";
import { editMakingFor, type MadeEdits, makeEdits } from "./edits-from-proposals.ts";
import type { FitWorld } from "./last-resort.ts";

/** Adds the note after the last message. Returns undefined if no note can be added. */
export async function addNote(
  world: NoteWorld,
  draft: Draft,
  start: Sized,
  { filled, isRoomy }: { readonly filled: number; readonly isRoomy: (sized: Sized) => boolean },
): Promise<Sized | undefined> {
  await draft.path.load();
  const { edits } = await noteEdits(world, draft, start, filled);
  remember(draft.branch, { kind: "warned", edits: countOfEdits(start.view) });
  // Plimsoll leaves the note out if it does not fit or would break a rule.
  const noted = await propose(world, draft, edits, isRoomy);
  if (noted.kind !== "valid") return undefined;
  const { sized } = noted;
  const tokensAfter = Math.max(0, sized.measured.total - start.measured.total);
  const weighed = noted.edits.map((edit) => ({ ...edit, tokensAfter }));
  const saved = await commit(world, draft, { ...noted, edits: weighed });
  return saved === "stored" ? sized : undefined;
}

type NoteWorld = EditStore &
  ProposalWorld &
  Pick<CompactionWorld, "sign"> &
  Pick<FitWorld, "config">;

function noteEdits(
  { sign, config }: Pick<NoteWorld, "sign" | "config">,
  draft: Draft,
  start: Sized,
  filled: number,
): Promise<MadeEdits> {
  const making = editMakingFor(draft, {
    view: start.view,
    pathIndexes: [draft.path.length - 1],
    sign,
    strategy: warning,
    clientSpellings: new Map(),
    hasArchive: true,
  });
  const words = config.texts === "documents" ? documentTexts.filling : fillingNote;
  const text = words(Math.floor(filled * 100), compactTool(draft, start));
  return makeEdits(making, [
    { kind: "insert", after: 0, text, reason: "The window is filling up." },
  ]);
}

/** The name of the tool `compact_context`, if the request offers this tool to the model. */
function compactTool(draft: Draft, { tools }: Sized): string | undefined {
  const offer = offerIn(draft);
  return tools.elements.length === 0 ? undefined : offer?.own.nameOf("compact_context");
}

/** Notes to the model after the last message: its window is filling up, or its last answer was cut off. */

import { cutAnswer, warning } from "../../message/edit.ts";
import { documentTexts } from "../../text/document-texts.ts";
import { fillingByHand, fillingNote, partialNote } from "../../text/for-models.ts";
import { type Draft, offerIn, type Sized } from "../draft/draft.ts";
import { commit, type ProposalWorld, propose } from "../draft/propose-edits.ts";
import type { EditStore } from "../log/edits.ts";
import { remember } from "../log/log.ts";
import type { CompactionWorld } from "./compaction.ts";
import { editMakingFor, makeEdits } from "./edits-from-proposals.ts";
import type { FitWorld } from "./last-resort.ts";

/** Adds the note after the last message. Returns undefined if no note can be added. */
export async function addNote(
  world: NoteWorld,
  draft: Draft,
  start: Sized,
  { filled, isRoomy }: { readonly filled: number; readonly isRoomy: (sized: Sized) => boolean },
): Promise<Sized | undefined> {
  const { agent, texts } = world.config;
  const ownWords = agent?.compaction === "by_hand" ? fillingByHand : fillingNote;
  const words = texts === "documents" ? documentTexts.filling : ownWords;
  return addTextAfterLast(world, draft, start, {
    text: words(Math.floor(filled * 100), compactTool(draft, start)),
    strategy: warning,
    reason: "The window is filling up.",
    isRoomy,
  });
}

/** Adds the note to the first request after a cut answer. It is left out if it does not fit or would break a rule. */
export async function tellOfPartial(world: NoteWorld, draft: Draft, start: Sized): Promise<Sized> {
  const { partial } = draft.branch.memory;
  if (partial === undefined) return start;
  remember(draft.branch, { kind: "partial-told" });
  const noted = await addTextAfterLast(world, draft, start, {
    text: partialNote(partial),
    strategy: cutAnswer,
    reason: "The last answer was cut off.",
    isRoomy: () => true,
  });
  return noted ?? start;
}

export interface NoteToAdd {
  readonly text: string;
  readonly strategy: string;
  readonly reason: string;
  readonly isRoomy: (sized: Sized) => boolean;
}

/** Adds a text of Plimsoll's own after the last message. Returns undefined if it does not fit or would break a rule. */
async function addTextAfterLast(
  world: NoteWorld,
  draft: Draft,
  start: Sized,
  { text, strategy, reason, isRoomy }: NoteToAdd,
): Promise<Sized | undefined> {
  await draft.path.load();
  const making = editMakingFor(draft, {
    view: start.view,
    pathIndexes: [draft.path.length - 1],
    sign: world.sign,
    strategy,
    clientSpellings: new Map(),
    hasArchive: true,
  });
  const { edits } = await makeEdits(making, [{ kind: "insert", after: 0, text, reason }]);
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

/** The name of the tool `compact_context`, if the request offers this tool to the model. */
function compactTool(draft: Draft, { tools }: Sized): string | undefined {
  const offer = offerIn(draft);
  return tools.elements.length === 0 ? undefined : offer?.own.nameOf("compact_context");
}

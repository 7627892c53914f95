/**
 * Replaces results that the model has not seen with references. Normally the model sees each result once before Plimsoll hides
 * it. A result is hidden earlier if it is so large that it would crowd out everything else, or if the request still does not fit
 * after everything else that can be removed is gone. The model then reads the parts of the result that it needs.
 */

import { placeOfResult, readCalls } from "../../compact/strategies/file-calls.ts";
import { arrivalBytesOf } from "../../config/levels.ts";
import type { EditPlace, NewEdit } from "../../message/edit.ts";
import { describeResult } from "../../offload/reference-text.ts";
import type { ArchiveRecord } from "../../store/store.ts";
import { type Draft, offerIn, type Sized } from "../draft/draft.ts";
import {
  commit,
  type ProposalWorld,
  type Proposed,
  propose,
  type ValidCandidate,
} from "../draft/propose-edits.ts";
import { reportDegraded } from "../log/report.ts";
import { editMakingFor, makeEdits } from "./edits-from-proposals.ts";
import type { FitWorld } from "./last-resort.ts";
import {
  callOf,
  type OversizedResult,
  oversizedResults,
  resultsInTheWay,
  toolOf,
} from "./oversized-results.ts";
import { type BriefWorld, briefOf } from "./result-preview.ts";

/**
 * Returns the view to continue with. Contract: if the store cannot keep a result, or if the provider would not accept the edit,
 * the result stays in the view.
 */
export async function offloadFresh(world: FitWorld, draft: Draft, start: Sized): Promise<Sized> {
  if (draft.request.hasServerSideHistory === true) return start;
  // The caller of a library session decides itself how much of a result to append, unless a setting does.
  const isSet = arrivalBytesOf(world.config, draft.who) !== undefined;
  if (draft.origin === "library" && !isSet) return start;
  const large = await oversizedResults(world, draft, start);
  const leaving = large.filter(({ callId }) => !isOwnAnswer(draft, callId));
  return hide(world, draft, start, leaving);
}

/** In the library, answers of Plimsoll's own tools are results like others. The model has asked for exactly this text. */
function isOwnAnswer(draft: Draft, callId: string): boolean {
  const tool = toolOf(draft, callId);
  return tool !== undefined && offerIn(draft)?.own.named(tool) !== undefined;
}

/** Like `offloadFresh`, for results that prevent the request from fitting. `overTokens`: number of tokens to save. */
export async function offloadLast(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  overTokens: number,
): Promise<Sized> {
  return hide(world, draft, start, await resultsInTheWay(world, draft, start, overTokens));
}

async function hide(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  leaving: readonly OversizedResult[],
): Promise<Sized> {
  if (leaving.length === 0) return start;
  await world.prepareCount();
  const made = await editsFor(world, draft, start, leaving);
  const taken = await takenOf(world, draft, start, made.edits);
  const { edits, sized } = taken;
  if (edits.length === 0) return start;
  const handles = new Set(edits.map(({ action }) => ("handle" in action ? action.handle : "")));
  const archive = made.archive.filter(({ handle }) => handles.has(handle));
  if ((await commit(world, draft, taken, { archive })) === "stored") return sized;
  reportDegraded(draft, "view", "the store could not keep a result that would be removed");
  return start;
}

interface Made {
  readonly edits: readonly NewEdit[];
  readonly archive: readonly ArchiveRecord[];
}

async function editsFor(
  world: BriefWorld & Pick<FitWorld, "sign">,
  draft: Draft,
  start: Sized,
  leaving: readonly OversizedResult[],
): Promise<Made> {
  const { path } = draft;
  const briefs = await Promise.all(
    leaving.map(({ index, ...result }) =>
      briefOf(world, draft, { ...result, number: path.seqAt(index) ?? 0 }),
    ),
  );
  const { edits, archive } = await makeEdits(
    editMakingFor(draft, {
      view: start.view,
      pathIndexes: leaving.map(({ index }) => index),
      sign: world.sign,
      strategy: "offload_fresh",
      // No client spellings are needed, because clients spell only answers differently, and these are results.
      clientSpellings: new Map(),
      hasArchive: true,
    }),
    leaving.map(({ part, inner, reason, ...result }, message) => ({
      kind: "replace",
      message,
      part,
      inner,
      place: placeOf(draft, result.callId),
      reason,
      handle: "own",
      textFor: ({ handle }) => {
        const { followedBy, text } = briefs[message] ?? {};
        const tool = toolOf(draft, result.callId);
        const readingTool = offerIn(draft)?.own.nameOf("read_result");
        const reference = describeResult({
          ...result,
          handle,
          tool,
          readingTool,
          followedBy,
          texts: world.config.texts,
        });
        return text === undefined ? reference : `${reference}\n${text}`;
      },
    })),
  );
  const sized = edits.map((edit) => {
    const text = "text" in edit.action ? edit.action.text : "";
    return { ...edit, tokensAfter: world.count(text) };
  });
  return { edits: sized, archive };
}

function placeOf(draft: Draft, callId: string): EditPlace {
  const call = callOf(draft, callId);
  if (call === undefined) return placeOfResult(undefined);
  return placeOfResult(readCalls([{ role: "assistant", parts: [call] }]).get(call));
}

/** Proposes all edits together. If the result is invalid, tries them one by one and leaves out those that cause a fault. */
async function takenOf(
  world: ProposalWorld,
  draft: Draft,
  start: Sized,
  edits: readonly NewEdit[],
): Promise<ValidCandidate> {
  const tryAfter = (before: ValidCandidate, added: readonly NewEdit[]): Promise<Proposed> =>
    propose(
      world,
      draft,
      [...before.edits, ...added],
      ({ measured }) => measured.total < before.sized.measured.total,
    );
  let taken: ValidCandidate = { kind: "valid", edits: [], sized: start };
  const all = await tryAfter(taken, edits);
  if (all.kind === "valid") return all;
  for (const edit of edits.length === 1 ? [] : edits) {
    const more = await tryAfter(taken, [edit]);
    if (more.kind === "valid") taken = more;
  }
  return taken;
}

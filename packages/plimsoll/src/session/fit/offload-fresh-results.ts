/**
 * Results that the model has not seen. One is seen once before it is hidden, unless it is so large that it would crowd out
 * everything else, or the request does not fit with it when everything else that can go is gone: then a reference takes its
 * place, and the model reads what it needs.
 */

import type { Edit } from "../../message/edit.ts";
import { describeResult } from "../../offload/reference-text.ts";
import type { ArchiveRecord } from "../../store/store.ts";
import { type Draft, type Sized, sizeView } from "../draft/draft.ts";
import { judge } from "../draft/validate-view.ts";
import { commitEdits } from "../log/commit-edits.ts";
import { nextEditSeq, remember } from "../log/log.ts";
import { indexOn, viewOf } from "../log/path.ts";
import { reportDegraded } from "../log/report.ts";
import { foldView, markOf } from "../log/view.ts";
import { makeEdits } from "./edits-from-proposals.ts";
import type { FitWorld } from "./last-resort.ts";
import {
  type OversizedResult,
  oversizedResults,
  resultsInTheWay,
  toolOf,
} from "./oversized-results.ts";
import { briefOf } from "./result-preview.ts";

/** The view to go on with. Contract: what the store cannot keep stays, and so does what a provider would not take. */
export async function offloadFresh(world: FitWorld, draft: Draft, start: Sized): Promise<Sized> {
  if (draft.isHeld === true || draft.isOfLibrary === true) return start;
  return hide(world, draft, start, await oversizedResults(world, draft, start));
}

/** The same for results that are in the way of everything else, by so many tokens. */
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
  const made = await editsFor(world, draft, start, leaving);
  const { edits, sized } = await takenOf(world, draft, start, made.edits);
  if (edits.length === 0) return start;
  const { log, branch, path } = draft;
  const handles = new Set(edits.map(({ action }) => ("handle" in action ? action.handle : "")));
  const archive = made.archive.filter(({ handle }) => handles.has(handle));
  const saved = await commitEdits(world, log, edits, { archive });
  if (saved === "unsaved") {
    reportDegraded(draft, "view", "the store could not keep a result that would be taken out");
    return start;
  }
  remember(branch, { kind: "view-valid", view: markOf(viewOf(log, branch, path)) });
  return sized;
}

interface Made {
  readonly edits: readonly Edit[];
  readonly archive: readonly ArchiveRecord[];
}

async function editsFor(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  leaving: readonly OversizedResult[],
): Promise<Made> {
  const { log, branch, path, wire, turn } = draft;
  const briefs = await Promise.all(
    leaving.map(({ index, ...result }) =>
      briefOf(world, draft, { ...result, number: path.seqAt(index) ?? 0 }),
    ),
  );
  const { edits, archive } = await makeEdits(
    {
      log,
      branch: branch.record.id,
      wire,
      path,
      view: start.view,
      seen: leaving.map(({ index }) => index),
      sign: world.sign,
      step: turn.id,
      strategy: "offload_fresh",
      at: turn.at,
      from: nextEditSeq(log),
      // Only answers can have other words, and results are none.
      wordings: new Map(),
      hasArchive: true,
    },
    leaving.map(({ part, inner, reason, ...result }, message) => ({
      kind: "replace",
      message,
      part,
      inner,
      place: "no-file-read",
      reason,
      handle: "own",
      textFor: ({ handle }) => {
        const { followedBy, text } = briefs[message] ?? {};
        const tool = toolOf(draft, result.callId);
        const readingTool = draft.offer?.own.nameOf("read_result");
        const reference = describeResult({ ...result, handle, tool, readingTool, followedBy });
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

interface Taken {
  readonly edits: readonly Edit[];
  readonly sized: Sized;
}

/** All of them; where that is not valid, one after the other, without those that make it so. */
async function takenOf(
  world: FitWorld,
  draft: Draft,
  start: Sized,
  edits: readonly Edit[],
): Promise<Taken> {
  const all = await tryEdits(world, draft, start, edits);
  if (all !== undefined) return all;
  let taken: Taken = { edits: [], sized: start };
  for (const edit of edits.length === 1 ? [] : edits)
    taken = (await tryEdits(world, draft, taken.sized, [...taken.edits, edit])) ?? taken;
  return taken;
}

/** Undefined when they make nothing smaller, or something wrong. */
async function tryEdits(
  world: FitWorld,
  draft: Draft,
  before: Sized,
  edits: readonly Edit[],
): Promise<Taken | undefined> {
  const { log, path } = draft;
  const from = nextEditSeq(log);
  const numbered = edits.map((edit, index) => ({ ...edit, seq: from + index }));
  const view = foldView(indexOn(path, log), [...log.edits, ...numbered]);
  const sized = await sizeView(world.facts, draft, view);
  const isSmaller = sized.measured.total < before.measured.total;
  return isSmaller && (await judge(world, draft, sized)).kind === "valid"
    ? { edits: numbered, sized }
    : undefined;
}

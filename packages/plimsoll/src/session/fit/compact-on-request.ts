/** `compact_context`: the model asks for room in the middle of its turn. */

import { answerTexts } from "../../text/for-models.ts";
import { type Draft, sizeView } from "../draft/draft.ts";
import { assessView, guardOf } from "../draft/projection.ts";
import { viewOf } from "../log/path.ts";
import { compactTurn } from "./compact-turn.ts";
import type { Fitted, FitWorld } from "./last-resort.ts";

/** The request is reduced to at most this share of its size. */
const mostShare = 0.6;

export interface CompactedAsAsked {
  readonly fitted: Fitted;
  /** The answer that the model gets to its call. */
  readonly text: string;
}

export async function compactAsAsked(
  world: FitWorld,
  draft: Draft,
  before: Fitted,
): Promise<CompactedAsAsked> {
  const { log } = draft;
  const known = new Set(log.edits.map(({ seq }) => seq));
  const visibleBefore = visibleMessageCount(draft);
  const after = await compactedOnRequest(world, draft);
  const made = log.edits.filter(({ seq }) => !known.has(seq));
  // If the compaction does not help, the request stays as it was.
  const isBetter = after.refusal === undefined && !after.isFinal && made.length > 0;
  if (!isBetter)
    return {
      fitted: before,
      text: answerTexts.nothingRemoved,
    };
  const text = answerTexts.compacted({
    tokensBefore: before.tokensAfter,
    tokensAfter: after.tokensAfter,
    messagesBefore: visibleBefore,
    messagesAfter: visibleMessageCount(draft),
    strategies: [...new Set(made.map(({ strategy }) => strategy))],
  });
  return { fitted: after, text };
}

async function compactedOnRequest(world: FitWorld, draft: Draft): Promise<Fitted> {
  const { log, branch, path } = draft;
  const start = await sizeView(world.facts, draft, viewOf(log, branch, path));
  const guard = guardOf(world, draft);
  return compactTurn(world, draft, start, {
    guard,
    before: assessView(world, draft, start, guard),
    isOverMedia: false,
    why: "asked",
    mostTokens: Math.floor(start.measured.total * mostShare),
  });
}

function visibleMessageCount({
  log,
  branch,
  path,
}: Pick<Draft, "log" | "branch" | "path">): number {
  const { gaps } = viewOf(log, branch, path);
  return gaps.reduce((left, { first, last }) => left - (last - first + 1), path.length);
}

/** A summary by a model, made ready in the background before it is needed, and held to its source before anyone sees it. */

import { readEvidence } from "../compact/evidence.ts";
import { speechOf } from "../compact/evidence-speech.ts";
import { summaryBody } from "../compact/notice.ts";
import { judgeSummary } from "../compact/survival.ts";
import { see } from "./compaction.ts";
import type { Draft, Sized } from "./draft.ts";
import type { FitWorld } from "./last-resort.ts";
import { announce } from "./record.ts";

/** The newest part stays as it is, and is not summed up. */
const oldShare = 0.8;
const summaryTokens = 1000;

/** From the warning on, once until the next compaction. Without a configured model nothing is done. */
export function prepareSummary(world: FitWorld, draft: Draft, start: Sized): void {
  const { summariser, count } = world;
  const { branch, path, log, turn } = draft;
  if (summariser === undefined || branch.prepared !== undefined) return;
  branch.prepared = { kind: "under-way" };
  world.background.run(async () => {
    const { conversation, seen } = await see(world, draft, start);
    const old = conversation.messages.slice(0, Math.floor(conversation.messages.length * oldShare));
    const chain = path.chainAt(seen[old.length - 1] ?? -1);
    const source = speechOf(old);
    if (chain === undefined || source.length === 0) return;
    const earlier = summaryBody(conversation.summary);
    const before = earlier === undefined ? {} : { earlier };
    const signal = new AbortController().signal;
    const made = await summariser.summarise({
      source,
      ...before,
      maxTokens: summaryTokens,
      signal,
    });
    const verdict = judgeSummary({
      summary: made.kind === "text" ? made.text : "",
      evidence: readEvidence(old),
      source,
      ...before,
      count,
      maxTokens: summaryTokens,
    });
    const text = verdict.kind === "passes" && made.kind === "text" ? made.text : summaryIn(verdict);
    branch.prepared = { kind: "ready", chain, text };
    announce(log, {
      type: "summary-prepared",
      session: log.record.id,
      at: world.now(),
      turn: turn.id,
      verdict: verdict.kind,
      ...(made.kind === "failed" ? { reason: made.reason } : {}),
      ...(verdict.kind === "replaced" ? { reason: verdict.reason } : {}),
    });
  });
}

function summaryIn(verdict: ReturnType<typeof judgeSummary>): string {
  return verdict.kind === "passes" ? "" : verdict.summary;
}

/**
 * Asks a model for a summary in the background, before one is needed. The summary is checked against its source before it is
 * used.
 */

import { readEvidence } from "../../compact/evidence/evidence.ts";
import { speechOf } from "../../compact/evidence/speech.ts";
import { checkSummaryFacts, type GateTask } from "../../compact/summary/survival.ts";
import { summaryBody } from "../../compact/units/notices.ts";
import { readVisible } from "../draft/conversation-for-strategies.ts";
import type { Draft, Sized } from "../draft/draft.ts";
import { announce } from "../log/append.ts";
import { remember } from "../log/log.ts";
import type { ModelSummary } from "../models/summariser.ts";
import type { FitWorld } from "./last-resort.ts";

/** Share of the messages to summarise, from the oldest on. The newest messages stay as they are. */
const oldShare = 0.8;
const summaryTokens = 1000;

/**
 * Asks for a summary if the request is above the warning threshold, at most once until the next compaction. Does nothing if no
 * model for summaries is configured.
 */
export function prepareSummary(world: FitWorld, draft: Draft, start: Sized): void {
  const { summariser } = world;
  const { branch } = draft;
  const isWanted = branch.isSummaryWanted && branch.memory.summary === undefined;
  if (summariser === undefined || !isWanted) return;
  branch.isSummaryWanted = false;
  // Keeps the session in memory until the summary is recorded, so that no second copy of the session is read from the store.
  branch.summariesUnderWay++;
  const end = (): void => {
    branch.summariesUnderWay--;
  };
  const isTaken = world.background.run(async () => {
    const asked = await summaryTask(world, draft, start).catch(() => undefined);
    if (asked === undefined) return end();
    // Nothing waits for the model's summary, not even other background work.
    void summariser.summarise({ ...asked.task, signal: world.closing }).then((made) => {
      const isQueued = world.background.run(() =>
        checkSummary(world, draft, { ...asked, made }).finally(end),
      );
      if (!isQueued) end();
    }, end);
  });
  if (!isTaken) end();
}

/** The task for the model that writes the summary. Undefined if there is nothing to summarise. */
async function summaryTask(
  world: FitWorld,
  draft: Draft,
  start: Sized,
): Promise<Omit<Written, "made"> | undefined> {
  const { conversation, pathIndexes } = await readVisible(world, draft, start);
  const old = conversation.messages.slice(0, Math.floor(conversation.messages.length * oldShare));
  const chain = draft.path.chainAt(pathIndexes[old.length - 1] ?? -1);
  const source = speechOf(old);
  if (chain === undefined || source.length === 0) return undefined;
  const earlier = summaryBody(conversation.summary);
  const given = { source, maxTokens: summaryTokens };
  const task = earlier === undefined ? given : { ...given, earlier };
  return { task, evidence: readEvidence(old), chain };
}

interface Written {
  readonly made: ModelSummary;
  readonly task: Pick<GateTask, "source" | "earlier" | "maxTokens">;
  readonly evidence: GateTask["evidence"];
  readonly chain: string;
}

/**
 * Checks a model's summary and records it. A text that fails the check is never shown. In that case, or if the model failed, the
 * check supplies a summary itself.
 */
async function checkSummary(
  world: Pick<FitWorld, "count" | "prepareCount" | "now" | "saver">,
  { branch, log, turn }: Draft,
  { made, task, evidence, chain }: Written,
): Promise<void> {
  await world.prepareCount();
  const summary = made.kind === "text" ? made.text : "";
  const verdict = checkSummaryFacts({ ...task, summary, evidence, count: world.count });
  const text = verdict.kind === "passes" ? summary : verdict.summary;
  remember(branch, { kind: "summary-ready", chain, text });
  announce(log, {
    type: "summary-prepared",
    session: log.record.id,
    at: world.now(),
    turn: turn.id,
    verdict: verdict.kind,
    ...(made.kind === "failed" ? { reason: made.reason } : {}),
    ...(verdict.kind === "replaced" ? { reason: verdict.reason } : {}),
  });
  await world.saver.save(log);
}

/**
 * Asks a model for the story so far in the background, before it is needed. The story is checked against the conversation before
 * it is used.
 */

import { readEvidence } from "../../compact/evidence/evidence.ts";
import { speechOf } from "../../compact/evidence/speech.ts";
import { missingRules, rulesOf } from "../../compact/excerpt/user-rules.ts";
import { readActs } from "../../compact/story/acts.ts";
import { checkStory, type StoryGateTask } from "../../compact/story/gate.ts";
import { nothingQuoted, storyOf } from "../../compact/story/story.ts";
import { storyQuestion } from "../../compact/summary/prompt.ts";
import { splitSummary } from "../../compact/units/handover.ts";
import { headLength } from "../../compact/units/head.ts";
import { summaryBody } from "../../compact/units/notices.ts";
import type { CountTokens, VisibleConversation } from "../../message/strategy.ts";
import { readVisible } from "../draft/conversation-for-strategies.ts";
import { type Draft, ownTextPlacement, type Sized } from "../draft/draft.ts";
import { announce } from "../log/append.ts";
import { remember } from "../log/log.ts";
import type { ModelSummary } from "../models/bounded-call.ts";
import type { AnsweredRequest } from "../models/session-summariser.ts";
import type { Fitted, FitWorld } from "./last-resort.ts";

/** Share of the messages to write about, from the oldest on. The newest messages stay as they are. */
const oldShare = 0.8;
/** Share of the tokens that the skeleton may have. Rules and changes may take twice as many, and the model's words need room. */
const skeletonShare = 0.4;

/** A turn whose request was above the warning threshold and was answered. */
export interface SummaryOccasion {
  readonly fitted: Fitted;
  /** The view that was sent. */
  readonly sized: Sized;
  /** The bytes that were sent. Undefined in the library. */
  readonly body: Uint8Array | undefined;
}

/**
 * Asks for a story, at most once until the next compaction. Does nothing if no model is configured for it. Nothing waits for the
 * model.
 */
export function prepareSummary(world: FitWorld, draft: Draft, occasion: SummaryOccasion): void {
  const { branch } = draft;
  const writer = writerFor(world, draft, occasion);
  const isWanted = branch.isSummaryWanted && branch.memory.summary === undefined;
  if (writer === undefined || !isWanted) return;
  branch.isSummaryWanted = false;
  // Keeps the session in memory until the story is recorded, so that no second copy of the session is read from the store.
  branch.summariesUnderWay++;
  const end = (): void => {
    branch.summariesUnderWay--;
  };
  const isTaken = world.background.run(async () => {
    const asked = await storyTask(world, draft, occasion.sized, writer.maxTokens).catch(
      () => undefined,
    );
    if (asked === undefined) return end();
    // Nothing waits for the model's story, not even other background work.
    void writer.write(asked).then((made) => {
      const isQueued = world.background.run(() =>
        checkWritten(world, draft, asked, made).finally(end),
      );
      if (!isQueued) end();
    }, end);
  });
  if (!isTaken) end();
}

interface Writer {
  readonly maxTokens: number;
  readonly write: (task: StoryToWrite) => Promise<ModelSummary>;
}

/** The model that writes the story: one of its own, or that of the session. Undefined if there is none. */
function writerFor(world: FitWorld, draft: Draft, occasion: SummaryOccasion): Writer | undefined {
  const { summariser, sessionSummariser, closing: signal } = world;
  if (summariser !== undefined)
    return {
      maxTokens: summariser.maxTokens,
      write: ({ old, skeleton, earlier, maxTokens }) =>
        summariser.summarise({
          source: speechOf(old),
          story: { skeleton, earlier },
          maxTokens,
          signal,
        }),
    };
  const answered = answeredRequest(world, draft, occasion);
  if (sessionSummariser === undefined || answered === undefined) return undefined;
  return {
    maxTokens: sessionSummariser.maxTokens,
    write: (task) => {
      const text = storyQuestion(task);
      const textTokens = world.count(text);
      return sessionSummariser.ask({ answered, text, textTokens, signal });
    },
  };
}

function answeredRequest(
  { pricesOf }: Pick<FitWorld, "pricesOf">,
  draft: Draft,
  { fitted: { target, projection }, body }: SummaryOccasion,
): AnsweredRequest | undefined {
  const { askAgainAs } = draft.request;
  if (askAgainAs === undefined || body === undefined) return undefined;
  return {
    wire: draft.wire,
    body,
    tokens: projection.most,
    window: target.limit.window,
    ownTextPlacement: ownTextPlacement(draft),
    prices: pricesOf(target),
    askAgain: (again, signal) => askAgainAs(target.model)(again, signal),
  };
}

interface StoryToWrite extends Pick<StoryGateTask, "skeleton" | "source" | "evidence"> {
  /** The messages to write about. */
  readonly old: VisibleConversation["messages"];
  readonly earlier: string | undefined;
  readonly maxTokens: number;
  /** The chain of the last of the old messages. */
  readonly chain: string;
}

/** Undefined if there is nothing to write about. */
async function storyTask(
  world: FitWorld,
  draft: Draft,
  sized: Sized,
  maxTokens: number,
): Promise<StoryToWrite | undefined> {
  await world.prepareCount();
  const { conversation, pathIndexes } = await readVisible(world, draft, sized);
  const { messages, summary } = conversation;
  const old = messages.slice(0, Math.floor(messages.length * oldShare));
  const chain = draft.path.chainAt(pathIndexes[old.length - 1] ?? -1);
  const source = speechOf(messages);
  if (chain === undefined || source.length === 0) return undefined;
  const skeleton = skeletonOf(conversation, old.length, {
    tokens: maxTokens * skeletonShare,
    count: world.count,
  });
  const evidence = readEvidence(messages);
  // The handover of a fresh start stays beside the story.
  const earlier = summaryBody(splitSummary(summary ?? "").rest);
  return { old, source, evidence, skeleton, earlier, maxTokens, chain };
}

/** The story without a model, as if the view no longer showed the oldest messages. */
function skeletonOf(
  conversation: VisibleConversation,
  oldLength: number,
  { tokens, count }: { readonly tokens: number; readonly count: CountTokens },
): string {
  const from = headLength(conversation);
  const kept = conversation.messages.slice(oldLength).map((visible, index) => {
    return [oldLength + index, { message: visible.message, changes: [] }] as const;
  });
  return storyOf({
    conversation,
    acts: readActs(conversation.messages, from, conversation.effects),
    from,
    isShown: (message) => message >= oldLength,
    quoted: nothingQuoted,
    rules: missingRules(rulesOf(conversation, from), { messages: new Map(kept), gone: [] }),
    tokens,
    count,
  });
}

/**
 * Checks a model's story and records it. A text that fails the check is never shown. In that case, or if the model failed, the
 * next compaction writes the story without a model.
 */
async function checkWritten(
  world: Pick<FitWorld, "count" | "now" | "saver">,
  { branch, log, turn }: Draft,
  { chain, ...task }: StoryToWrite,
  made: ModelSummary,
): Promise<void> {
  const story = made.kind === "text" ? made.text : "";
  const verdict = checkStory({ ...task, story, count: world.count });
  if (verdict.kind !== "replaced")
    remember(branch, { kind: "summary-ready", chain, text: verdict.story });
  announce(log, {
    type: "summary-prepared",
    session: log.record.id,
    at: world.now(),
    turn: turn.id,
    verdict: verdict.kind,
    ...(verdict.kind === "replaced" ? { reason: verdict.reason } : {}),
    ...(made.kind === "failed" ? { reason: made.reason } : {}),
  });
  await world.saver.save(log);
}

/**
 * A compaction: strategies propose, one after the other, until the goal is met. What a strategy proposes is taken
 * when it makes the request smaller and no less valid; otherwise it is dropped, and the next one goes on from there.
 */

import { sameScale, shownTokens } from "../../budget/token-scale.ts";
import { takesUnknown } from "../../compact/units/fixed-units.ts";
import { type NewEdit, warning } from "../../message/edit.ts";
import { errorMessage } from "../../message/error.ts";
import type { Goal, Proposal, Strategy, VisibleConversation } from "../../message/strategy.ts";
import type { PriorityArea } from "../../message/unit.ts";
import { withTimeout } from "../../workers/with-timeout.ts";
import { readVisible } from "../draft/conversation-for-strategies.ts";
import type { Draft, Sized } from "../draft/draft.ts";
import { type Candidate, editOn, propose } from "../draft/propose-edits.ts";
import { commitEdits, type EditStore } from "../log/edits.ts";
import { anchoredTogether } from "../log/path.ts";
import type { Saved } from "../log/save.ts";
import type { Compaction, CompactionTask, CompactionWorld } from "./compaction.ts";
import { withoutLookups } from "./drop-lookups.ts";
import { editMakingFor, type MadeEdits, makeEdits } from "./edits-from-proposals.ts";
import { highestArea, type PhaseReport, phaseOf } from "./phases.ts";

export async function compact(world: CompactionWorld, task: CompactionTask): Promise<Compaction> {
  const announce = announcer(world, task);
  await world.prepareCount();
  let state = await withoutLookups(world, task, {
    edits: [],
    archive: [],
    clientSpellings: [],
    strategies: [],
    sized: task.start,
    failures: [],
  });
  for (const strategy of task.strategies) {
    world.closing?.throwIfAborted();
    const isMet = state.sized.measured.total <= task.goal.tokens && task.goal.media === undefined;
    if (isMet || (strategy.isLastResort && isEnough(task, state.sized))) break;
    state = await tryStrategy(world, task, { strategy, announce }, state);
  }
  return { ...state, edits: anchoredTogether(task.draft, state.edits) };
}

/** Nothing is truncated when a lesser loss has saved this share, and there is room for a while. */
const enough = { savedShare: 0.3, filledShare: 0.8 };

function isEnough({ start, goal }: CompactionTask, { measured }: Sized): boolean {
  const saved = 1 - measured.total / Math.max(1, start.measured.total);
  return saved >= enough.savedShare && measured.total <= goal.limitTokens * enough.filledShare;
}

async function tryStrategy(
  world: CompactionWorld,
  task: CompactionTask,
  { strategy, announce }: { readonly strategy: Strategy; readonly announce: Announce },
  state: Compaction,
): Promise<Compaction> {
  const failed = (reason: string): Compaction => ({
    ...state,
    failures: [...state.failures, `${strategy.name}: ${reason}`],
  });
  const { draft, goal } = task;
  let proposed: ProposedCompaction;
  try {
    const { conversation, pathIndexes } = await readVisible(world, draft, state.sized);
    await announce(strategy, state, conversation);
    const work = strategy.propose(conversation, goal);
    const wanted = await (strategy.keepsTime === true
      ? work
      : withTimeout(work, proposalTimeoutMs, tooSlow));
    const proposals = wanted.filter((proposal) => !takesUnknown(conversation, proposal));
    if (proposals.length === 0) return state;
    proposed = await withProposals(world, task, state, { strategy, pathIndexes, proposals });
  } catch (error) {
    return failed(errorMessage(error));
  }
  switch (proposed.kind) {
    case "valid":
      return proposed.compaction;
    case "pointless":
      return state;
    case "invalid":
      return failed(proposed.reason);
    case "unvalidated":
      // Truncation in whole units needs no second opinion when there is none to be had.
      return strategy.isLastResort
        ? { ...proposed.compaction, failures: [...state.failures, proposed.reason] }
        : failed(proposed.reason);
  }
}

type Announce = (
  strategy: Strategy,
  state: Compaction,
  conversation: VisibleConversation,
) => Promise<void>;

/** The area is looked for once: it takes as long as all words of the conversation. */
function announcer(
  { watch, areas }: Pick<CompactionWorld, "watch" | "areas">,
  { draft, goal, progressScale = { limit: goal.limitTokens, scale: sameScale } }: CompactionTask,
): Announce {
  let named: Pick<PhaseReport, "priority"> | undefined;
  return async (strategy, { sized }, conversation) => {
    const phase = phaseOf(strategy.name);
    if (watch === undefined || phase === undefined) return;
    named ??= namedArea(conversation, areas);
    await watch(draft, {
      phase,
      tokens: shownTokens(sized.measured.total, progressScale.scale),
      limit: progressScale.limit,
      goal: shownTokens(goal.tokens, progressScale.scale),
      strategy: strategy.name,
      ...named,
    });
  };
}

function namedArea(
  conversation: VisibleConversation,
  areas: readonly PriorityArea[],
): Pick<PhaseReport, "priority"> {
  const priority = highestArea(conversation, areas);
  return priority === undefined ? {} : { priority };
}

/** A request must not wait for ever. */
const proposalTimeoutMs = 10_000;

function tooSlow(): never {
  throw new Error("it took too long");
}

/** In tokens; where media are the trouble, in media. */
function isSmaller({ media }: Goal, one: Sized, other: Sized): boolean {
  const hasFewer = media !== undefined && (one.media < other.media || one.bytes < other.bytes);
  return hasFewer || one.measured.total < other.measured.total;
}

/** What a note announced has come, and a new summary takes the place of the old one: they say nothing any more. */
function spentTexts(
  draft: Draft,
  { view }: Sized,
  proposals: readonly Proposal[],
): readonly NewEdit[] {
  const isReplaced = proposals.some(({ kind }) => kind === "summary");
  return view.edits
    .filter(({ action, strategy }) => {
      if (action.kind !== "insert") return false;
      return strategy === warning || (isReplaced && action.handle !== undefined);
    })
    .map(({ seq, strategy }) =>
      editOn(draft, {
        action: { kind: "revert", edit: seq },
        strategy,
        reason:
          strategy === warning ? "What the note announced has come." : "A newer summary says it.",
      }),
    );
}

interface FromStrategy {
  readonly strategy: Strategy;
  readonly pathIndexes: readonly number[];
  readonly proposals: readonly Proposal[];
}

type ProposedCompaction =
  | { readonly kind: "valid"; readonly compaction: Compaction }
  | { readonly kind: "unvalidated"; readonly reason: string; readonly compaction: Compaction }
  | { readonly kind: "invalid"; readonly reason: string }
  | { readonly kind: "pointless" };

/** What the compaction comes to with what a strategy proposes. */
async function withProposals(
  world: CompactionWorld,
  { draft, goal }: CompactionTask,
  state: Compaction,
  from: FromStrategy,
): Promise<ProposedCompaction> {
  const before = pending(draft, state, from.proposals);
  const made = await editsFrom(world, draft, state, from);
  const edits = worthwhile(goal, await withSizes(world, draft, made.edits));
  const all =
    edits.length === 0 ? state.edits : [...underNewHandle(state, before, edits), ...edits];
  const proposed = await propose(world, draft, all, (sized) => isSmaller(goal, sized, state.sized));
  if (proposed.kind === "invalid" || proposed.kind === "pointless") return proposed;
  const compaction = {
    ...withMade(state, made, proposed),
    strategies: [...state.strategies, from.strategy.name],
  };
  return proposed.kind === "valid"
    ? { kind: "valid", compaction }
    : { kind: "unvalidated", reason: proposed.reason, compaction };
}

async function editsFrom(
  { sign, store, hasArchive }: Pick<CompactionWorld, "sign" | "store" | "hasArchive">,
  draft: Draft,
  { sized }: Compaction,
  { strategy, pathIndexes, proposals }: FromStrategy,
): Promise<MadeEdits> {
  const making = editMakingFor(draft, {
    view: sized.view,
    pathIndexes,
    sign,
    strategy: strategy.name,
    clientSpellings: await store.clientSpellingSizes(draft.log.record.id),
    hasArchive: hasArchive !== false,
  });
  return makeEdits(making, proposals);
}

/** The archive keeps no entry whose handle no edit names any more. */
function withMade(state: Compaction, made: MadeEdits, { edits, sized }: Candidate): Compaction {
  const handles = new Set(edits.map(({ action }) => ("handle" in action ? action.handle : "")));
  return {
    ...state,
    edits,
    archive: [...state.archive, ...made.archive].filter(({ handle }) => handles.has(handle)),
    clientSpellings: [...state.clientSpellings, ...made.clientSpellings],
    sized,
  };
}

/** Edits of this step whose handle is no longer shown: the one that is shown now covers them. */
function underNewHandle(
  { edits }: Compaction,
  before: readonly NewEdit[],
  made: readonly NewEdit[],
): readonly NewEdit[] {
  const [oldHandle, now] = [summaryHandle(edits), summaryHandle(made)];
  if (oldHandle === undefined || now === undefined) return before;
  return before.map((edit) => {
    const { action } = edit;
    const isCovered = "handle" in action && action.handle === oldHandle;
    return isCovered ? { ...edit, action: { ...action, handle: now } } : edit;
  });
}

function summaryHandle(edits: readonly NewEdit[]): string | undefined {
  return edits.flatMap(({ action }) => (action.kind === "insert" ? (action.handle ?? []) : []))[0];
}

/** What this step has made so far, and takes back: a new summary takes the place of the last one, also of this very step. */
function pending(
  draft: Draft,
  { edits, sized }: Compaction,
  proposals: readonly Proposal[],
): readonly NewEdit[] {
  const isReplaced = proposals.some(({ kind }) => kind === "summary");
  const made = edits.filter(
    ({ action }) => !(isReplaced && action.kind === "insert" && action.handle !== undefined),
  );
  const known = new Set(draft.log.edits.map(({ seq }) => seq));
  const reverted = new Set(
    made.flatMap(({ action }) => (action.kind === "revert" ? action.edit : [])),
  );
  const spent = spentTexts(draft, sized, proposals).filter(
    ({ action }) =>
      action.kind === "revert" && known.has(action.edit) && !reverted.has(action.edit),
  );
  return [...made, ...spent];
}

/** What is shorter than the notice in its place stays. */
function worthwhile({ media }: Goal, edits: readonly NewEdit[]): readonly NewEdit[] {
  const isKept = ({ action, tokensBefore, tokensAfter }: NewEdit): boolean =>
    action.kind === "insert" ||
    (action.kind === "replace" && media !== undefined) ||
    tokensAfter < tokensBefore;
  return edits.filter(isKept);
}

/** What the text of each edit costs. */
async function withSizes(
  { facts }: Pick<CompactionWorld, "facts">,
  { wire, targets }: Draft,
  edits: readonly NewEdit[],
): Promise<readonly NewEdit[]> {
  const texts = edits.map(({ action }) => ("text" in action ? action.text : ""));
  const messages = texts.map((text) =>
    new TextEncoder().encode(JSON.stringify(wire.edit.ownMessage({ text }))),
  );
  const sizes = await facts.learn(wire, messages, targets[0].ruler);
  return edits.map((edit, index) => ({ ...edit, tokensAfter: sizes[index]?.tokens ?? 0 }));
}

export function commitCompaction(
  world: EditStore,
  { log }: Draft,
  { edits, archive, clientSpellings }: Compaction,
): Promise<Saved> {
  return commitEdits(world, log, edits, { archive, clientSpellings });
}

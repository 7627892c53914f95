/**
 * Runs a compaction: strategies propose edits one after the other until the goal is met. Plimsoll accepts a proposal if the
 * request becomes smaller and stays as valid as before. Otherwise it drops the proposal, and the next strategy starts from the
 * same state.
 */

import { sameScale, shownTokens } from "../../budget/token-scale.ts";
import { withPlaces } from "../../compact/strategies/file-calls.ts";
import { takesUnknown } from "../../compact/units/fixed-units.ts";
import { type KeptHandover, keepHandover, withHandover } from "../../compact/units/handover.ts";
import { movableTokens } from "../../compact/units/movable-units.ts";
import { marksMended, withTrueMarks, writesMarks } from "../../compact/units/same-line-marks.ts";
import { type NewEdit, warning } from "../../message/edit.ts";
import { errorMessage } from "../../message/error.ts";
import type { Goal, Proposal, Strategy, VisibleConversation } from "../../message/strategy.ts";
import type { PriorityArea } from "../../message/unit.ts";
import { cutTexts } from "../../text/for-models.ts";
import { withTimeout } from "../../workers/with-timeout.ts";
import { readVisible, type StrategyInput } from "../draft/conversation-for-strategies.ts";
import type { Draft, Sized } from "../draft/draft.ts";
import { type Candidate, editOn, propose } from "../draft/propose-edits.ts";
import { commitEdits, type EditStore } from "../log/edits.ts";
import { anchoredTogether } from "../log/path.ts";
import type { Saved } from "../log/save.ts";
import type { Compaction, CompactionTask, CompactionWorld, ProgressScale } from "./compaction.ts";
import { withoutLookups } from "./drop-lookups.ts";
import { editMakingFor, type MadeEdits, makeEdits } from "./edits-from-proposals.ts";
import { highestPriority, type PhaseReport, phaseOf } from "./phases.ts";

export async function compact(world: CompactionWorld, asked: CompactionTask): Promise<Compaction> {
  const { coherence } = world;
  const task = coherence === undefined ? asked : { ...asked, goal: { ...asked.goal, coherence } };
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
    if (isMet(task, state, strategy)) break;
    if (strategy.isLastResort && isEnough(task, state.sized, world)) break;
    state = await tryStrategy(world, task, { strategy, announce }, state);
  }
  return { ...state, edits: anchoredTogether(task.draft, state.edits) };
}

/** Whether the chain stops before this strategy. */
function isMet(
  { goal }: CompactionTask,
  { sized, strategies }: Compaction,
  { isOnlyOverLimit }: Strategy,
): boolean {
  if (goal.media !== undefined) return false;
  const { total } = sized.measured;
  // A compaction that begins within the limit has a reason, so at least one strategy runs.
  const isWithin = isOnlyOverLimit === true && strategies.length > 0 && total <= goal.limitTokens;
  return isWithin || total <= goal.tokens;
}

/**
 * Plimsoll does not truncate if milder strategies have saved this share of the request, and this share of the limit is free.
 */
const usuallyEnough = { enough_saved: 0.3, enough_free: 0.2 };

function isEnough(
  { start, goal }: CompactionTask,
  { measured }: Sized,
  { enough = {} }: Pick<CompactionWorld, "enough">,
): boolean {
  const saved = 1 - measured.total / Math.max(1, start.measured.total);
  const { enough_saved = usuallyEnough.enough_saved, enough_free = usuallyEnough.enough_free } =
    enough;
  return saved >= enough_saved && measured.total <= goal.limitTokens * (1 - enough_free);
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
    const input = await readVisible(world, draft, state.sized);
    await announce(strategy, state, input);
    const proposals = await proposalsOf(world, strategy, input, goal);
    if (proposals.length === 0) return state;
    proposed = await withProposals(world, task, state, { strategy, proposals, ...input });
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
      // Truncation removes whole units, so it is accepted even if the validator itself failed.
      return strategy.isLastResort
        ? { ...proposed.compaction, failures: [...state.failures, proposed.reason] }
        : failed(proposed.reason);
  }
}

async function proposalsOf(
  world: Pick<CompactionWorld, "count">,
  strategy: Strategy,
  input: StrategyInput,
  goal: Goal,
): Promise<readonly Proposal[]> {
  const { conversation, handover } = beforeHandover(world, strategy, input, goal);
  const work = strategy.propose(conversation, goal);
  const wanted = await (strategy.keepsTime === true
    ? work
    : withTimeout(work, proposalTimeoutMs, tooSlow));
  const allowed = withPlaces(conversation, allowedOf(strategy, conversation, wanted));
  return withHandover(allowed, handover);
}

/** Only a fresh start may write a handover anew. */
function beforeHandover(
  { count }: Pick<CompactionWorld, "count">,
  { writesHandover }: Strategy,
  { conversation }: StrategyInput,
  goal: Goal,
): KeptHandover {
  if (writesHandover === true) return { conversation, handover: "" };
  return keepHandover(conversation, goal, {
    count,
    movableTokens: movableTokens(conversation),
  });
}

function allowedOf(
  { name }: Strategy,
  conversation: VisibleConversation,
  wanted: readonly Proposal[],
): readonly Proposal[] {
  const allowed = wanted.filter((proposal) => !takesUnknown(conversation, proposal));
  return name === writesMarks || allowed.length === 0
    ? allowed
    : withTrueMarks(conversation, allowed);
}

type Announce = (strategy: Strategy, state: Compaction, input: StrategyInput) => Promise<void>;

/** Determines the priority only once, because this means searching all texts of the conversation. */
function announcer(
  { watch, areas }: Pick<CompactionWorld, "watch" | "areas">,
  { draft, goal, progressScale = { limit: goal.limitTokens, scale: sameScale } }: CompactionTask,
): Announce {
  let named: Pick<PhaseReport, "priority"> | undefined;
  return async (strategy, { sized }, input) => {
    const phase = phaseOf(strategy.name);
    if (watch === undefined || phase === undefined) return;
    named ??= namedPriority(input, areas);
    await watch(draft, {
      phase,
      tokens: shownTokens(sized.measured.total, progressScale.scale),
      limit: progressScale.limit,
      estimate: estimateOf(strategy.estimate?.(input.conversation, goal), progressScale),
      strategy: strategy.name,
      ...named,
    });
  };
}

function estimateOf(
  estimate: ReturnType<NonNullable<Strategy["estimate"]>>,
  { scale }: ProgressScale,
): PhaseReport["estimate"] {
  if (estimate === undefined) return undefined;
  return { from: shownTokens(estimate.from, scale), to: shownTokens(estimate.to, scale) };
}

/** The highest priority in a view, for the phases that no strategy announces. */
export async function priorityIn(
  world: CompactionWorld,
  draft: Draft,
  sized: Sized,
): Promise<Pick<PhaseReport, "priority">> {
  const isNone = world.areas.length === 0 && (draft.log.memory.tags ?? []).length === 0;
  if (world.watch === undefined || isNone) return {};
  return namedPriority(await readVisible(world, draft, sized), world.areas);
}

function namedPriority(
  input: StrategyInput,
  areas: readonly PriorityArea[],
): Pick<PhaseReport, "priority"> {
  const priority = highestPriority(input, areas);
  return priority === undefined ? {} : { priority };
}

/** Maximum time in milliseconds for the proposals of one strategy, because a request must not wait forever. */
const proposalTimeoutMs = 10_000;

function tooSlow(): never {
  throw new Error("it took too long");
}

/** Whether one view is smaller than the other: it has fewer tokens or, if media is the problem, less media or fewer bytes. */
function isSmaller({ media }: Goal, one: Sized, other: Sized): boolean {
  const hasFewer = media !== undefined && (one.media < other.media || one.bytes < other.bytes);
  return hasFewer || one.measured.total < other.measured.total;
}

/**
 * Edits that revert outdated texts: the warning note after the compaction that it announced, and a summary if a new one is
 * proposed.
 */
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
          strategy === warning
            ? "The compaction that the note announced has happened."
            : "A newer summary replaces this one.",
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

/** The compaction so far plus the proposals of one strategy. */
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

/** Adds the new edits to the compaction, and drops archive entries whose handle no edit names any more. */
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

/**
 * Gives the new summary's handle to edits of this step that have the old summary's handle. The new handle covers their content
 * too.
 */
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

/**
 * The edits of this step so far, plus the reverts that they need. If a new summary is proposed, the previous one is left out,
 * even if this same step made it.
 */
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

/**
 * Keeps only edits that save tokens, marks of gaps, and mended marks. If content is shorter than the notice that would replace it, the content
 * stays.
 */
function worthwhile({ media }: Goal, edits: readonly NewEdit[]): readonly NewEdit[] {
  const isKept = ({ action, reason, tokensBefore, tokensAfter }: NewEdit): boolean =>
    action.kind === "insert" ||
    reason === marksMended ||
    (action.kind === "replace" && (media !== undefined || marksGap(action.text))) ||
    tokensAfter < tokensBefore;
  return edits.filter(isKept);
}

function marksGap(text: string): boolean {
  return text.startsWith(cutTexts.afterGap(""));
}

/** Sets `tokensAfter` of each edit: the tokens of its text. */
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
  return edits.map((edit, index) => ({
    ...edit,
    tokensAfter: texts[index] === "" ? 0 : (sizes[index]?.tokens ?? 0),
  }));
}

export function commitCompaction(
  world: EditStore,
  { log }: Draft,
  { edits, archive, clientSpellings }: Compaction,
): Promise<Saved> {
  return commitEdits(world, log, edits, { archive, clientSpellings });
}

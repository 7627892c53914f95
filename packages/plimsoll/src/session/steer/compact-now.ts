/** Compaction and fresh starts by hand, on a conversation in the store. */

import { inOwnTokens, type TokenScale } from "../../budget/token-scale.ts";
import { truncateKeeping } from "../../compact/strategies/truncate.ts";
import type { Keep } from "../../compact/units/truncation-range.ts";
import type { Edit } from "../../message/edit.ts";
import { PlimsollError } from "../../message/error.ts";
import type { Goal, Strategy } from "../../message/strategy.ts";
import { retryBelow } from "../../work/after-cut.ts";
import { type Draft, type Sized, sizeView } from "../draft/draft.ts";
import { firstWordsTokens, guardOf } from "../draft/projection.ts";
import type { Compaction } from "../fit/compaction.ts";
import { recoveryStrategies } from "../fit/make-smaller.ts";
import { endReport, type PhaseReport } from "../fit/phases.ts";
import { type ReportWorld, reportCompaction } from "../fit/report-compaction.ts";
import { commitCompaction, compact, priorityIn } from "../fit/run-strategies.ts";
import { usualGoal } from "../fit/when-to-compact.ts";
import { announce } from "../log/append.ts";
import type { EditStore } from "../log/edits.ts";
import { remember, rememberInSession, taskOf } from "../log/log.ts";
import { viewOf } from "../log/path.ts";
import { recordError } from "../log/report.ts";
import { scaleOf } from "../measure/branch-counters.ts";
import { rememberSize, sizeAfterChange } from "../measure/window-size.ts";
import type { TurnContext } from "../turn/context.ts";
import {
  type DraftWorld,
  type SteerContext,
  type StoredPlace,
  storedDraft,
} from "./draft-from-store.ts";

export interface CompactOptions {
  /** How much to keep of the middle of the conversation. Set either `keep` or `budget`, not both. */
  readonly keep?: Keep;
  /** The number of tokens to compact to. Without `keep` and `budget`, the goal is the same as in a turn. */
  readonly budget?: number;
}

export interface SteeredCompaction extends CompactOptions {
  /** Whether the last answer was cut and will be asked for again. Other strategies then run, and the goal is just below the limit. */
  readonly isForRetry?: true;
}

export interface CompactionDone {
  readonly edits: readonly number[];
  readonly strategies: readonly string[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
}

export function compactNow(
  context: ApplyWorld & Pick<TurnContext, "strategies" | "retryStrategies">,
  place: StoredPlace,
  { keep, budget, isForRetry }: SteeredCompaction,
): Promise<CompactionDone> {
  const { texts } = context.config;
  if (isForRetry === true)
    return applyNow(context, place, {
      strategies: context.retryStrategies,
      reason: "the last answer was cut",
      begins: "detection",
      goalFor: ({ limit }) => {
        const tokens = Math.ceil(limit * retryBelow) - 1;
        return { limitTokens: tokens, tokens, floorTokens: 0 };
      },
    });
  const strategies = keep === undefined ? context.strategies : [truncateKeeping(keep, texts)];
  return applyNow(context, place, {
    strategies,
    reason: "by hand",
    begins: "detection",
    goalFor: ({ limit, head, now, scale }) => {
      if (keep !== undefined) return { limitTokens: limit, tokens: 0, floorTokens: 0 };
      const tokens = Math.floor(
        budget === undefined
          ? askedGoal({ limit, head, now }, isJustCompacted(place))
          : inOwnTokens(budget, scale),
      );
      const limitTokens = Math.min(limit, tokens);
      return { limitTokens, tokens, floorTokens: Math.floor(tokens * 0.8) };
    },
  });
}

export async function resetNow(
  context: ApplyWorld & Pick<TurnContext, "count">,
  place: StoredPlace,
  {
    reason = "The user asked for a fresh start.",
    task,
  }: { readonly reason?: string; readonly task?: string },
): Promise<CompactionDone> {
  const { log, branch } = place;
  const strategies = recoveryStrategies(context, reason, task ?? taskOf(place)).map(overUndone);
  const done = await applyNow(context, place, {
    strategies,
    reason: "reset",
    begins: "recovery",
    goalFor: ({ limit }) => ({ limitTokens: limit, tokens: 0, floorTokens: 0 }),
  });
  remember(branch, { kind: "recovered" });
  rememberInSession(log, { kind: "fresh-start" });
  const at = context.now();
  const turn = { id: `reset-${at}`, at };
  const { tokensBefore, tokensAfter } = done;
  announce(log, {
    type: "recovery",
    session: log.record.id,
    at,
    turn: turn.id,
    reason,
    tokensBefore,
    tokensAfter,
  });
  recordError({ log, turn }, "RECOVERY_TRIGGERED", reason);
  await context.saver.save(log);
  return done;
}

/** An undo pins the content that it brings back, so that no turn takes it out. A fresh start by hand ignores these pins. */
function overUndone(strategy: Strategy): Strategy {
  return {
    ...strategy,
    propose: (conversation, goal) =>
      strategy.propose(
        {
          ...conversation,
          messages: conversation.messages.map((message) =>
            message.mayGiveWay === true ? { ...message, isPinned: false } : message,
          ),
        },
        goal,
      ),
  };
}

/**
 * If somebody asks for a compaction, at most this share of the conversation stays. The head is not counted, and stays whole.
 */
const askedShare = 0.6;

/**
 * Somebody who asks for a compaction wants room, however full the window is. If nothing was asked since the last compaction,
 * another one takes out no more.
 */
function askedGoal({ limit, head, now }: Omit<Room, "scale">, isCompacted: boolean): number {
  const usual = usualGoal(limit, head);
  if (isCompacted) return usual;
  return Math.min(usual, head + Math.max(0, now - head) * askedShare);
}

function isJustCompacted({ view, lastTurn }: StoredPlace): boolean {
  const takesOut = new Set<Edit["action"]["kind"]>(["replace", "remove", "fold"]);
  const last = view.edits.findLast(({ action }) => takesOut.has(action.kind));
  return last !== undefined && last.at >= (lastTurn?.startedAt ?? 0);
}

interface Applying {
  readonly strategies: readonly Strategy[];
  readonly reason: string;
  readonly begins: "detection" | "recovery";
  readonly goalFor: (room: Room) => Goal;
}

/** The room for a compaction, in Plimsoll's own tokens. */
interface Room {
  readonly limit: number;
  /** Size of the fixed part, which no compaction takes out. */
  readonly head: number;
  /** Size of the request before the compaction. */
  readonly now: number;
  readonly scale: TokenScale;
}

async function applyNow(
  context: ApplyWorld,
  place: StoredPlace,
  options: Applying,
): Promise<CompactionDone> {
  const draft = await storedDraft(context, place);
  const start = await sizeView(context.facts, draft, viewOf(place.log, place.branch, draft.path));
  const limit = place.lastTurn?.limit ?? guardOf(context, draft).limit;
  const scale = scaleOf(place.branch.record);
  const shown = await sizes(context, place, start);
  const room: Room = {
    limit: Math.floor(inOwnTokens(limit, scale)),
    head: headOf(draft, start),
    now: start.measured.total,
    scale,
  };
  const figuresOf = ({ measured }: Sized): Pick<PhaseReport, "tokens" | "limit"> => ({
    tokens: shown(measured.total),
    limit,
  });
  const startedAt = context.now();
  const priority = await priorityIn(context, draft, start);
  await context.watch?.(draft, {
    phase: options.begins,
    ...figuresOf(start),
    isByHand: true,
    ...priority,
  });
  const compaction = await compact(context, {
    draft,
    start,
    strategies: options.strategies,
    goal: options.goalFor(room),
    progressScale: { limit, scale },
  });
  const failure = await keep(context, draft, compaction);
  if (failure !== undefined) {
    await context.watch?.(draft, { phase: "failed", ...figuresOf(start), isSame: true });
    throw failure;
  }
  rememberSize(place, shown(compaction.sized.measured.total));
  await context.saver.save(place.log);
  const isAfresh = options.begins === "recovery";
  await context.watch?.(draft, endReport(isAfresh, figuresOf(compaction.sized)));
  reportCompaction(context, draft, compaction, {
    reason: options.reason,
    start,
    milliseconds: context.now() - startedAt,
    shown,
  });
  return doneWith(draft, start, compaction, shown);
}

/** Returns a function that gives the size of the window for a size in Plimsoll's own tokens. */
async function sizes(
  { picture }: Pick<SteerContext, "picture">,
  { log, branch }: StoredPlace,
  { measured }: Sized,
): Promise<(ownTokens: number) => number> {
  const { tokens } = await picture(log.record.id, { branch: branch.record.id });
  const scale = scaleOf(branch.record);
  return (after) => sizeAfterChange(tokens, { before: measured.total, after }, scale);
}

type ApplyWorld = ReportWorld &
  DraftWorld &
  Pick<TurnContext, "config"> &
  Pick<SteerContext, "picture">;

/** Size of the fixed part, which no compaction takes out, as Plimsoll counts tokens. */
function headOf(draft: Draft, { measured: { total, conversation } }: Sized): number {
  return total - conversation + firstWordsTokens(draft);
}

/** Stores the compaction. Returns undefined on success, otherwise an error that says why nothing has changed. */
async function keep(
  store: EditStore,
  draft: Draft,
  compaction: Compaction,
): Promise<PlimsollError | undefined> {
  const [failure] = compaction.failures;
  if (compaction.edits.length === 0)
    return new PlimsollError(
      "NOTHING_TO_DO",
      failure === undefined
        ? "There is nothing to take out: the conversation is short, or all of it must stay."
        : `Nothing was taken out: ${failure}.`,
      { status: 409 },
    );
  if ((await commitCompaction(store, draft, compaction)) !== "unsaved") return undefined;
  return new PlimsollError("STORE_FAILED", "The store failed, so nothing was changed. Try again.", {
    status: 503,
  });
}

function doneWith(
  { path }: Draft,
  start: Sized,
  { edits, strategies, sized }: Compaction,
  shown: (ownTokens: number) => number,
): CompactionDone {
  const visibleCount = ({ view }: Sized): number =>
    view.gaps.reduce((left, { first, last }) => left - (last - first + 1), path.length);
  return {
    edits: edits.map(({ seq }) => seq),
    strategies,
    tokensBefore: shown(start.measured.total),
    tokensAfter: shown(sized.measured.total),
    messagesBefore: visibleCount(start),
    messagesAfter: visibleCount(sized),
  };
}

/**
 * Reports the progress of a running compaction to observers, in nine phases and a tenth for a failure. These events are not stored. A separate, stored
 * event reports the result.
 */

import { setImmediate as nextTick } from "node:timers/promises";
import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { CompactionPhase, ContextBreakingUpdateEvent } from "../../message/event.ts";
import { messageText } from "../../message/message.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import type { PriorityArea } from "../../message/unit.ts";
import { grouped } from "../../text/digits.ts";
import type { StrategyInput } from "../draft/conversation-for-strategies.ts";
import type { Draft } from "../draft/draft.ts";
import type { EventBus } from "../log/event-bus.ts";

export interface PhaseReport {
  readonly phase: CompactionPhase;
  /** Size of the request. All figures of a report are in the provider's tokens. */
  readonly tokens: number;
  readonly limit: number;
  /** The part that the strategy would replace, and about the size of what takes its place. */
  readonly estimate?: { readonly from: number; readonly to: number } | undefined;
  readonly strategy?: string;
  readonly priority?: ContextBreakingUpdateEvent["priority"];
  /** Whether a failed compaction has removed nothing. */
  readonly isSame?: boolean;
  /** Whether a person asked for the compaction. */
  readonly isByHand?: boolean;
}

/** Contract: resolves once the report has been written out, so that long work afterwards does not delay the report. */
export type WatchPhases = (draft: Draft, report: PhaseReport) => Promise<void>;

/** Number of turns whose priority is remembered, so that every later phase of the turn has it too. */
const turnsMost = 256;

export function createPhaseWatch(bus: Pick<EventBus, "emit">, now: () => number): WatchPhases {
  const priorities = new BoundedMap<string, NonNullable<PhaseReport["priority"]>>({
    entries: turnsMost,
  });
  return async ({ log, branch, turn }, report) => {
    const { phase, tokens, limit, strategy } = report;
    if (report.priority !== undefined) priorities.set(turn.id, report.priority);
    const priority = priorities.get(turn.id);
    const share = Math.round((tokens / Math.max(1, limit)) * 100);
    bus.emit({
      tenant: log.record.tenant,
      event: {
        type: "context-breaking-update",
        session: log.record.id,
        at: now(),
        turn: turn.id,
        branch: branch.record.id,
        phase,
        progress: phase === "recovery" ? -1 : Math.min(100, share),
        message: sentenceFor(report),
        tokens,
        limit,
        ...(strategy === undefined ? {} : { strategy }),
        ...(priority === undefined ? {} : { priority }),
      },
    });
    // Written events are flushed on the next turn of the event loop.
    await nextTick();
  };
}

/** The last report of a compaction that took something out. It has succeeded only if the request is within its limit now. */
export function endReport(
  isAfresh: boolean,
  figures: Pick<PhaseReport, "tokens" | "limit">,
): PhaseReport {
  if (isAfresh) return { phase: "handover", ...figures };
  return { phase: figures.tokens <= figures.limit ? "success" : "failed", ...figures };
}

/** The phase that is reported while a strategy runs. Undefined if there is none for this strategy. */
export function phaseOf(strategy: string): CompactionPhase | undefined {
  if (strategy.startsWith("hybrid:")) return "hybrid";
  if (strategy.startsWith("truncate_")) return "discard-low-rel";
  return phases.get(strategy);
}

const phases: ReadonlyMap<string, CompactionPhase> = new Map([
  ["summarize_old", "summarize-old"],
  ["prioritize_recent", "prioritize-recent"],
  ["content_type_chunking", "content-chunking"],
  ["discard_low_rel", "discard-low-rel"],
  ["offload_results", "content-chunking"],
  ["media_to_handles", "content-chunking"],
  ["older_copies", "content-chunking"],
  ["duplicate_reads", "content-chunking"],
  ["excerpt", "hybrid"],
  ["truncate", "discard-low-rel"],
]);

const ofStrategies: ReadonlyMap<string, string> = new Map([
  ["offload_results", "Replacing answered results with handles…"],
  ["media_to_handles", "Replacing old images and documents with handles…"],
  ["older_copies", "Replacing older copies of files with handles…"],
  ["duplicate_reads", "Replacing repeated reads with a pointer to the newest…"],
  ["excerpt", "Choosing the lines that later turns need…"],
  ["truncate", "Cutting the oldest units…"],
]);

function sentenceFor({
  phase,
  tokens,
  limit,
  estimate,
  strategy = "",
  isSame = false,
  isByHand = false,
}: PhaseReport): string {
  const own = ofStrategies.get(strategy.startsWith("truncate_") ? "truncate" : strategy);
  if (own !== undefined) return own;
  const filled =
    limit > 0
      ? `${grouped(tokens)} / ${grouped(limit)} tokens`
      : `${grouped(tokens)} tokens, and the limit leaves no room for any`;
  switch (phase) {
    case "detection":
      return "Checking context length…";
    case "summarize-old":
      return `Summarizing old context…${estimate === undefined ? "" : ` (est. ${short(estimate.from)} → ${short(estimate.to)} tokens)`}`;
    case "prioritize-recent":
      return "Prioritizing P1 units & recent messages…";
    case "content-chunking":
      return "Chunking code & plan references…";
    case "discard-low-rel":
      return "Removing low-relevance units…";
    case "hybrid":
      return "Applying hybrid compression…";
    case "success":
      return `Context reduced to ${filled}`;
    case "failed":
      return isSame ? `Nothing was removed: ${filled}` : `It still does not fit: ${filled}`;
    case "recovery":
      return isByHand
        ? "Starting a fresh conversation…"
        : "Overflow detected – starting fresh conversation";
    case "handover":
      return "Resumed from summary. Continuing task…";
  }
}

function short(tokens: number): string {
  return tokens < 1000 ? String(tokens) : `${(tokens / 1000).toFixed(1)}k`;
}

/** How many characters of each text are searched for the name of an area. */
const looksAt = 100_000;

/**
 * The highest priority in the conversation: that of an area that it mentions, or one that a caller gave. Undefined if there is
 * neither.
 */
export function highestPriority(
  { conversation, saidPriority }: StrategyInput,
  areas: readonly PriorityArea[],
): ContextBreakingUpdateEvent["priority"] {
  const area = highestArea(conversation, areas);
  const isHigher = saidPriority !== undefined && (area === undefined || saidPriority < area.level);
  return isHigher ? { level: saidPriority } : area;
}

function highestArea(
  { messages }: VisibleConversation,
  areas: readonly PriorityArea[],
): ContextBreakingUpdateEvent["priority"] {
  if (areas.length === 0) return undefined;
  const texts = messages.map(({ message }) => messageText(message).slice(0, looksAt).toLowerCase());
  const found = areas
    .toSorted((one, other) => one.priority - other.priority)
    .find(({ patterns }) =>
      patterns.some((pattern) => texts.some((text) => text.includes(pattern.toLowerCase()))),
    );
  return found && { level: found.priority, area: found.name };
}

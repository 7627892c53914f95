/** The chain: the strategies and their order. To add a strategy, write its file and add a line here. */

import type { Pause } from "../message/steps.ts";
import type { CountTokens, Goal, Strategy } from "../message/strategy.ts";
import type { Wording } from "../text/document-texts.ts";
import { excerpt } from "./excerpt/excerpt.ts";
import { createRelevance, type Relevance, type RelevanceParts } from "./relevance/relevance.ts";
import {
  type CompressRatios,
  type ContentTypeChunkingSettings,
  defaultRatios,
} from "./strategies/compress-ratios.ts";
import { type DiscardLowRelSettings, discardLowRel } from "./strategies/discard-low-rel.ts";
import { duplicateReads } from "./strategies/duplicate-reads.ts";
import { mediaToHandles } from "./strategies/media-to-handles.ts";
import { olderCopies } from "./strategies/older-copies.ts";
import { type PrioritizeRecentSettings, prioritizeRecent } from "./strategies/prioritize-recent.ts";
import { type SummarizeOldSettings, summarizeOld } from "./strategies/summarize-old.ts";
import { type TruncateSettings, truncateKeeping, truncateToFit } from "./strategies/truncate.ts";

type NamedStrategy =
  | "summarize_old"
  | "prioritize_recent"
  | "content_type_chunking"
  | "discard_low_rel";

/** The section `breaking_strategy` of the configuration. */
export interface ChainSettings {
  readonly chain_order?: readonly (NamedStrategy | "hybrid" | "truncate")[] | undefined;
  /** `at_limit`: each strategy does all that its settings allow, and the chain stops once the request is within its limit. */
  readonly chain_stops?: "at_goal" | "at_limit" | undefined;
  readonly all_p1?: "as_usual" | "protect" | undefined;
  readonly coherence?: number | undefined;
  readonly file_reads?: "lines" | "last" | undefined;
  readonly truncate?: TruncateSettings | undefined;
  readonly summarize_old?: SummarizeOldSettings | undefined;
  readonly prioritize_recent?: PrioritizeRecentSettings | undefined;
  readonly content_type_chunking?: ContentTypeChunkingSettings | undefined;
  readonly discard_low_rel?: DiscardLowRelSettings | undefined;
  readonly hybrid?: { readonly max_iterations?: number | undefined } | undefined;
}

export interface ChainParts extends RelevanceParts {
  /** Whose words the placeholders have. Default: Plimsoll's. */
  readonly texts?: Wording | undefined;
  /** Counts the tokens of a text. Contract: synchronous and cheap. */
  readonly count: CountTokens;
  /** Called between two steps of long work. */
  readonly pause?: Pause;
  /** Receives a sentence each time a strategy has to work without something that it needs. */
  readonly warn?: (sentence: string) => void;
  /** Makes the excerpts, for example in another thread. Default: this thread. */
  readonly excerpt?: Strategy;
}

/** The strategies of `hybrid`, in order. This is a record and not a list, so that the compiler reports a missing strategy. */
const inHybrid: Readonly<Record<NamedStrategy, true>> = {
  summarize_old: true,
  prioritize_recent: true,
  content_type_chunking: true,
  discard_low_rel: true,
};
const allNamed = Object.keys(inHybrid) as readonly NamedStrategy[];
const defaultRounds = 3;

/**
 * The chain that the settings ask for. If they have no `chain_order`, it is the default chain (decision 6). Create a chain only
 * once, because it remembers embeddings.
 */
export function strategiesFor(
  settings: ChainSettings | undefined,
  parts: ChainParts,
): readonly Strategy[] {
  const older = settings?.file_reads === "last" ? [olderCopies(parts)] : [];
  const lossless = [mediaToHandles, ...older, duplicateReads(parts)];
  const order = settings?.chain_order ?? [];
  const cut = truncation(settings?.truncate ?? {}, order.includes("truncate"), parts.texts);
  if (settings === undefined || order.length === 0)
    return [...lossless, parts.excerpt ?? excerpt, ...cut];
  const { count, warn, texts } = parts;
  const making = { settings, count, relevance: createRelevance(parts), warn, texts };
  const named: Strategy[] = [];
  const before: NamedStrategy[] = [];
  for (const name of order) {
    if (name === "hybrid") named.push(...hybrid(before, making));
    else if (name !== "truncate") {
      before.push(name);
      named.push(create(name, making, 0));
    }
  }
  if (settings.chain_stops !== "at_limit") return [...lossless, ...named, ...cut];
  return [...lossless, ...named.map(inFull), ...cut.map(toLimit)];
}

/** A strategy that does all that its settings allow, unless the request is within its limit by then. */
function inFull(strategy: Strategy): Strategy {
  return withGoal(strategy, (goal) => ({ ...goal, tokens: 0, floorTokens: 0 }));
}

/** A truncation that removes no more than the limit demands. */
function toLimit(strategy: Strategy): Strategy {
  return withGoal(strategy, (goal) => ({ ...goal, tokens: goal.limitTokens, floorTokens: 0 }));
}

function withGoal(strategy: Strategy, goalOf: (goal: Goal) => Goal): Strategy {
  const { estimate } = strategy;
  return {
    ...strategy,
    isOnlyOverLimit: true,
    propose: (conversation, goal) => strategy.propose(conversation, goalOf(goal)),
    ...(estimate && { estimate: (conversation, goal) => estimate(conversation, goalOf(goal)) }),
  };
}

/** The truncation at the end of a chain. Empty if the settings want none and the order does not name it. */
function truncation(
  { keep = "fit", last_resort = true }: TruncateSettings,
  isNamed: boolean,
  texts: Wording | undefined,
): readonly Strategy[] {
  if (!last_resort && !isNamed) return [];
  // A share of the middle is all that the settings want removed, as long as the rest is within the limit.
  return keep === "fit"
    ? [truncateToFit(texts)]
    : [truncateKeeping(keep, texts), truncateToFit(texts, "limit")];
}

interface Making {
  readonly settings: ChainSettings;
  readonly count: CountTokens;
  readonly relevance: Relevance;
  readonly warn: ((sentence: string) => void) | undefined;
  readonly texts: Wording | undefined;
}

/**
 * Repeats the strategies listed before `hybrid`, or all strategies if none is listed before it. The settings get tighter with
 * each round.
 */
function hybrid(before: readonly NamedStrategy[], making: Making): readonly Strategy[] {
  const names = before.length === 0 ? allNamed : [...new Set(before)];
  const rounds = making.settings.hybrid?.max_iterations ?? defaultRounds;
  return Array.from({ length: rounds }, (_, round) => round + 1).flatMap((round) =>
    names.map((name) => ({
      ...create(name, making, round),
      name: `hybrid:${round}:${name}`,
    })),
  );
}

/** Round 0 uses the settings as configured. */
function create(
  name: NamedStrategy,
  { settings, count, relevance, warn, texts }: Making,
  round: number,
): Strategy {
  switch (name) {
    case "summarize_old":
      return summarizeOld(tighterSummary(settings.summarize_old ?? {}, round), { count });
    case "prioritize_recent":
      return prioritizeRecent(tighterRecent(settings.prioritize_recent ?? {}, round), {
        count,
        relevance,
      });
    case "content_type_chunking":
      return chunkingWhenNeeded(
        tighterRatios(settings.content_type_chunking ?? {}, round),
        count,
        warn,
      );
    case "discard_low_rel":
      return discardLowRel(tighterDiscard(settings.discard_low_rel ?? {}, round), {
        count,
        relevance,
        texts,
      });
  }
}

/** Loads the parsers on first use, because they are large. */
function chunkingWhenNeeded(
  settings: ContentTypeChunkingSettings,
  count: CountTokens,
  warn: Making["warn"],
): Strategy {
  return {
    name: "content_type_chunking",
    propose: async (conversation, goal) => {
      const [{ contentTypeChunking }, { parserProblem }] = await Promise.all([
        import("./strategies/content-type-chunking.ts"),
        import("./content/code/parse.ts"),
      ]);
      if (parserProblem !== undefined) warn?.(parserProblem);
      return contentTypeChunking(settings, { count }).propose(conversation, goal);
    },
  };
}

/**
 * In each round, a setting that shrinks is multiplied by this factor. For a setting that grows, its distance to 1 is multiplied
 * by it.
 */
const tightening = 0.75;
const olderPerRound = 0.15;
const oldest = 0.95;

function shrunk(value: number, round: number): number {
  return value * tightening ** round;
}

function grown(value: number, round: number): number {
  return 1 - shrunk(1 - value, round);
}

function tighterSummary(
  { old_threshold = 0.6, summary_length = 300 }: SummarizeOldSettings,
  round: number,
): SummarizeOldSettings {
  const older = Math.max(old_threshold, Math.min(oldest, old_threshold + olderPerRound * round));
  return { old_threshold: older, summary_length: Math.round(shrunk(summary_length, round)) };
}

function tighterRecent(
  { rel_threshold = 0.5, recent_bias = 0.2, ...rest }: PrioritizeRecentSettings,
  round: number,
): PrioritizeRecentSettings {
  return {
    ...rest,
    rel_threshold: grown(rel_threshold, round),
    recent_bias: shrunk(recent_bias, round),
  };
}

/** A ratio of 1 stays 1, because content with this ratio is kept word for word. */
function tighterRatios(
  { compress_ratios, ...rest }: ContentTypeChunkingSettings,
  round: number,
): ContentTypeChunkingSettings {
  const tighter = (kind: keyof CompressRatios): number => {
    const ratio = compress_ratios?.[kind] ?? defaultRatios[kind];
    return ratio >= 1 ? 1 : shrunk(ratio, round);
  };
  return {
    ...rest,
    compress_ratios: {
      code: tighter("code"),
      text: tighter("text"),
      plan_ref: tighter("plan_ref"),
      log: tighter("log"),
      other: tighter("other"),
    },
  };
}

function tighterDiscard(
  { discard_percent = 0.3, ...rest }: DiscardLowRelSettings,
  round: number,
): DiscardLowRelSettings {
  return { ...rest, discard_percent: grown(discard_percent, round) };
}

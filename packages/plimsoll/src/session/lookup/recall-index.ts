/** Runs recall on segments of messages, together with the numbers of the messages in the session. */

import { buildRecall, type RecallIndex, type RecallParts } from "./build-recall.ts";
import { recall } from "./recall.ts";
import type { Segment } from "./segments.ts";

export interface Asked {
  readonly query: string;
  readonly budgetTokens: number;
  /** Numbers of messages that must not appear in the results. */
  readonly leftOut: readonly number[];
}

/** A segment as it is sent to the search. */
export interface SearchedSegment extends Segment {
  /** Number of the message in the session. */
  readonly number: number;
}

export interface SessionPassage extends Pick<SearchedSegment, "number" | "role" | "title"> {
  /** The text of the passage, word for word as in the message. */
  readonly text: string;
  /** The share of the query's information that the passage covers, from 0 to 1. */
  readonly score: number;
  /** Number of characters that are missing because the passage does not fit into the budget. */
  readonly missingChars?: number;
}

export interface NumberedIndex {
  readonly index: RecallIndex;
  readonly numbers: readonly number[];
}

export function indexSegments(
  segments: readonly SearchedSegment[],
  parts: RecallParts,
): NumberedIndex {
  return { index: buildRecall(segments, parts), numbers: segments.map(({ number }) => number) };
}

export function searchIndex(
  { index, numbers }: NumberedIndex,
  count: (text: string) => number,
  { query, budgetTokens, leftOut }: Asked,
): readonly SessionPassage[] {
  const out = new Set(leftOut);
  const passages = recall(index, query, {
    budgetTokens,
    countTokens: count,
    isLeftOut: (segment) => out.has(numbers[segment] ?? 0),
  });
  return passages.map(({ segment, ...passage }) => ({
    ...passage,
    number: numbers[segment] ?? 0,
    title: index.segments[segment]?.title ?? passage.role,
  }));
}

export function searchSegments(
  segments: readonly SearchedSegment[],
  parts: RecallParts & { readonly count: (text: string) => number },
  asked: Asked,
): readonly SessionPassage[] {
  return searchIndex(indexSegments(segments, parts), parts.count, asked);
}

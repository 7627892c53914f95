/**
 * Recall: finds the passages of a conversation that answer a query, word for word.
 *
 * 1. Every message becomes segments, one per speaker, and every segment becomes passages of whole sentences, lines or records.
 * 2. BM25 with synonyms ranks the passages. Their relevance spreads to neighbouring passages. A question about the user's rules
 *    or requests ranks the user's own words instead.
 * 3. If the best passage covers too little of the query, nothing is found.
 * 4. Passages are chosen while the budget lasts, by relevance and by the information that they add.
 */

import type { Role } from "../../message/message.ts";
import { type Candidate, choosePassages } from "../../search/choose-passages.ts";
import {
  type CollectorParts,
  createPassageCollector,
  type Place,
  partOfPlace,
  passageTokens,
  type Run,
} from "../../search/collect-passages.ts";
import { largest } from "../../search/fuse.ts";
import { mentionsIn } from "../../search/mentions.ts";
import type { RecallIndex } from "./build-recall.ts";
import { type Ranking, rankPlaces } from "./rank-places.ts";
import { wantedIn } from "./wanted-in.ts";

export interface RecallLimits {
  readonly budgetTokens: number;
  readonly countTokens: (text: string) => number;
  /** Whether the segment with this index must not appear in the results, because the asker sees it anyway. */
  readonly isLeftOut?: (segment: number) => boolean;
}

export interface Passage {
  /** The text of the passage, word for word as in the message. */
  readonly text: string;
  /** Index of the segment in the searched list. */
  readonly segment: number;
  readonly role: Role;
  /**
   * The share of the query's information that the passage covers, from 0 to 1. A rare word of the query counts more than a common
   * one, a similar word counts less, and so do words in the passages next to it. It does not depend on other results, so it can be
   * compared between queries.
   */
  readonly score: number;
  /** Number of characters that are missing because the passage does not fit into the budget. */
  readonly missingChars?: number;
}

/**
 * Contract: the passages take at most the budget. Each passage takes its own tokens plus 4. If the best passage is larger than the
 * budget, a part of it is the only result. The result is empty if nothing answers the query, or if the budget has no room for a
 * single character.
 */
export function recall(
  index: RecallIndex,
  query: string,
  limits: RecallLimits,
): readonly Passage[] {
  const ranking = rankPlaces(index, query, limits.isLeftOut);
  const [best] = ranking.first;
  if (best === undefined) return [];
  const parts = { texts: index.segments.map(({ text }) => text), places: index.places, ...limits };
  const part = partOfPlace(parts, best, wantedIn(query));
  if (part === undefined) return [];
  const runs = part.missingChars === undefined ? choose(index, query, ranking, parts) : [part];
  return runs
    .map((run) => ({ run, ...scoreOf(run, ranking) }))
    .toSorted((one, other) => other.rank - one.rank || one.run.from - other.run.from)
    .map(({ run: { text, message: segment, missingChars }, score }) => ({
      text,
      segment,
      role: index.segments[segment]?.role ?? "user",
      score,
      ...(missingChars === undefined ? {} : { missingChars }),
    }));
}

function choose(
  index: RecallIndex,
  query: string,
  ranking: Ranking,
  parts: CollectorParts,
): readonly Run[] {
  const asked = new Set([...mentionsIn(query).keys()].map((name) => index.items.mention(name)));
  const isKnown = (item: number): boolean => asked.has(item) || index.inHead.has(item);
  const collector = createPassageCollector(parts);
  choosePassages({
    first: ranking.first,
    candidates: index.places.map((place, i) => candidate(index, place, i, ranking)),
    worth: (item) => (isKnown(item) ? 0 : (index.items.worth[item] ?? 0)),
    take: collector.take,
  });
  return collector.runs();
}

/** The best score and the best rank among the places of a run. */
function scoreOf({ from, to }: Run, { scores, ranks }: Ranking): { score: number; rank: number } {
  const [score, rank] = [scores, ranks].map((values) => largest(values.subarray(from, to + 1)));
  return { score: Math.min(1, score ?? 0), rank: rank ?? 0 };
}

/**
 * Minimum relevance of a passage, as a share of the relevance of the best passage. Less relevant passages are not worth their
 * tokens.
 */
const leastRelevance = 0.1;
/** Average number of characters per token. Counting all passages would take longer than finding them. */
const tokenChars = 4;

function candidate(index: RecallIndex, place: Place, i: number, ranking: Ranking): Candidate {
  const relevance = ranking.relevance[i] ?? 0;
  return {
    relevance: relevance < leastRelevance ? 0 : relevance,
    items: index.items.of[i] ?? [],
    tokens: (place.end - place.start) / tokenChars + passageTokens,
  };
}

/**
 * Recall: finds the passages of a conversation that answer a query, word for word.
 *
 * 1. Every message becomes text, and every text becomes passages of a few whole lines.
 * 2. BM25 with synonyms scores the passages. Their scores spread to neighbouring passages.
 * 3. Passages are chosen while the budget lasts, by relevance and by the information that they add.
 */

import type { Message, Role } from "../../message/message.ts";
import { buildTermIndex, type TermIndex } from "../../search/bm25.ts";
import { type Candidate, choosePassages } from "../../search/choose-passages.ts";
import {
  createPassageCollector,
  type Place,
  partOfPlace,
  passageTokens,
  type Run,
} from "../../search/collect-passages.ts";
import { queryTerms, type Synonyms, synonymsAmong } from "../../search/expand.ts";
import { byLargest } from "../../search/fuse.ts";
import { mentionsIn } from "../../search/mentions.ts";
import { searchableText } from "../../search/message-text.ts";
import { type Items, itemsOf } from "../../search/passage-worth.ts";
import { piecesOf } from "../../search/pieces.ts";
import { spreadRelevance } from "../../search/spread-relevance.ts";
import type { WordVectors } from "../../search/vectors.ts";
import { plainWords } from "../../search/words.ts";

export interface RecallParts {
  /** If there are no vectors, no synonyms are found. */
  readonly vectors?: WordVectors;
}

export interface RecallIndex {
  /** The searchable text of each message. */
  readonly texts: readonly string[];
  readonly roles: readonly Role[];
  readonly places: readonly Place[];
  readonly terms: TermIndex;
  readonly items: Items;
  /** Items in the head. Passages need not repeat them, because the head always stays in the window. */
  readonly inHead: ReadonlySet<number>;
  readonly synonyms: Synonyms;
  /** The speaker of each message, in lower case, or an empty string if the message names no speaker. */
  readonly speakers: readonly string[];
}

export interface RecallLimits {
  readonly budgetTokens: number;
  readonly countTokens: (text: string) => number;
  /** Whether the message with this index must not appear in the results, because the asker sees it anyway. */
  readonly isLeftOut?: (message: number) => boolean;
}

export interface Passage {
  /** The text of the passage, word for word as in the message. */
  readonly text: string;
  /** Index of the message in the searched list. */
  readonly message: number;
  readonly role: Role;
  /** Relevance from 0 to 1. The most relevant passage of the conversation has 1. */
  readonly score: number;
}

export function buildRecall(messages: readonly Message[], parts: RecallParts = {}): RecallIndex {
  const texts = messages.map(searchableText);
  const roles = messages.map((message) => message.role);
  const places = texts.flatMap((text, message) =>
    piecesOf(text).map((piece) => ({ ...piece, message })),
  );
  const passages = places.map(({ message, start, end }) => ({
    text: texts[message]?.slice(start, end) ?? "",
    message,
    isOwn: roles[message] !== "tool",
  }));
  const terms = buildTermIndex(passages.map(({ text }) => [text]));
  const items = itemsOf(passages, terms);
  const isAgents = roles.includes("tool");
  const headEnd = isAgents ? roles.indexOf("user") : -1;
  const head = places.flatMap(({ message }, i) => (message <= headEnd ? (items.of[i] ?? []) : []));
  return {
    texts,
    roles,
    places,
    terms,
    items,
    inHead: new Set(head),
    synonyms: lazySynonyms(texts, parts.vectors),
    // In an agent's conversation, the roles show who speaks, and a word such as "Error:" or "Note:" would be mistaken for a name.
    speakers: isAgents ? [] : speakersOf(texts),
  };
}

/**
 * Contract: the passages take at most the budget. Each passage takes its own tokens plus 4. The most relevant passage comes
 * first.
 */
export function recall(
  index: RecallIndex,
  query: string,
  limits: RecallLimits,
): readonly Passage[] {
  const relevance = relevanceOf(index, query, limits.isLeftOut);
  if (!relevance.some((value) => value > 0)) return [];
  const asked = new Set([...mentionsIn(query).keys()].map((name) => index.items.mention(name)));
  const isKnown = (item: number): boolean => asked.has(item) || index.inHead.has(item);
  const parts = { texts: index.texts, places: index.places, ...limits };
  const collector = createPassageCollector(parts);
  const best = relevance.indexOf(1);
  choosePassages({
    first: best,
    candidates: index.places.map((place, i) => candidate(index, place, i, relevance)),
    worth: (item) => (isKnown(item) ? 0 : (index.items.worth[item] ?? 0)),
    take: collector.take,
  });
  const runs = collector.runs();
  const rest = runs.length === 0 ? partOfPlace(parts, best) : undefined;
  const found = rest === undefined ? runs : [rest];
  return found.map((run) => passage(index, run, relevance)).sort((a, b) => b.score - a.score);
}

function passage(index: RecallIndex, run: Run, relevance: Float64Array): Passage {
  const score = relevance
    .subarray(run.from, run.to + 1)
    .reduce((most, value) => Math.max(most, value), 0);
  return { text: run.text, message: run.message, role: index.roles[run.message] ?? "user", score };
}

/**
 * Minimum relevance of a passage, as a share of the relevance of the best passage. Less relevant passages are not worth their
 * tokens.
 */
const leastRelevance = 0.1;
/** Average number of characters per token. Counting all passages would take longer than finding them. */
const tokenChars = 4;

function candidate(
  index: RecallIndex,
  place: Place,
  i: number,
  relevance: Float64Array,
): Candidate {
  const value = relevance[i] ?? 0;
  return {
    relevance: value < leastRelevance ? 0 : value,
    items: index.items.of[i] ?? [],
    tokens: (place.end - place.start) / tokenChars + passageTokens,
  };
}

/** Bonus for passages by a speaker whom the query names. That speaker usually says more about the subject than other speakers. */
const speakerFactor = 1.3;

function relevanceOf(
  index: RecallIndex,
  query: string,
  isLeftOut: (message: number) => boolean = () => false,
): Float64Array {
  const words = ` ${allWords(query)} `;
  const named = new Set(
    index.speakers.filter((name) => name !== "" && words.includes(` ${name} `)),
  );
  const ignored = new Set([...named].flatMap(plainWords));
  const scores = index.terms.scores(queryTerms(query, index.synonyms, ignored));
  const isOut = index.places.map(({ message }) => isLeftOut(message));
  const spread = spreadRelevance(
    scores.map((score, i) => {
      if (isOut[i] === true) return 0;
      const speaker = index.speakers[index.places[i]?.message ?? -1];
      return speaker !== undefined && named.has(speaker) ? score * speakerFactor : score;
    }),
  );
  return isOut.includes(true)
    ? byLargest(spread.map((value, i) => (isOut[i] === true ? 0 : value)))
    : spread;
}

function allWords(text: string): string {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
}

function lazySynonyms(texts: readonly string[], vectors: WordVectors | undefined): Synonyms {
  if (vectors === undefined) return () => [];
  let found: Synonyms | undefined;
  return (word) => {
    found ??= synonymsAmong(vectors, wordsOf(texts));
    return found(word);
  };
}

function* wordsOf(texts: readonly string[]): Generator<string> {
  for (const text of texts) yield* plainWords(text);
}

/** Matches `[stamp] Name: …` or `Name: …`. A name that occurs only once is not a speaker. */
const spoken = /^(?:\[[^\]\n]{1,60}\] )?([^:\n]{1,40}):/;

function speakersOf(texts: readonly string[]): readonly string[] {
  const names = texts.map((text) => spoken.exec(text)?.[1] ?? "").map(allWords);
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return names.map((name) => ((counts.get(name) ?? 0) > 1 ? name : ""));
}

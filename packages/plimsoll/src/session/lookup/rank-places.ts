/** Ranks the passages of a conversation for a query, and decides whether any of them answers it. */

import { rarest } from "../../search/bm25.ts";
import { type Coverage, coverageOf } from "../../search/coverage.ts";
import { type AskedTerm, askedTerms, weightsOf } from "../../search/expand.ts";
import { byLargest, largest } from "../../search/fuse.ts";
import { spreadRelevance } from "../../search/spread-relevance.ts";
import { plainWords } from "../../search/words.ts";
import type { RecallIndex } from "./build-recall.ts";
import { type Question, readQuestion } from "./read-question.ts";
import { namedSpeakers } from "./speakers.ts";

export interface Ranking {
  /** The passages to take before all others, best first. Empty if nothing answers the query. */
  readonly first: readonly number[];
  /** For the choice of passages: from 0 to 1, where the most relevant passage has 1. */
  readonly relevance: Float64Array;
  /** The score that a caller sees. It does not depend on other passages. */
  readonly scores: Float64Array;
  /** For the order of the results: the score, with a bonus for the user's own words. */
  readonly ranks: Float64Array;
}

/** Bonus for passages by a speaker whom the query names. That speaker usually says more about the subject than other speakers. */
const speakerFactor = 1.3;
/** Among so few speakers, a name occurs in every few lines, so it does not tell passages apart. Among more speakers, it does. */
const fewSpeakers = 3;
/** The user's words come before other passages with a score that is up to a quarter higher. */
const userFactor = 1.25;
/** How well other words of the user answer a question about rules or requests, if the user gave no rule. */
const otherWords = 0.4;

/**
 * The floor. Of three words, more than one must be found, because a single word in common is mere chance. The figures come from the
 * 1,370 queries of up to 24 words in LoCoMo, QMSum and recordings of agents. Asked in a conversation of another kind, 74 % of them
 * find nothing. Asked where they belong, all questions of LoCoMo and QMSum find something, and so do 99 % of the agents' queries.
 * A floor that also rejects most questions about another conversation of the same kind would lose true answers.
 */
const floor = { share: 0.3, perWord: 0.6, wordsMax: 24 };
/** What the archive has in other passages counts half. */
const knownShare = 0.5;

/**
 * If a short query has such a good answer in an agent's conversation, passages without any word of the query, in themselves or next
 * to them, are noise. In other conversations they are not, because people go on about a topic without naming it.
 */
const clear = { words: 8, score: 0.8 };

type UserQuestion = Exclude<Question, { readonly kind: "topic" }>;

interface Asked {
  readonly terms: readonly AskedTerm[];
  readonly coverage: Coverage;
  readonly isOut: (place: number) => boolean;
}

export function rankPlaces(
  index: RecallIndex,
  query: string,
  isLeftOut: (segment: number) => boolean = () => false,
): Ranking {
  const question: Question = isTranscript(index)
    ? { kind: "topic", topic: query }
    : readQuestion(query);
  const named = namedSpeakers(index.speakers, question.topic);
  const areFew = new Set(index.speakers).size <= fewSpeakers;
  const ignored = new Set(areFew ? [...named].flatMap(plainWords) : []);
  const terms = askedTerms(question.topic, index.synonyms, ignored);
  const isOut = (place: number): boolean => isLeftOut(index.places[place]?.message ?? -1);
  const coverage = coverageOf(index.terms, terms, isOut);
  const asked = { terms, coverage, isOut };
  return question.kind === "topic"
    ? rankByTopic(index, asked, named)
    : rankUsersWords(index, asked, question);
}

function rankByTopic(
  index: RecallIndex,
  { terms, coverage, isOut }: Asked,
  named: ReadonlySet<string>,
): Ranking {
  const hits = index.terms.scores(weightsOf(terms)).map((score, place) => {
    if (isOut(place)) return 0;
    const speaker = index.speakers[index.places[place]?.message ?? -1];
    return speaker !== undefined && named.has(speaker) ? score * speakerFactor : score;
  });
  const relevance = byLargest(
    spreadRelevance(hits).map((value, place) => (isOut(place) ? 0 : value)),
  );
  // A query that names somebody who speaks here is about this conversation.
  const isFound = (named.size > 0 || isAnswered(coverage)) && largest(relevance) > 0;
  const needsWords =
    index.isAgents && coverage.words <= clear.words && largest(coverage.of) >= clear.score;
  return {
    first: isFound ? [bestOf(withUserFirst(index, relevance))] : [],
    relevance: needsWords
      ? relevance.map((value, place) => ((coverage.of[place] ?? 0) > 0 ? value : 0))
      : relevance,
    scores: coverage.of,
    ranks: withUserFirst(index, coverage.of),
  };
}

function bestOf(values: Float64Array): number {
  return values.indexOf(largest(values));
}

function isAnswered({ of, known, words }: Coverage): boolean {
  if (words > floor.wordsMax) return true;
  // A query of one word has only one chance, so every hit counts.
  const least = words <= 1 ? 0 : floor.share + floor.perWord / words;
  const best = largest(of);
  return best > 0 && best + knownShare * known > least;
}

/** In a transcript, most messages begin with a name. The names say who speaks, and the roles say nothing. */
function isTranscript({ speakers }: RecallIndex): boolean {
  return speakers.filter((name) => name !== "").length > speakers.length / 2;
}

function withUserFirst(index: RecallIndex, scores: Float64Array): Float64Array {
  if (isTranscript(index)) return scores;
  return scores.map((score, place) => {
    const isUsers = index.segments[index.places[place]?.message ?? -1]?.role === "user";
    return isUsers ? score * userFactor : score;
  });
}

/**
 * Being the user's answer to such a question counts as much as containing a rare word of it. So words about the topic of the
 * question still matter.
 */
function rankUsersWords(index: RecallIndex, asked: Asked, question: UserQuestion): Ranking {
  const { coverage, isOut } = asked;
  const { information, of } = coverage;
  const extra = rarest(index.terms.size);
  const matches = matchesOf(index, question, asked);
  const scores = of.map((share, place) =>
    isOut(place)
      ? 0
      : (share * information + extra * (matches[place] ?? 0)) / (information + extra),
  );
  const isFound = question.kind === "rules" || isAboutTopic(coverage, question);
  return {
    first: isFound ? firstOf(matches, scores, coverage) : [],
    relevance: byLargest(scores),
    scores,
    ranks: withUserFirst(index, scores),
  };
}

/**
 * What the question asks for, best first: only passages about its topic if there are any. If the user said nothing of the kind, the
 * best passage.
 */
function firstOf(matches: Float64Array, scores: Float64Array, { of }: Coverage): readonly number[] {
  const wanted = [...matches.keys()].filter((place) => matches[place] === 1);
  const onTopic = wanted.filter((place) => (of[place] ?? 0) > 0);
  if (wanted.length === 0) return largest(scores) > 0 ? [bestOf(scores)] : [];
  const first = onTopic.length === 0 ? wanted : onTopic;
  return first.toSorted((one, other) => (scores[other] ?? 0) - (scores[one] ?? 0));
}

function isAboutTopic(
  coverage: Coverage,
  { isAboutTopic: mustBe }: Extract<Question, { kind: "requests" }>,
): boolean {
  // A single word that is left over is part of the question rather than a topic.
  const hasTopic = coverage.words > (mustBe ? 0 : 1);
  return !hasTopic || isAnswered(coverage);
}

/** For each passage: 1 if it is what the question asks for, otherwise 0. If there is no such passage, 0.4 for all of the user's. */
function matchesOf(index: RecallIndex, question: UserQuestion, asked: Asked): Float64Array {
  const { places, segments, rules } = index;
  const { coverage, isOut } = asked;
  const users = places.flatMap(({ message }, place) =>
    segments[message]?.role === "user" && !isOut(place) ? [place] : [],
  );
  const all = question.kind === "rules" ? rules() : requestsAmong(places, users, question.which);
  const wanted = withoutRepetition(
    index,
    users.filter((place) => all.has(place)),
  );
  const onTopic = wanted.filter((place) => (coverage.of[place] ?? 0) > 0);
  const isNarrow = question.kind === "requests" && onTopic.length > 0;
  const matches = new Float64Array(places.length);
  for (const place of isNarrow ? onTopic : wanted) matches[place] = 1;
  if (wanted.length === 0) for (const place of users) matches[place] = otherWords;
  return matches;
}

/** Of passages with the same text, only the first. */
function withoutRepetition(
  { places, segments }: RecallIndex,
  found: readonly number[],
): readonly number[] {
  const byText = new Map<string, number>();
  for (const place of found) {
    const { message = -1, start, end } = places[place] ?? {};
    const text = segments[message]?.text.slice(start, end).trim() ?? "";
    if (!byText.has(text)) byText.set(text, place);
  }
  return [...byText.values()];
}

function requestsAmong(
  places: readonly { readonly message: number }[],
  users: readonly number[],
  which: "all" | "first" | "last",
): ReadonlySet<number> {
  if (which === "all") return new Set(users);
  const message = places[(which === "first" ? users[0] : users.at(-1)) ?? -1]?.message;
  return new Set(users.filter((place) => places[place]?.message === message));
}

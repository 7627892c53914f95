/** Finds the tools that a query asks for among thousands, with BM25 and static word vectors but without a model. */

import { aspectsOf } from "./aspects.ts";
import { buildTermIndex, ranked, type TermIndex } from "./bm25.ts";
import { meanVector } from "./embed.ts";
import type { Synonyms } from "./expand.ts";
import { byLargest, fuseScores, largest } from "./fuse.ts";
import { cosines, nearWords, rowsOf } from "./near-words.ts";
import { type SearchedTool, type ToolText, toolTextOf } from "./tool-text.ts";
import type { WordVectors } from "./vectors.ts";
import { plainWords, stem, termsOf } from "./words.ts";

export interface FoundTool {
  /** Index into the list that the search index was built from. */
  readonly index: number;
  /** Score from 0 to 1, relative to the best match of this query. Scores of different queries cannot be compared. */
  readonly score: number;
}

/**
 * Contract: returns the best tools first. If scores are equal, the earlier tool comes first. Returns only tools with a score
 * above 0. The same query always gives the same answer.
 */
export interface ToolIndex {
  readonly size: number;
  find(query: string, count: number): readonly FoundTool[];
}

/** The name says most about a tool. Parameters and the server say less, and are often the same for many tools. */
const fieldWeights = {
  name: 2,
  description: 1,
  parameters: 0.5,
  server: 1,
  serverDescription: 0.5,
};
const fields = Object.keys(fieldWeights) as readonly (keyof ToolText)[];
/**
 * Higher than the usual 1.2, because the frequencies here are already weighted. A word that is in the name and in the description
 * should be worth more than a word that is only in the description.
 */
const saturation = 2;

/**
 * Maximum number of characters of the whole catalogue, so that 10,000 tools of several pages each take seconds and not minutes.
 * 4,000 tools may still have 1,000 characters each.
 */
const catalogueCharsMax = 4_000_000;

/** Maximum weight of a synonym compared with the word itself. A synonym is only a guess. */
const synonymWeight = 0.3;
/** A part of a query with more words than this gets no synonyms, because it already expresses its meaning in several ways. */
const expandedWordsMax = 24;
/** Weight of the part of a query that matches a tool best. The whole query has the remaining weight. */
const aspectShare = 0.5;
/** Weight of similarity in meaning. Matching words have the weight 1. */
const meaningWeight = 0.2;
/** Maximum number of characters of a query. A longer query is a document, and its beginning says what it is about. */
const queryCharsMax = 20_000;
/** Long runs without a space are data, such as base64 or long addresses. Nobody asks for a tool with such text. */
const data = /[!-~]{100,}/gu;
/** Agents write lines like `server: maps` and `tool: find a route`. The label itself would match every server and tool. */
const label = /^\s*(?:servers?|tools?)\s*:/gimu;

export function buildToolIndex(tools: readonly SearchedTool[], vectors?: WordVectors): ToolIndex {
  const charsMax = Math.floor(catalogueCharsMax / Math.max(1, tools.length));
  const texts = tools.map((tool) => toolTextOf(tool, charsMax));
  const index = buildTermIndex(
    texts.map((text) => fields.map((field) => text[field])),
    { weights: fields.map((field) => fieldWeights[field]), saturation },
  );
  const synonyms: Synonyms = vectors === undefined ? () => [] : nearWords(vectors, wordsOf(texts));
  const meaning = vectors === undefined ? undefined : meaningOf(vectors, texts);
  return {
    size: tools.length,
    find: (query, count) => {
      const whole = query.slice(0, queryCharsMax).replace(data, " ").replace(label, " ");
      const aspects = aspectsOf(whole);
      const words = withAspects(
        scoresOf(index, synonyms, whole),
        aspects.map((aspect) => scoresOf(index, synonyms, aspect)),
      );
      const weighted = [{ scores: words, weight: 1 }];
      if (meaning !== undefined)
        weighted.push({ scores: meaning([whole, ...aspects], words), weight: meaningWeight });
      const scores = byLargest(fuseScores(weighted));
      return ranked(scores, Math.max(0, count)).map((found) => ({
        index: found,
        score: scores[found] ?? 0,
      }));
    },
  };
}

function* wordsOf(texts: readonly ToolText[]): Generator<string> {
  for (const text of texts) for (const field of fields) yield* plainWords(text[field]);
}

/** The synonyms of a term in the query, with their weights. */
type TermWeights = Map<string, number>;

/**
 * BM25 in which each word of the query is counted once for a tool: as the word itself, or as its best synonym in the tool's text.
 */
function scoresOf(index: TermIndex, synonyms: Synonyms, text: string): Float64Array {
  const scores = new Float64Array(index.size);
  const best = new Float64Array(index.size);
  for (const [term, { weights, times }] of wantedTermsOf(text, synonyms)) {
    const touched = new Set<number>();
    for (const [other, weight] of [[term, 1] as const, ...weights]) {
      for (const { document, worth } of index.holders(other)) {
        touched.add(document);
        best[document] = Math.max(best[document] ?? 0, weight * worth);
      }
    }
    // A repeated word matters more, but not in proportion (BM25's k3 = 1).
    const saturated = (2 * times) / (1 + times);
    for (const document of touched) {
      scores[document] = (scores[document] ?? 0) + saturated * (best[document] ?? 0);
      best[document] = 0;
    }
  }
  return scores;
}

function wantedTermsOf(
  text: string,
  synonyms: Synonyms,
): ReadonlyMap<string, { readonly weights: TermWeights; times: number }> {
  const wantedTerms = new Map<string, { readonly weights: TermWeights; times: number }>();
  for (const term of termsOf(text)) {
    const known = wantedTerms.get(term);
    if (known === undefined) wantedTerms.set(term, { weights: new Map(), times: 1 });
    else known.times += 1;
  }
  const words = new Set(plainWords(text));
  if (words.size > expandedWordsMax) return wantedTerms;
  for (const word of words) {
    const weights = wantedTerms.get(stem(word))?.weights;
    for (const { word: other, similarity } of synonyms(word)) {
      for (const term of termsOf(other))
        weights?.set(term, Math.max(weights.get(term) ?? 0, similarity * synonymWeight));
    }
  }
  return wantedTerms;
}

/**
 * A long task needs several tools, each for one of its sentences. A tool that matches one sentence well should not lose to a tool
 * that matches all of them a little. If even the best match of a sentence is weak, the sentence may not ask for a tool at all, so
 * it gets less weight: the square root of that match's relative score.
 */
function withAspects(whole: Float64Array, aspects: readonly Float64Array[]): Float64Array {
  const strengths = aspects.map(largest);
  const strongest = Math.max(0, ...strengths);
  if (strongest === 0) return whole;
  const shares = aspects.map((scores, i) => {
    const strength = Math.sqrt((strengths[i] ?? 0) / strongest);
    return byLargest(scores).map((score) => score * strength);
  });
  return byLargest(whole).map((score, tool) => {
    const fitting = shares.reduce((most, share) => Math.max(most, share[tool] ?? 0), 0);
    return (1 - aspectShare) * score + aspectShare * fitting;
  });
}

/**
 * For each tool, its similarity to the most similar of the texts, by the mean of their word vectors. If `words` is 0 for a tool,
 * the similarity is 0 too, because a tool that shares no word and no synonym with the texts would be a guess.
 */
type Meaning = (texts: readonly string[], words: Float64Array) => Float64Array;

function meaningOf(vectors: WordVectors, texts: readonly ToolText[]): Meaning {
  const remembered = remembering(vectors);
  const tools = rowsOf(
    texts.map(({ name, description }) =>
      meanVector(remembered, `${name}\n${name}\n${description}`),
    ),
    vectors.dimensions,
  );
  return (queries, words) => {
    const asked = queries.map((query) => cosines(tools, meanVector(vectors, query)));
    return words.map((score, tool) =>
      score === 0 ? 0 : asked.reduce((most, near) => Math.max(most, near[tool] ?? 0), 0),
    );
  };
}

/**
 * Remembers the vectors of words, because words repeat within a catalogue. The cache has one entry for each distinct word, and is
 * dropped once the catalogue has been read.
 */
function remembering(vectors: WordVectors): WordVectors {
  const known = new Map<string, Float32Array | undefined>();
  return {
    ...vectors,
    vector: (word) => {
      if (!known.has(word)) known.set(word, vectors.vector(word));
      return known.get(word);
    },
  };
}

/** Finds the tools that a query asks for, among thousands: BM25 and static word vectors, no model. */

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
  /** Into the list that the index was made of. */
  readonly index: number;
  /** 0…1, compared with the best of this query: scores of two queries say nothing about each other. */
  readonly score: number;
}

/** Contract: best first, of equals the earlier one; only tools with a score above 0; the same query, the same answer. */
export interface ToolIndex {
  readonly size: number;
  find(query: string, count: number): readonly FoundTool[];
}

/** A name says what a tool does; parameters and the server say it only in passing, and alike for many tools. */
const fieldWeights = {
  name: 2,
  description: 1,
  parameters: 0.5,
  server: 1,
  serverDescription: 0.5,
};
const fields = Object.keys(fieldWeights) as readonly (keyof ToolText)[];
/**
 * Above the usual 1.2, since a frequency here is already weighted: a word in the name and in the description shall be
 * worth more than one in the description only.
 */
const saturation = 2;

/** So that 10,000 tools of some pages each take seconds, not minutes; 4,000 may still have a thousand characters each. */
const catalogueCharsMax = 4_000_000;

/** A synonym is a guess: what it is worth at most, compared with the word itself. */
const synonymWeight = 0.3;
/** A part of a query with more words says itself what it means in several ways. */
const expandedWordsMax = 24;
/** What the best-fitting sentence of a query counts beside the whole. */
const aspectShare = 0.5;
/** What the meaning of the whole text counts beside its words. */
const meaningWeight = 0.2;
/** Longer queries are documents: their beginning says what they are about. */
const queryCharsMax = 20_000;
/** Runs without a space that are data (base64, long addresses): no tool is asked for by them. */
const data = /[!-~]{100,}/gu;
/** Agents ask in lines like `server: maps` and `tool: find a route`: every server and tool would match the label. */
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

/** Something that a query asks for: a term, and with less weight each synonym of it. */
type TermWeights = Map<string, number>;

/** BM25 where each word of the query counts once for a tool: by itself or by its best synonym there. */
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
    // What is said twice matters more, but not twice as much (BM25's k3 = 1).
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
 * A long task needs several tools, each for one of its sentences: what fits one sentence well shall not lose to what
 * fits all of them a little. A sentence with a weak best match counts less, by the root, as it may ask for no tool.
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
 * How near each tool is to the nearest of some texts, by the mean of their words; 0 where `words` is: some tool is
 * always the nearest, and one that shares neither a word nor a synonym would be a guess.
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

/** The words of one catalogue occur in it many times; as many are kept as it has, and only while it is read. */
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

/** Builds the index of a conversation in which recall searches. */

import { buildTermIndex, type TermIndex } from "../../search/bm25.ts";
import type { Place } from "../../search/collect-passages.ts";
import { type Synonyms, synonymsAmong } from "../../search/expand.ts";
import { type Items, itemsOf } from "../../search/passage-worth.ts";
import { piecesOf } from "../../search/pieces.ts";
import type { WordVectors } from "../../search/vectors.ts";
import { plainWords } from "../../search/words.ts";
import { rulePlacesIn } from "./rule-places.ts";
import type { Segment } from "./segments.ts";
import { speakersOf } from "./speakers.ts";

export interface RecallParts {
  /** If there are no vectors, no synonyms are found. */
  readonly vectors?: WordVectors;
}

export interface RecallIndex {
  readonly segments: readonly Segment[];
  /** Whether tools were used in the conversation. */
  readonly isAgents: boolean;
  /** The passages, in the order of the conversation. */
  readonly places: readonly Place[];
  readonly terms: TermIndex;
  readonly items: Items;
  /** Items in the head. Passages need not repeat them, because the head always stays in the window. */
  readonly inHead: ReadonlySet<number>;
  readonly synonyms: Synonyms;
  /** The speaker of each segment, in lower case, or an empty string if the segment names no speaker. */
  readonly speakers: readonly string[];
  /** The passages in which the user gives a rule. */
  readonly rules: () => ReadonlySet<number>;
}

export function buildRecall(segments: readonly Segment[], parts: RecallParts = {}): RecallIndex {
  const places = segments.flatMap(({ text, kind }, message) =>
    piecesOf(text, kind).map((piece) => ({ ...piece, message })),
  );
  const passages = places.map(({ message, start, end }) => ({
    text: segments[message]?.text.slice(start, end) ?? "",
    message,
    isOwn: segments[message]?.role !== "tool",
  }));
  const terms = buildTermIndex(passages.map(({ text }) => [text]));
  const items = itemsOf(passages, terms);
  const isAgents = segments.some(({ role }) => role === "tool");
  const headEnd = isAgents ? segments.findIndex(({ role }) => role === "user") : -1;
  const head = places.flatMap(({ message }, i) => (message <= headEnd ? (items.of[i] ?? []) : []));
  const texts = segments.map(({ text }) => text);
  return {
    segments,
    isAgents,
    places,
    terms,
    items,
    inHead: new Set(head),
    synonyms: lazySynonyms(texts, parts.vectors),
    // In an agent's conversation, the roles show who speaks, and a word such as "Error:" or "Note:" would be mistaken for a name.
    speakers: isAgents ? [] : speakersOf(texts),
    rules: lazy(() => rulePlacesIn(segments, places)),
  };
}

function lazySynonyms(texts: readonly string[], vectors: WordVectors | undefined): Synonyms {
  if (vectors === undefined) return () => [];
  const synonyms = lazy(() => synonymsAmong(vectors, wordsOf(texts)));
  return (word) => synonyms()(word);
}

function* wordsOf(texts: readonly string[]): Generator<string> {
  for (const text of texts) yield* plainWords(text);
}

function lazy<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

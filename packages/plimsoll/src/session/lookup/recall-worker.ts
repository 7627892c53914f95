/** The thread that searches large sessions. It keeps the last few indexes, because making one takes seconds. */

import { parentPort } from "node:worker_threads";
import { BoundedMap } from "../../bounds/bounded-map.ts";
import { loadTokenizer, type Tokenizer } from "../../budget/tokenizer.ts";
import { loadWordVectors } from "../models/word-vectors.ts";
import { takeJobs } from "../threads/take-jobs.ts";
import {
  type Asked,
  indexSegments,
  type NumberedIndex,
  type SearchedSegment,
  type SessionPassage,
  searchIndex,
} from "./recall-index.ts";

export interface RecallJob extends Asked {
  /** Identifies the messages to search: a branch of a session, up to its newest message. */
  readonly key: string;
  /** The segments of the messages. Undefined if the thread may already have them under this key. */
  readonly segments?: readonly SearchedSegment[];
  readonly hasVectors: boolean;
}

export type RecallAnswer =
  | { readonly kind: "found"; readonly passages: readonly SessionPassage[] }
  /** The thread has no index for the key. Ask again with the segments. */
  | { readonly kind: "unknown" };

const tokenizerId = "tiktoken:o200k_base";
let loading: Promise<Tokenizer> | undefined;

const indexesMax = 4;
/** Maximum number of characters of all indexed texts together. */
const keptCharsMax = 32 * 1024 * 1024;

interface Kept extends NumberedIndex {
  readonly chars: number;
}

const kept = new BoundedMap<string, Kept>({
  entries: indexesMax,
  weight: keptCharsMax,
  weightOf: ({ chars }) => chars,
});

async function indexFor({ key, segments, hasVectors }: RecallJob): Promise<Kept | undefined> {
  const known = kept.get(key);
  if (known !== undefined || segments === undefined) return known;
  const chars = segments.reduce((sum, { text }) => sum + text.length, 0);
  makeRoom(key, chars);
  const vectors = hasVectors ? await loadWordVectors() : undefined;
  return { ...indexSegments(segments, vectors === undefined ? {} : { vectors }), chars };
}

/**
 * Drops all other indexes of the same session, because nobody will ask for an older state again. If that is not enough, drops the
 * least recently used indexes.
 */
function makeRoom(key: string, chars: number): void {
  const session = key.slice(0, key.indexOf("#") + 1);
  for (const other of [...kept.keys()]) if (other.startsWith(session)) kept.delete(other);
  kept.makeRoom(chars);
}

async function answer(job: RecallJob): Promise<RecallAnswer> {
  const index = await indexFor(job);
  if (index === undefined) return { kind: "unknown" };
  kept.set(job.key, index);
  loading ??= loadTokenizer(tokenizerId);
  const tokenizer = await loading;
  const passages = searchIndex(index, (text) => tokenizer.count(text).tokens, job);
  return { kind: "found", passages };
}

if (parentPort !== null) takeJobs(parentPort, answer);

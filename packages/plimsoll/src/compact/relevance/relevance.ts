/**
 * Relevance: how much each unit has to do with the current task, from 0 to 1. Usually it is a rank within the session, which depends
 * on shared terms (BM25) and on similar meaning (an embedder, or static word vectors).
 */

import { messageText } from "../../message/message.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import { buildTermIndex } from "../../search/bm25.ts";
import { createStaticEmbedder, type Embedder } from "../../search/embed.ts";
import { calibrate, fuseScores, type WeightedScores } from "../../search/fuse.ts";
import { cosine, type WordVectors } from "../../search/vectors.ts";
import { termsOf } from "../../search/words.ts";
import { taskText } from "./task.ts";
import { TimedEmbedder } from "./timed-embedder.ts";

export interface RelevanceParts {
  /** Compares meanings with a model. If it fails or is too slow, the word vectors are used instead. */
  readonly embedder?: Embedder;
  readonly vectors?: WordVectors;
  /**
   * The clock, in milliseconds. Without a clock the embedder is not used, because Plimsoll could not notice that it is too slow.
   */
  readonly now?: () => number;
}

/**
 * rank: the rank within the session, by shared terms and by meaning. cosine: how near the meaning of a unit is to that of the task.
 * Without an embedder and word vectors, there is no meaning to compare, so the rank takes its place.
 */
export type RelevanceScale = "rank" | "cosine";

export interface Relevance {
  /** The relevance of every unit, in order. Default: the rank. */
  of(conversation: VisibleConversation, scale?: RelevanceScale): Promise<readonly number[]>;
}

/** Maximum number of characters of a text that the embedder gets. Sentence models read about this many. */
const embeddedChars = 1_200;
/** Characters read from the beginning and the end of a very long unit. */
const readChars = { head: 16_000, tail: 4_000 };
/**
 * Weights of meaning; BM25 has the weight 1. The weight of static vectors was measured (see fuse.ts). A sentence model has the
 * same weight as BM25.
 */
const weights = { static: 0.3, embedder: 1 };

/** The caller's word about a unit replaces its score. Remembers vectors between compactions, so create it once per process and not once per call. */
export function createRelevance({ embedder, vectors, now }: RelevanceParts): Relevance {
  const model =
    embedder === undefined || now === undefined ? undefined : new TimedEmbedder(embedder, now);
  const words = vectors === undefined ? undefined : createStaticEmbedder(vectors);
  return {
    of: async (conversation, scale = "rank") => {
      const task = taskText(conversation);
      const texts = conversation.units.map(({ first, last }) =>
        unitText(conversation, first, last),
      );
      const meaning = await meaningScores([task, ...texts], model, words);
      const [near] = scale === "cosine" ? meaning : [];
      const scores =
        near === undefined
          ? calibrate([...fuseScores([{ scores: termScores(task, texts), weight: 1 }, ...meaning])])
          : Array.from(near.scores, (score) => Math.max(0, Math.min(1, score)));
      return scores.map((score, index) => conversation.units[index]?.relevance ?? score);
    },
  };
}

export function unitText({ messages }: VisibleConversation, first: number, last: number): string {
  const text = messages
    .slice(first, last + 1)
    .map(({ message }) => messageText(message))
    .join("\n");
  const { head, tail } = readChars;
  return text.length <= head + tail ? text : `${text.slice(0, head)}\n${text.slice(-tail)}`;
}

function termScores(task: string, texts: readonly string[]): Float64Array {
  const index = buildTermIndex(texts.map((text) => [text]));
  return index.scores(new Map(termsOf(task).map((term) => [term, 1])));
}

/** Contract: the first text is the task. */
async function meaningScores(
  texts: readonly string[],
  model: TimedEmbedder | undefined,
  words: Embedder | undefined,
): Promise<readonly WeightedScores[]> {
  const ofModel = await model?.embed(texts.map((text) => text.slice(0, embeddedChars)));
  if (ofModel?.kind === "vectors")
    return [{ scores: nearness(ofModel.vectors), weight: weights.embedder }];
  const ofWords = await words?.embed(texts);
  return ofWords === undefined ? [] : [{ scores: nearness(ofWords), weight: weights.static }];
}

function nearness([task, ...others]: readonly Float32Array[]): Float64Array {
  return Float64Array.from(others, (other) => (task === undefined ? 0 : cosine(task, other)));
}

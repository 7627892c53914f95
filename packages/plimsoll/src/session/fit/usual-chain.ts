/** The configured chain of strategies, together with the services of this process that the strategies need. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { strategiesFor } from "../../compact/chain.ts";
import type { Config } from "../../config/schema.ts";
import { errorMessage } from "../../message/error.ts";
import type { Strategy } from "../../message/strategy.ts";
import { answeredResults } from "../../offload/answered-results.ts";
import type { Embedder } from "../../search/embed.ts";
import type { WordVectors } from "../../search/vectors.ts";
import { retryOrder } from "../../work/after-cut.ts";
import type { SessionTokenCounter } from "../measure/token-counter.ts";
import { loadMiniLm } from "../models/minilm.ts";

export const usualTokenizer = "tiktoken:o200k_base";

export interface ChainGiven {
  readonly count: (text: string) => number;
  readonly vectors: WordVectors | undefined;
  readonly excerpt: Strategy;
}

export function usualChain(
  config: Config,
  { count, vectors, excerpt }: ChainGiven,
): readonly Strategy[] {
  const warn = createWarning();
  const chosen = strategiesFor(config.context_config?.breaking_strategy, {
    count,
    excerpt,
    texts: config.texts,
    pause: () => nextTurn(),
    now: () => performance.now(),
    warn,
    ...(vectors === undefined ? {} : { vectors }),
    ...embedderOf(config, warn),
  });
  return [offloadFirst(config), ...chosen];
}

/** The strategies that make a conversation smaller before its last answer is asked for again. */
export function retryChain(config: Config, given: ChainGiven): readonly Strategy[] {
  const { context_config: limits } = config;
  const breaking = { ...limits?.breaking_strategy, chain_order: [...retryOrder] };
  return usualChain(
    { ...config, context_config: { ...limits, breaking_strategy: breaking } },
    given,
  );
}

/**
 * Emits each warning only once, because strategies run many times. The set of warnings stays small, because few different ones
 * exist.
 */
function createWarning(): (sentence: string) => void {
  const said = new Set<string>();
  return (sentence) => {
    if (said.has(sentence)) return;
    said.add(sentence);
    process.emitWarning(sentence, "PlimsollWarning");
  };
}

/** The embedding model is loaded on first use. If it is missing, Plimsoll reports this then, and uses word vectors instead. */
function embedderOf(
  { embedder: place }: Config,
  warn: (sentence: string) => void,
): { readonly embedder?: Embedder } {
  if (place === undefined) return {};
  let loading: Promise<Embedder> | undefined;
  const load = (): Promise<Embedder> => {
    if (loading !== undefined) return loading;
    loading = loadMiniLm("folder" in place ? { folder: place.folder } : { model: place.model });
    // Relevance goes on with word vectors and tells nobody why.
    loading.catch((error: unknown) => warn(errorMessage(error)));
    return loading;
  };
  return { embedder: { name: "minilm", embed: async (texts) => (await load()).embed(texts) } };
}

function offloadFirst({ agent, context_config, texts }: Config): Strategy {
  const order = context_config?.breaking_strategy?.chain_order ?? [];
  return answeredResults({
    threshold: agent?.result_offload_threshold,
    texts,
    // By default the chain makes excerpts, which are chosen from the original texts.
    isAllOrNothing: order.length === 0,
  });
}

/** Counts exactly if that is quick, and otherwise assumes four characters per token. Used only for texts that are not sent. */
export function countWith(counter: SessionTokenCounter): (text: string) => number {
  return (text) => counter.countNow(usualTokenizer, text)?.tokens ?? Math.ceil(text.length / 4);
}

/**
 * The best possible run for the cache. Its requests have the same sizes and compactions as in the given run, but between
 * compactions, each request only adds to the previous one.
 */

import {
  type CacheBlock,
  type CacheModel,
  commonPrefixTokens,
  tokensOf,
} from "../prompt/cache-model.ts";
import { type ReadRequest, type Run, type Sent, withMarks } from "./blocks.ts";

/**
 * Between two compactions, each request begins with the whole previous request. A compaction keeps only the beginning: tools,
 * system prompt, and the client's first message.
 */
export function idealRun(run: Run, model: CacheModel, secondsPerTurn: number): Run {
  const first = run.find((sent) => sent !== undefined);
  const base: readonly CacheBlock[] = first?.request.blocks ?? [];
  let previous: ReadRequest | undefined;
  return run.map((sent, turn): Sent | undefined => {
    if (sent === undefined) return undefined;
    const from = previous === undefined || sent.isCompacted ? base : previous.blocks;
    const blocks = filledTo(from, sent.request.tokens, turn);
    const { headBlocks, tokens } = sent.request;
    const request = { blocks, marks: [], tokens, headBlocks };
    const billed = model.take(withMarks(request, previous), turn * secondsPerTurn);
    const prefixTokens = previous === undefined ? 0 : commonPrefixTokens(blocks, previous.blocks);
    previous = request;
    const { body: _, ...same } = sent;
    return { ...same, request, billed, prefixTokens };
  });
}

/** A request of this many tokens that begins with as many of these blocks as fit. One new block makes up the remaining tokens. */
function filledTo(
  from: readonly CacheBlock[],
  tokens: number,
  turn: number,
): readonly CacheBlock[] {
  let kept = 0;
  const end = from.findIndex((block) => {
    kept += block.tokens;
    return kept > tokens;
  });
  const blocks = end === -1 ? from : from.slice(0, end);
  const rest = tokens - tokensOf(blocks);
  return rest === 0 ? blocks : [...blocks, { key: `ideal ${turn}`, tokens: rest }];
}

/** Says what a compaction by hand did. Pure. */

import { grouped } from "../text/digits.ts";

/** The figures of the answer to `POST …/compact`. */
interface CompactedFigures {
  readonly strategies: readonly string[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
}

/** For example `Compacted: 4,120 → 2,300 tokens, 42 → 17 messages, by excerpt.` */
export function compactedWords(done: Partial<CompactedFigures>): string {
  const { tokensBefore = 0, tokensAfter = 0, messagesBefore = 0, messagesAfter = 0 } = done;
  const { strategies = [] } = done;
  const by = strategies.length === 0 ? "" : `, by ${[...new Set(strategies)].join(", ")}`;
  return `Compacted: ${change(tokensBefore, tokensAfter)} tokens, ${change(messagesBefore, messagesAfter)} messages${by}.`;
}

function change(before: number, after: number): string {
  return `${grouped(before)} → ${grouped(after)}`;
}

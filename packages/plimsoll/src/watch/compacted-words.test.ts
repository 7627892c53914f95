import { expect, test } from "vitest";
import { compactedWords } from "./compacted-words.ts";

const figures = { tokensBefore: 4_120, tokensAfter: 2_300, messagesBefore: 42, messagesAfter: 17 };

test.each([
  [["excerpt", "truncate"], "4,120 → 2,300 tokens, 42 → 17 messages, by excerpt, truncate."],
  [["hybrid", "hybrid"], "4,120 → 2,300 tokens, 42 → 17 messages, by hybrid."],
  [[], "4,120 → 2,300 tokens, 42 → 17 messages."],
])(
  "the strategies %j of a compaction by hand, its tokens and its messages",
  (strategies, words) => {
    expect(compactedWords({ ...figures, strategies })).toBe(`Compacted: ${words}`);
  },
);

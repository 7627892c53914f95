/** Each line of the page of departures names keys that exist, and a test has seen what they do. */

import { expect, test } from "vitest";
import { isKeyOf } from "../../test/harness/config-keys.ts";
import {
  brokenLinksIn,
  codeIn,
  docsPage,
  rowsBelow,
  testSource,
  titlesIn,
} from "../../test/harness/pages.ts";
import { configJsonSchema } from "./schema.ts";

const page = docsPage("departures.md");
const rows = rowsBelow(page);

/** For each sentence of the page, tests in which its key is on and that see the document's behaviour. */
const seen: Readonly<Record<string, readonly (readonly [file: string, title: string])[]>> = {
  "Breaking prioritizes P1 units": [
    ["test/engine/priorities.test.ts", "priority 1 is taken out last"],
    [
      "test/engine/priorities.test.ts",
      "a session in which everything has priority 1 is compacted as usual",
    ],
    [
      "test/engine/priorities.test.ts",
      "with all_p1: protect, a session of them keeps what the limit allows",
    ],
  ],
  "Retry Policies (integrated)": [
    [
      "test/upstream-retries.test.ts",
      "retry policies hold for the proxy: after %i Plimsoll asks again",
    ],
    [
      "src/server/proxy/retry-upstream.test.ts",
      "the policy of document A holds for every client with `upstream: always`",
    ],
  ],
  "All breaking strategies failed": [
    [
      "test/engine/document-a.test.ts",
      "BREAKER_FAILED: All strategies fail → force recovery: the conversation starts afresh",
    ],
    [
      "test/engine/document-a.test.ts",
      "with recovery_mode error, nothing is taken out, and the failure is recorded",
    ],
    ["src/compact/chain.test.ts", "truncation only if the order names it"],
  ],
  "If all units high-rel, force fresh start": [
    ["test/engine/document-a.test.ts", "with prioritize_recent last, %s: and only then"],
    ["test/engine/document-a.test.ts", "with another strategy after it, the chain goes on"],
  ],
  "Default for most agents": [
    ["test/engine/document-a.test.ts", "the five strategies run in the order of the document"],
    ["test/engine/document-a.test.ts", "by default, excerpts and truncation run instead"],
  ],
  "Fallback to char-based estimate (text.length / 4) on error": [
    [
      "src/budget/tokenizer.test.ts",
      "Fallback to char-based estimate (text.length / 4) on error, with %s",
    ],
    ["test/doubtful-settings.test.ts", "with try:, the service starts without the file"],
  ],
  "Instant on warning": [["test/engine/document-a.test.ts", "Detection is instant on warning: %s"]],
  "cosine similarity 0–1": [
    [
      "src/compact/strategies/prioritize-recent.test.ts",
      "relevance: cosine compares rel_threshold with the similarity of meaning, and not with a rank",
    ],
    [
      "src/compact/relevance/relevance.test.ts",
      "relevanceScore: cosine similarity 0–1, if that is what is asked for",
    ],
  ],
  "if (current.currentTokens <= current.limit)": [
    [
      "test/engine/document-a.test.ts",
      "with chain_stops: at_limit, one strategy runs if that is enough",
    ],
    ["test/engine/document-a.test.ts", "by default, the chain goes on to half of the limit"],
    ["src/compact/chain.test.ts", "%s takes out as much however large the limit is"],
    ["src/compact/chain.test.ts", "Discard bottom 30%: a third of the units goes"],
  ],
  compress_ratios: [
    [
      "src/compact/strategies/content-type-chunking.test.ts",
      "compress_ratios: text 0.5, also for short texts and for the newest",
    ],
    ["src/compact/chain.test.ts", "%s takes out as much however large the limit is"],
  ],
  "[Omitted low-relevance prior context]": [
    [
      "src/compact/strategies/discard-low-rel.test.ts",
      "texts: documents has the words of document A",
    ],
    [
      "test/engine/document-texts.test.ts",
      "Resuming from overflow: … Continue task …, also when it is resumed again",
    ],
  ],
  "[Tool result stored — 48,231 bytes from …]": [
    [
      "test/engine/document-texts.test.ts",
      "Tool result stored — 48,231 bytes from …, First 200 chars",
    ],
    ["test/engine/document-texts.test.ts", "[Context: 83% used. You can call compact_context …]"],
  ],
  "Saved Enough Space?": [["test/engine/document-e.test.ts", "Saved Enough Space? %s"]],
  "[NOTE] Previous context truncated": [
    ["test/engine/document-texts.test.ts", "[NOTE] Previous context truncated"],
    [
      "test/engine/document-texts.test.ts",
      "DUPLICATE CONTENT NOTICE, which stays in later compactions",
    ],
  ],
  "10k token chats → verify under limit, coherence >0.85": [
    [
      "test/engine/simulated-overflows.test.ts",
      "breaking_strategy.coherence asks for it without a limit of an agent too",
    ],
  ],
  "Uses `Math.max(tokenizerResult, characterApproximation)`": [
    [
      "src/budget/tokenizer.test.ts",
      "Uses Math.max(tokenizerResult, characterApproximation) to get the higher of both estimates",
    ],
  ],
  "Restrict tools to `agent__final_report` only": [
    [
      "src/session/guard-limits.test.ts",
      "with final_turn: final_report, Restrict tools to agent__final_report only, and ask for it",
    ],
  ],
  "`toolResponseMaxBytes` … 12,288": [
    ["test/guard-settings.test.ts", "a tool result leaves on arrival: %s"],
  ],
  "Tool schema token estimate (scaled × 2.09)": [
    [
      "test/guard-settings.test.ts",
      "schemaCtxTokens are scaled × 2.09 if the configuration says so",
    ],
  ],
  "`contextWindowBufferTokens` … 8,192": [
    [
      "src/budget/limit.test.ts",
      "contextWindowBufferTokens … 8,192 is subtracted as it is if the configuration names it, also from a small window",
    ],
    ["src/budget/limit.test.ts", "leaves a configured buffer as it is with strict_limit"],
  ],
  "`bufferTokens` always subtracted": [
    [
      "src/budget/guard.test.ts",
      "with strict_limit: effectiveLimit = contextWindow - bufferTokens - maxOutputTokens",
    ],
    [
      "test/engine/guard-invariants.test.ts",
      "Buffer preserved, Output space reserved: both are subtracted from every target's limit",
    ],
  ],
  "limit = contextWindow - bufferTokens - maxOutputTokens": [
    ["test/engine/document-b.test.ts", "the window's limit is in force: %s"],
  ],
  "`ReadResultTool`": [
    [
      "test/engine/library-arrival.test.ts",
      "with %j, read_result without a limit returns %i bytes",
    ],
  ],
  "`DEFAULT_CONTEXT_WINDOW_TOKENS` … 131,072 (fallback)": [
    ["test/engine/document-b.test.ts", "with defaults.contextWindow, its window is enforced"],
    [
      "test/engine/document-b.test.ts",
      "if an estimate is over it and nothing can be taken out: %s",
    ],
  ],
  "`tool_preflight` … `toolBudgetExceeded`": [
    ["test/engine/document-b.test.ts", "with strict_limit, the room is exactly limit − projected"],
    [
      "test/engine/document-b.test.ts",
      "with strict_limit, a reference replaces a result over what is left, and the conversation goes on",
    ],
    [
      "test/engine/document-b.test.ts",
      "with compaction: by_hand too, it exceeds the budget, and the next turn is the final one",
    ],
  ],
  "When projections exceed limit, guard forces final turn": [
    [
      "test/engine/guard-invariants.test.ts",
      "When the guard triggers: the final turn, BEFORE the next LLM execution (%s)",
    ],
    [
      "test/engine/document-b.test.ts",
      "When projections exceed limit, guard forces final turn, and by default Plimsoll compacts first",
    ],
  ],
  "Counters only increase until turn commits": [
    ["src/budget/counters.test.ts", "Counters only increase until turn commits"],
    ["test/engine/document-b.test.ts", "Counters only increase until turn commits"],
  ],
  "`skip`: Skip this provider, try next": [
    ["test/next-provider.test.ts", "skip: Skip this provider, try next"],
    [
      "test/engine/document-b.test.ts",
      "skip: Skip this provider, try next: the next provider gets the whole conversation",
    ],
  ],
  "EffectiveWindow() int // Total - MaxOutputTokens": [
    [
      "src/budget/guard.test.ts",
      "document C: EffectiveWindow() is Total - MaxOutputTokens, with output_in_budget",
    ],
  ],
  "compact_at = 0.95 * effective_window": [
    [
      "test/engine/document-c.test.ts",
      "with hard_block: 0.95 and cost.when: forced, exactly from there on",
    ],
  ],
  "Section ordering": [
    [
      "test/engine/document-c.test.ts",
      "with prompt.sections: in_system, Order 5 and 6 are in the prompt, after the others",
    ],
    [
      "src/prompt/sections.test.ts",
      "with sections: in_system, what changes is in the prompt too, after everything else",
    ],
  ],
  "Cache breakpoints inserted after sections 1–3": [
    [
      "test/engine/document-c.test.ts",
      "with prompt.cache_marks: sections, each of the three has one",
    ],
  ],
  "Global Minimum Floor": [
    [
      "test/engine/document-a.test.ts",
      "Global Minimum Floor: 3,500 tokens, for the limits of agents and of types of models",
    ],
  ],
  "When `maxOutputTokens` is not explicitly configured": [
    ["test/engine/document-b.test.ts", "with strict_limit, %s keeps floor(contextWindow / 4) free"],
  ],
  "Still over limit after shrink": [
    [
      "test/engine/document-b.test.ts",
      "with over_window: send, the session proceeds best-effort (may fail at API level)",
    ],
  ],
  "`CompactContextTool` … Available in all modes": [
    ["test/engine/document-texts.test.ts", "[Context: 83% used. You can call compact_context …]"],
  ],
  "Matched tools promoted to active set for current turn": [
    [
      "test/engine/document-c-tools.test.ts",
      "with tool_deferral: each_turn, a found tool that was not called is deferred in the next turn",
    ],
    [
      "test/engine/document-c-tools.test.ts",
      "by default it stays, so that the provider's cache stays valid",
    ],
  ],
  "Within category: LRU — least recently used deferred first": [
    [
      "test/engine/document-c-tools.test.ts",
      "with tool_deferral: each_turn, a tool that was called takes the place of one that was not",
    ],
    [
      "test/engine/document-c-tools.test.ts",
      "with tool_deferral: each_turn, tools may take the whole threshold",
    ],
  ],
  "System note when tools are deferred": [
    [
      "test/engine/document-c-tools.test.ts",
      "with deferral_note: in_conversation, the note is in the conversation",
    ],
    ["test/engine/document-c-tools.test.ts", "by default it is in the description of tool_search"],
  ],
  "`/compact` Command": [
    [
      "test/engine/compact-at-any-fill.test.ts",
      "`/compact` again with `keep` or `budget` takes out more, although nothing new was said",
    ],
  ],
  "before the reference enters the conversation": [
    ["test/guard-settings.test.ts", "a tool result leaves on arrival: %s"],
    [
      "test/engine/library-arrival.test.ts",
      "with %s, a reference replaces the result, and reading it gives its text",
    ],
  ],
  "all but the **last occurrence** are replaced with a compact notice": [
    ["src/compact/strategies/older-copies.test.ts", "all but the last occurrence are replaced"],
    [
      "src/compact/strategies/older-copies.test.ts",
      "an older copy that the model has not answered yet",
    ],
    [
      "test/engine/document-e.test.ts",
      "older copies of a file that changed go, and nothing is truncated if that saves 30 %",
    ],
  ],
  "Truncation `none`, `lastTwo`, `half`, `quarter`": [
    ["src/compact/units/truncation-range.test.ts", "%s of a talk of ten questions"],
    ["test/engine/document-e.test.ts", "otherwise the middle is cut by the configured half"],
  ],
};

const sentences = Object.keys(seen);

test("each line is about a sentence that tests have seen, and each such sentence is on the page", () => {
  const found = rows.map(([, , cell = ""]) => sentences.filter((one) => cell.includes(one)));
  expect(found.map((ones) => ones.length)).toEqual(rows.map(() => 1));
  expect(found.flat().toSorted()).toEqual(sentences.toSorted());
});

test.each(sentences)("%s: the tests are there", (sentence) => {
  for (const [file, title] of seen[sentence] ?? [])
    expect(
      titlesIn(file).some((one) => one.includes(title)),
      `${file}: ${title}`,
    ).toBe(true);
});

test.each(rows.map((row) => [row[2] ?? "", row] as const))(
  "%s: its key is in the configuration, takes the value, and is in a test",
  (_sentence, [, , cell = "", , , key = ""]) => {
    const named = namedIn(key);
    const unknown = named.filter((code) => !isKnown(code));
    expect(unknown).toEqual([]);
    expect(named).not.toEqual([]);
    const sources = sentences
      .filter((sentence) => cell.includes(sentence))
      .flatMap((sentence) => (seen[sentence] ?? []).map(([file]) => testSource(file)))
      .join("\n");
    expect(sources).toContain(named[0]?.split(": ")[0]?.split(".").at(-1) ?? "no key");
  },
);

function isKnown(code: string): boolean {
  return isKeyOf(configJsonSchema() as object, code);
}

/** The keys in a cell, with their values. `max:` is the beginning of a value. */
function namedIn(cell: string): readonly string[] {
  return codeIn(cell).filter((code) => !code.startsWith("POST ") && !code.endsWith(":"));
}

test("a key that does not exist is found", () => {
  expect(isKnown("agent.strict_limt: true")).toBe(false);
  expect(isKnown("agent.strict_limit: perhaps")).toBe(false);
  expect(isKnown("breaking_strategy.chain_order: [truncate, perhaps]")).toBe(false);
});

test("the pages that it links to are there", () => expect(brokenLinksIn(page)).toEqual([]));

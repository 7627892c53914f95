import { expect, test } from "vitest";
import { gistOf, outcomeGistOf } from "./gist.ts";

test.each([
  ["You're absolutely right! The index is not used.", "The index is not used."],
  ["Perfect! Now pre-commit is available globally.", "Now pre-commit is available globally."],
  ["Done. Late fees are rounded after the discount.", "Late fees are rounded after the discount."],
  ["Yes.", "Yes."],
  ["Ok", "Ok"],
  ["", ""],
])("courtesy does not hide what came of %j", (text, gist) => {
  expect(gistOf(text, 200)).toBe(gist);
});

test("a sentence that announces a list goes on with the list", () => {
  const text =
    "Great!\n\nI've simplified the README by:\n\n- removing the old badge\n- joining two sections\n\nShall I commit?";
  expect(gistOf(text, 200)).toBe(
    "I've simplified the README by: - removing the old badge - joining two sections Shall I commit?",
  );
  expect(gistOf(text, 60)).toBe("I've simplified the README by: - removing the old badge …");
});

test("a long sentence is cut between words, and says so", () => {
  const gist = gistOf(
    `The nightly run is slow because ${"it reads every booking twice ".repeat(20)}.`,
    80,
  );
  expect(gist.length).toBeLessThanOrEqual(82);
  expect(gist).toMatch(/^The nightly run is slow because it reads .* …$/);
});

test("an answer in Chinese has a gist too", () => {
  expect(gistOf("好的！索引没有被使用，因为查询转换了列。", 100)).toContain("索引没有被使用");
});

test.each([
  [
    "Here are your reservations: 1. XEHM4B. 2. 59XX6W. The second cannot be cancelled. Anything else?",
    "The second cannot be cancelled.",
  ],
  ["To proceed, I need your name. Let me know.", "To proceed, I need your name."],
  ["Great! I've fixed the loader. It read twice.", "I've fixed the loader. It read twice."],
  [
    "HB-12 is done. The cause: a lock is taken twice.",
    "HB-12 is done. The cause: a lock is taken twice.",
  ],
  ["- one\n- two\nBoth parts of the loader are mended.", "Both parts of the loader are mended."],
  ["Here is what I found: - a", "Here is what I found: - a"],
  ["The fault is on line 28.", "The fault is on line 28."],
])("the outcome is the sentence that says what came of it: %s", (text, outcome) => {
  expect(outcomeGistOf(text, 120)).toBe(outcome);
});

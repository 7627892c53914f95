import { expect, test } from "vitest";
import type { Message } from "./message.ts";
import { titleOf } from "./title.ts";

const user = (...texts: readonly string[]): Message => ({
  role: "user",
  parts: texts.map((text) => ({ kind: "text", text })),
});

test("a title is the user's first words, on one line", () => {
  expect(titleOf([user("Fix the\n  login test\t please")])).toBe("Fix the login test please");
});

test.each([
  ["blocks of their own", ["<system-reminder>\nbe\n</system-reminder>", "Read the notes."]],
  ["a block before the words", ["<current_datetime>now</current_datetime>\n\nRead the notes."]],
  ["several blocks", ["<info-msg>a</info-msg><system-reminder>b</system-reminder>Read the notes."]],
  ["a block with words of HTML", ["<env_info><b>x</b></env_info>Read the notes."]],
  ["the words in a block", ["<task>\nRead the notes.\n</task>\n<environment_details>…"]],
])("what the client adds is skipped: %s", (_, texts) => {
  expect(titleOf([user(...texts)])).toBe("Read the notes.");
});

test("whole messages of the client are skipped", () => {
  const messages = [
    user("# AGENTS.md instructions for /work\n\n<INSTRUCTIONS>Be kind.</INSTRUCTIONS>"),
    user("<environment_context>\n  <cwd>/work</cwd>\n</environment_context>"),
    user("This is the Gemini CLI. We are setting up the context for our chat."),
    user("Read the notes."),
  ];
  expect(titleOf(messages)).toBe("Read the notes.");
});

test("tags in the user's own words stay", () => {
  expect(titleOf([user("Why is <div> wider than <b>this</b>?")])).toBe(
    "Why is <div> wider than <b>this</b>?",
  );
});

test("a long title is cut at a word, and never longer than 80 characters", () => {
  const title = titleOf([user("seven words ".repeat(40))]) ?? "";
  expect(title).toMatch(/ (?:seven|words)…$/);
  expect([...title].length).toBeLessThanOrEqual(80);
  expect([...(titleOf([user("🚢".repeat(200))]) ?? "")].length).toBe(80);
});

test("without words of a user there is no title", () => {
  expect(titleOf([])).toBeUndefined();
  expect(titleOf([user("<system-reminder>only</system-reminder>")])).toBeUndefined();
  expect(
    titleOf([{ role: "assistant", parts: [{ kind: "text", text: "Hello" }] }]),
  ).toBeUndefined();
});

test("a block that never ends, and thousands of tags, are read in a moment", () => {
  expect(titleOf([user(`<system-reminder>${"<a_b>".repeat(30_000)}`)])).toBeUndefined();
  expect(titleOf([user(`${"<x>".repeat(30_000)}`)])).toMatch(/^<x><x>/);
});

test("a client that first asks for a title does not give its own words to the session", () => {
  const asked =
    "<session>\nMend the crane\n</session>\n\nWrite the title in the language of the session.";
  expect(titleOf([user(asked)])).toBe("Mend the crane");
  expect(titleOf([user("Generate a title for this conversation:\n"), user("Mend the crane")])).toBe(
    "Mend the crane",
  );
});

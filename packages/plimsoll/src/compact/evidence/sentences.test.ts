/** Which sentences tell of decisions, results, progress and next steps, in the words that agents and source documents use. */

import { describe, expect, test } from "vitest";
import { assistant, read, user } from "../../../test/generate/said.ts";
import { summarise } from "../summary/summary.ts";
import strangersLines from "./phrasings-of-a-stranger.json" with { type: "json" };

/** The section in which a summary repeats the sentence, if nothing else was said. */
function sectionOf(sentence: string): string | undefined {
  const messages = [user("Build the login."), assistant(sentence), assistant("Looking on.")];
  const { items } = summarise({
    messages: messages.map((message, number) => ({ message, number })),
    tokens: 500,
    count: (text) => Math.ceil(text.length / 4),
  });
  return items.find(({ text }) => text === sentence)?.section;
}

describe("a summary preserves key decisions, working approaches, failures, current state and next steps", () => {
  test.each([
    ["Chose JWT over sessions", "Decided"],
    ["Decision: keep Postgres.", "Decided"],
    ["We will go with option B.", "Decided"],
    ["Picked Vitest over Jest.", "Decided"],
    ["Switched from REST to gRPC.", "Decided"],
    ["Going with SQLite.", "Decided"],
    ["Settled on a monorepo.", "Decided"],
    ["Opted for server-side rendering.", "Decided"],
    ["Rejected Redis because of the licence.", "Decided"],
    ["Using bcrypt for password hashing", "Worked"],
    ["Working approach: retry with jitter.", "Worked"],
    ["The cache fix works.", "Worked"],
    ["Rate limiting works with Redis.", "Worked"],
    ["Migrations run cleanly.", "Worked"],
    ["All 42 tests pass.", "Worked"],
    ["Tried memcached, too slow.", "Failed"],
    ["Approach A failed: deadlocks under load.", "Failed"],
    ["Websocket reconnect does not work behind the proxy.", "Failed"],
    ["Dead end: patching the vendor library.", "Failed"],
    ["Bcrypt with cost 14 was too slow.", "Failed"],
    ["Login endpoint complete, logout pending", "State"],
    ["Signup form done, validation in progress.", "State"],
    ["3 of 5 endpoints finished.", "State"],
    ["Current state: schema migrated, API half done.", "State"],
    ["Blocked on the staging credentials.", "State"],
    ["Next: add refresh tokens.", "Next"],
    ["Next steps: write the migration guide.", "Next"],
    ["TODO: rotate the keys.", "Next"],
    ["Logout still needs to be implemented.", "Next"],
    ["Remaining: docs and the changelog.", "Next"],
    ["Need to implement refresh tokens", "Next"],
  ])("%s", (sentence, section) => expect(sectionOf(sentence)).toBe(section));
});

const sectionOfKind: Readonly<Record<string, string>> = {
  decision: "Decided",
  worked: "Worked",
  failed: "Failed",
  state: "State",
  next: "Next",
};

/** The lines were written before their author read any code. Do not change them: mend what reads them. */
describe("a summary preserves what somebody wrote who does not know Plimsoll", () => {
  test.each(strangersLines)("$line", ({ kind, line }) => {
    expect(sectionOf(line)).toBe(sectionOfKind[kind]);
  });

  test("and all of them at once, between logs, in 2,000 tokens", () => {
    const messages = [
      user("Build the shop."),
      ...strangersLines.flatMap(({ line }, n) => [
        assistant(line),
        ...read(
          `src/part_${n}.ts`,
          Array.from({ length: 60 }, (_, row) => `tick ${n}.${row}`),
        ),
      ]),
      assistant("Looking on."),
    ];
    const { items, tokens } = summarise({
      messages: messages.map((message, number) => ({ message, number })),
      tokens: 2_000,
      count: (text) => Math.ceil(text.length / 4),
    });
    const kept = new Set(items.map(({ text }) => text));
    expect(strangersLines.filter(({ line }) => !kept.has(line))).toEqual([]);
    expect(tokens).toBeLessThanOrEqual(2_000);
  });
});

describe("a statement in words that no pattern knows is kept if there is room, among what was said", () => {
  test.each([
    "The API returns cents as integers, never floats.",
    "Prefer feature flags over long-lived branches.",
    "The migration went through on staging.",
    "The CDN does not forward the Range header.",
    "Currently on branch fix/login with uncommitted changes.",
  ])("%s", (sentence) => expect(sectionOf(sentence)).toBe("Said"));

  test.each(["Let me look at the parser first.", "What should the button say?", "Now, done."])(
    "but not: %s",
    (sentence) => expect(sectionOf(sentence)).toBeUndefined(),
  );

  test("and it goes first if there is not", () => {
    const messages = [
      user("Build the login."),
      assistant("The banner keeps its corners. Chose JWT over sessions."),
      assistant("Looking on."),
    ];
    const { text } = summarise({
      messages: messages.map((message, number) => ({ message, number })),
      tokens: 30,
      count: (words) => Math.ceil(words.length / 4),
    });
    expect(text).toContain("Chose JWT over sessions.");
    expect(text).not.toContain("banner");
  });
});

describe("ordinary talk is none of these", () => {
  test.each([
    "I read the file instead of the log.",
    "Here is the list of endpoints.",
    "Let me look at the parser first.",
    "The function returns a promise.",
    "What should the button say?",
    "The pending queue has a lock.",
    "Looking into what broke the build.",
    "Nothing that I read caused the error.",
    "Then the button turns blue.",
    "The server can handle both forms.",
    "Don't worry about the colours.",
    "The port is a string, but not a number.",
  ])("%s", (sentence) => {
    expect(Object.values(sectionOfKind)).not.toContain(sectionOf(sentence));
  });
});

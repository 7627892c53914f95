/** Which sentences tell of decisions, results, progress and next steps, in the words that agents and source documents use. */

import { describe, expect, test } from "vitest";
import { assistant, user } from "../../../test/generate/said.ts";
import { summarise } from "../summary/summary.ts";

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
  ])("%s", (sentence, section) => expect(sectionOf(sentence)).toBe(section));
});

describe("ordinary talk is none of these", () => {
  test.each([
    "I read the file instead of the log.",
    "Here is the list of endpoints.",
    "Let me look at the parser first.",
    "The function returns a promise.",
    "What should the button say?",
    "The pending queue has a lock.",
  ])("%s", (sentence) => expect(sectionOf(sentence)).toBeUndefined());
});

/** The text after the head: the notice with its one handle, and after it the story of the messages that left. */

import { describe, expect, test } from "vitest";
import { assistant, exchange, shell, user } from "../../../test/generate/said.ts";
import { HANDLE, seenFrom } from "../../../test/generate/seen.ts";
import type { Message } from "../../message/message.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import { readActs } from "../story/acts.ts";
import { summaryBody } from "../units/notices.ts";
import type { Room } from "./excerpt-room.ts";
import { digestOf, withHandle } from "./notice-text.ts";
import type { RenderedChoice } from "./render-choice.ts";

const work: readonly Message[] = [
  user("Mend the loader."),
  user("Why is the night run so slow? Never touch the tests."),
  ...exchange("write_file", { path: "src/load.ts", content: "x" }, "ok"),
  ...shell("npm test", "exit code 1\nError: 2 tests failed"),
  assistant("The loader read every file twice."),
  user("And now?"),
];

function roomOf(tokens: number): Room {
  return { tokens, historyTokens: tokens * 4, nowTokens: tokens * 4, headLength: 1 };
}

/** The text if the view shows only these messages after the head. */
function textFor(
  conversation: VisibleConversation,
  { tokens, shown = [] }: { readonly tokens: number; readonly shown?: readonly number[] },
): string {
  const digest = digestOf(conversation, roomOf(tokens), readActs(conversation.messages, 1));
  const messages = new Map(
    shown.map((index) => {
      const message = conversation.messages[index]?.message ?? user("");
      return [index, { message, changes: [] }];
    }),
  );
  const rendered: RenderedChoice = { messages, gone: [] };
  return withHandle(digest.textFor(rendered, [], tokens), conversation.hasArchive ? HANDLE : "");
}

describe("the notice", () => {
  const tools = { readingTool: "read_result", tokens: 100 };

  test("names one handle, and says how to read message n", () => {
    const text = textFor({ ...seenFrom(work), ownTools: tools }, { tokens: 500 });
    const [notice = ""] = text.split("\n");
    expect(text.match(/pl_[0-9A-Za-z]{22}/g)).toEqual([HANDLE]);
    expect(notice).toMatch(/^\[Plimsoll: .*#n/);
    expect(notice).toContain("read_result");
  });

  test("names no tool where the model has none", () => {
    const text = textFor(seenFrom(work), { tokens: 500 });
    expect(text).toContain(HANDLE);
    expect(text).not.toContain("read_result");
  });

  test("is in brackets, with the story inside them", () => {
    const text = textFor(seenFrom(work), { tokens: 500 });
    expect(text).toMatch(/^\[Plimsoll: [\s\S]*\n## [\s\S]*\]$/);
    expect(summaryBody(text)).toMatch(/^## /);
    expect(summaryBody(text)?.endsWith("]")).toBe(text.endsWith("]]"));
  });

  test("without an archive there is no handle", () => {
    const text = textFor({ ...seenFrom(work), hasArchive: false }, { tokens: 50_000 });
    expect(text).not.toContain("pl_");
    expect(text).toMatch(/^\[Plimsoll: /);
  });
});

describe("the story after it", () => {
  test("has the user's rules, the requests with their outcomes, the changes and the failures", () => {
    const [, ...story] = textFor(seenFrom(work), { tokens: 20_000, shown: [7] }).split("\n");
    expect(story).toEqual([
      "## Rules",
      "- #1 Never touch the tests.",
      "## Answered",
      "- #1 asked: Why is the night run so slow? → #6: The loader read every file twice.",
      "## Changed",
      "- wrote src/load.ts (#2)",
      "## Open",
      "- #4 failed: ran `npm test`: `Error: 2 tests failed`]",
    ]);
  });

  test("is not there if the view shows everything", () => {
    const all = [1, 2, 3, 4, 5, 6, 7];
    expect(textFor(seenFrom(work), { tokens: 20_000, shown: all })).not.toContain("\n");
  });

  test("goes on from an earlier one", () => {
    const earlier = `[Plimsoll: shortened; ${HANDLE} has each message #n whole.]\n## Changed\n- wrote src/old.ts (#0)`;
    const conversation = { ...seenFrom(work), summary: earlier };
    const text = textFor(conversation, { tokens: 20_000, shown: [7] });
    expect(text).toContain("- wrote src/old.ts (#0)\n- wrote src/load.ts (#2)");
    expect(text.match(/Plimsoll:/g)).toHaveLength(1);
    expect(text.match(/pl_[0-9A-Za-z]{22}/g)).toEqual([HANDLE]);
  });

  test("is not written about a talk without tools, but what an earlier one said stays", () => {
    const talk = [
      user("Hello."),
      user("Never rhyme."),
      assistant("So be it then."),
      user("Go on."),
    ];
    expect(textFor(seenFrom(talk), { tokens: 20_000, shown: [3] })).not.toContain("\n");
    const told = {
      ...seenFrom(talk),
      summary: "[Plimsoll: x]\n## State\n- #1 They speak of ships.",
    };
    expect(textFor(told, { tokens: 20_000, shown: [3] })).toContain("- #1 They speak of ships.");
  });
});

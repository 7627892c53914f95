/** Lines that say where names come from: only as many as the wished coherence needs, and none for what explains itself. */

import { describe, expect, test } from "vitest";
import { assistant, shell, user } from "../../../test/generate/said.ts";
import { HANDLE, seenFrom } from "../../../test/generate/seen.ts";
import type { Message } from "../../message/message.ts";
import { namesWriterFor } from "./first-named.ts";

const talk: readonly Message[] = [
  user("Mend load_head in src/head.ts."),
  ...shell("cat src/tide.ts", "export function tide_rate() { return berth_fee(41234); }"),
  assistant("parse_crew and berth_fee are next."),
  user("Go on with tide_rate in src/tide.ts, load_head, parse_crew and 41234."),
];

interface Wish {
  readonly coherence?: number;
  readonly roomTokens?: number;
  readonly story?: string;
  readonly shown?: readonly number[];
}

function linesOf({ coherence = 1, roomTokens = 1_000, story = "", shown = [4] }: Wish = {}) {
  const conversation = seenFrom(talk);
  const messages = new Map(
    shown.map((index) => [index, { message: talk[index] ?? user(""), changes: [] }]),
  );
  const rendered = { messages, gone: [] };
  const text = namesWriterFor(conversation, 1)({ rendered, story, coherence, roomTokens });
  return text === "" ? [] : text.split("\n");
}

describe("the lines", () => {
  test("say which message named a name first", () => {
    expect(linesOf()).toEqual([
      "## Names",
      "- #1 first named `src/tide.ts`",
      "- #2 first named `tide_rate`",
      "- #3 first named `parse_crew`",
    ]);
  });

  test("leave out names that the head, the story or an earlier shown message has", () => {
    expect(linesOf({ story: "- #3 asked: parse_crew" }).join()).not.toContain("parse_crew");
    expect(linesOf({ shown: [1, 2, 4] })).toEqual(["## Names", "- #3 first named `parse_crew`"]);
    expect(linesOf({ shown: [1, 2, 3, 4] })).toEqual([]);
  });

  test("leave out numbers and the names of tools", () => {
    const text = linesOf().join("\n");
    expect(text).not.toContain("41234");
    expect(text).not.toContain("bash");
  });

  test("leave out what looks like a handle of Plimsoll", () => {
    const conversation = seenFrom([
      user("Go."),
      ...shell("cat notes", `See ${HANDLE} and tide_rate.`),
      user(`Read ${HANDLE} and tide_rate.`),
    ]);
    const message = conversation.messages[3]?.message ?? user("");
    const text = namesWriterFor(
      conversation,
      1,
    )({
      rendered: { messages: new Map([[3, { message, changes: [] }]]), gone: [] },
      story: "",
      coherence: 1,
      roomTokens: 1_000,
    });
    expect(text).toContain("tide_rate");
    expect(text).not.toContain(HANDLE);
  });

  test("end as soon as enough is explained", () => {
    expect(linesOf({ coherence: 0.1 })).toEqual(["## Names", "- #1 first named `src/tide.ts`"]);
    expect(linesOf({ coherence: 0.4 }).length).toBeLessThan(linesOf().length);
  });

  test("take a tenth of the room at most", () => {
    expect(linesOf({ roomTokens: 100 }).length).toBeLessThan(linesOf().length);
    expect(linesOf({ roomTokens: 10 })).toEqual([]);
  });
});

import { expect, test } from "vitest";
import type { AnswerCutEvent } from "../message/event.ts";
import { cutWords } from "./cut-words.ts";

const cut = (more: Partial<AnswerCutEvent>): string =>
  cutWords({
    type: "answer-cut",
    session: "s",
    at: 1,
    turn: "t",
    end: "full_length",
    tokens: 1234,
    basis: "about 60 %, from the length that the file had before",
    outcome: "seen",
    ...more,
  });
const beginning =
  "An answer stopped because it reached its maximum length. 1,234 tokens arrived: about 60 %, from the length that the file had before.";

test("each course has its sentence", () => {
  expect(cut({})).toBe(`${beginning} The client asks again by itself.`);
  const followed = { outcome: "followed-up", task: "T-1", followUp: "T-2" } as const;
  expect(cut({ ...followed, partial: "partials/s/a.incomplete.ts" })).toBe(
    `${beginning} Task T-2 completes it. Plimsoll kept the part in partials/s/a.incomplete.ts.`,
  );
  expect(cut({ ...followed, problem: "The disk is full. Make room." })).toContain(
    "Task T-2 completes it. Plimsoll could not keep the part: The disk is full. Make room.",
  );
  expect(cut({ outcome: "escalated", ticket: "TK-1" })).toMatch(/Ticket TK-1 asks a person/);
  expect(cut({ outcome: "compressed", end: "window_full", tokens: 1 })).toBe(
    "An answer stopped because the window was full. 1 token arrived: about 60 %, from the length that the file had before. Plimsoll made room, so the client can ask again.",
  );
});

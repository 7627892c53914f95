/** The user's requests, each with the words that ended the work on it. */

import { describe, expect, test } from "vitest";
import { assistant, exchange, shell, system, user } from "../../../test/generate/said.ts";
import { seenFrom } from "../../../test/generate/seen.ts";
import type { Message } from "../../message/message.ts";
import { requestsIn, wordsOf } from "./requests.ts";

function requests(messages: readonly Message[], from = 0): readonly (readonly number[])[] {
  return requestsIn(seenFrom(messages), from).map(({ message, outcome }) =>
    outcome === undefined ? [message] : [message, outcome],
  );
}

const looked = shell("ls", "a.ts");

describe("a request", () => {
  test("ends with the agent's last words before the next request, if they make no call", () => {
    const messages = [user("one"), ...looked, assistant("done"), user("two"), assistant("yes")];
    expect(requests(messages)).toEqual([[0, 3], [4]]);
  });

  test("is no command to the client", () => {
    const messages = [
      user("one"),
      assistant("done"),
      user("/model opus"),
      user("Set model to Opus (claude-opus-4)"),
      user("/compact\nError: not enough messages to compact."),
      user(
        "/src/a.ts has a bug, and so has the file next to it. Please look at both of them today.",
      ),
    ];
    expect(requests(messages)).toEqual([[0, 1], [5]]);
  });

  test("that is the newest one is open, also if the agent has spoken since", () => {
    expect(requests([user("one"), assistant("done")])).toEqual([[0]]);
  });

  test("that the user added something to ends with the same words as the addition", () => {
    const messages = [user("one"), ...looked, user("also two"), assistant("done"), user("go on")];
    expect(requests(messages)).toEqual([[0, 4], [3, 4], [5]]);
  });

  test("gets no answer of another request, if the messages between them have left the view", () => {
    const { messages } = seenFrom([
      user("one"),
      assistant("two is done"),
      user("three"),
      assistant("yes"),
    ]);
    const shown = messages.map((one, index) => (index === 1 ? { ...one, isAfterGap: true } : one));
    const numbered = shown.map((one, index) => ({ ...one, number: index * 10 }));
    const first = (summary: string) => requestsIn({ messages: numbered, summary }, 0)[0];
    expect(first("- #25 asked: x → #27: y")).toEqual({ message: 0, outcome: 1 });
    expect(first("- #5 asked: two → #8: it is begun")).toEqual({ message: 0, isLeftOut: true });
    expect(first("- 3 earlier requests (#2–#6)")).toEqual({ message: 0, isLeftOut: true });
  });

  test("whose answer has left the view has no outcome that anybody could tell", () => {
    const { messages } = seenFrom([user("one"), ...looked, user("two"), assistant("yes")]);
    const shown = messages.map((one, index) => (index === 3 ? { ...one, isAfterGap: true } : one));
    expect(requestsIn({ messages: shown }, 0)[0]).toEqual({ message: 0, isLeftOut: true });
  });

  test("that was answered without a call has this answer, whatever has left the view after it", () => {
    const { messages } = seenFrom([user("one"), assistant("yes"), user("three"), user("four")]);
    const shown = messages.map((one, index) => (index === 2 ? { ...one, isAfterGap: true } : one));
    expect(requestsIn({ messages: shown }, 0)[0]).toEqual({ message: 0, outcome: 1 });
  });

  test.each<readonly [string, Message]>([
    ["a call with words", exchange("ls", {}, "a", "I look.")[0] ?? user("")],
    ["words without a letter", assistant("…\n---")],
    ["nothing", { role: "assistant", parts: [] }],
    [
      "only reasoning",
      { role: "assistant", parts: [{ kind: "reasoning", text: "so it is done" }] },
    ],
    ["an instruction", system("Be brief.")],
  ])("has no outcome if the last message before the next one is %s", (_, last) => {
    expect(requests([user("one"), last, user("two")])).toEqual([[0], [2]]);
  });

  test("in Chinese has its outcome too", () => {
    expect(requests([user("修复加载器"), assistant("已经修好了"), user("谢谢")])).toEqual([
      [0, 1],
      [2],
    ]);
  });

  test("is words of the user: no result, no picture alone, no blank text", () => {
    const media = { kind: "base64", mediaType: "image/png", data: "AAAA" } as const;
    const picture: Message = { role: "user", parts: [{ kind: "image", media }] };
    const result: Message = {
      role: "user",
      parts: [{ kind: "tool-result", callId: "c", content: user("ok").parts, isError: false }],
    };
    const both: Message = { role: "user", parts: [...result.parts, { kind: "text", text: " \n" }] };
    expect(requests([picture, result, both, user("  \n"), user("one")])).toEqual([[4]]);
  });

  test("before the first message to look at is left alone", () => {
    expect(requests([user("one"), assistant("done"), user("two")], 1)).toEqual([[2]]);
  });
});

test("a shortened message counts as it is in the log", () => {
  const { messages } = seenFrom([user("one"), assistant("done"), user("two")]);
  const shortened = messages.map((seen, index) =>
    index === 1
      ? { ...seen, message: assistant("…"), original: { message: seen.message, tokens: 9 } }
      : seen,
  );
  expect(requestsIn({ messages: shortened }, 0)).toEqual([
    { message: 0, outcome: 1 },
    { message: 2 },
  ]);
});

test("the words of a message are its texts, without results and reasoning", () => {
  const parts = [
    { kind: "reasoning", text: "hm" },
    { kind: "text", text: "one" },
    { kind: "tool-result", callId: "c", content: user("result").parts, isError: false },
    { kind: "text", text: "two" },
  ] as const;
  expect(wordsOf({ role: "user", parts })).toBe("one\ntwo");
});

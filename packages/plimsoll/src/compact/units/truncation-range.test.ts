import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import type { Message } from "../../message/message.ts";
import { splitUnits } from "../../message/unit.ts";
import { type Keep, truncationRanges } from "./truncation-range.ts";

const user = (text: string): Message => ({ role: "user", parts: [{ kind: "text", text }] });
const assistant = (text: string): Message => ({
  role: "assistant",
  parts: [{ kind: "text", text }],
});
const exchange = (id: string): Message[] => [
  { role: "assistant", parts: [{ kind: "tool-call", id, name: "t", input: "{}" }] },
  {
    role: "tool",
    parts: [
      { kind: "tool-result", callId: id, content: [{ kind: "text", text: id }], isError: false },
    ],
  },
];
const cut = (messages: readonly Message[], keep: Keep): readonly Message[] => {
  const ranges = truncationRanges(messages, splitUnits(messages), keep);
  return messages.filter((_, at) => !ranges.some(({ first, last }) => first <= at && at <= last));
};
const chat = Array.from({ length: 10 }, (_, index) => [
  user(`u${index}`),
  assistant(`a${index}`),
]).flat();
const words = (messages: readonly Message[]): string =>
  messages
    .map(({ parts: [part] }) =>
      part?.kind === "text" ? part.text : part?.kind === "tool-call" ? part.id : "r",
    )
    .join(" ");

test.each([
  ["none", "u0 a0 u9 a9"],
  ["lastTwo", "u0 a0 u8 a8 u9 a9"],
  ["half", "u0 a0 u5 a5 u6 a6 u7 a7 u8 a8 u9 a9"],
  ["quarter", "u0 a0 u7 a7 u8 a8 u9 a9"],
] as const)("%s of a talk of ten questions", (keep, left) => {
  expect(words(cut(chat, keep))).toBe(left);
});

test("in a long loop of one question, exchanges go from the middle, and the newest stays", () => {
  const loop = [
    user("do it"),
    ...Array.from({ length: 8 }, (_, index) => exchange(`c${index}`)).flat(),
  ];
  expect(words(cut(loop, "none"))).toBe("do it c0 r c7 r");
  expect(words(cut(loop, "half"))).toBe("do it c0 r c4 r c5 r c6 r c7 r");
});

test.each([
  ["none", "u0 a0 do it c7 r"],
  ["lastTwo", "u0 a0 do it c5 r c6 r c7 r"],
  ["half", "u0 a0 do it c3 r c4 r c5 r c6 r c7 r"],
  ["quarter", "u0 a0 do it c5 r c6 r c7 r"],
] as const)("%s of a session whose work all follows the user's last words", (keep, left) => {
  const work = Array.from({ length: 8 }, (_, index) => exchange(`c${index}`)).flat();
  const session = [user("u0"), assistant("a0"), user("do it"), ...work];
  expect(words(cut(session, keep))).toBe(left);
});

test("half of a session with work before and after the user's last words", () => {
  const work = (from: number): Message[] =>
    Array.from({ length: 4 }, (_, index) => exchange(`c${from + index}`)).flat();
  const session = [
    user("u0"),
    assistant("a0"),
    ...work(0),
    assistant("a1"),
    user("u1"),
    ...work(4),
  ];
  expect(words(cut(session, "half"))).toBe("u0 a0 u1 c4 r c5 r c6 r c7 r");
  expect(words(cut(session, "quarter"))).toBe("u0 a0 u1 c5 r c6 r c7 r");
});

test.each([
  [[]],
  [[user("a")]],
  [[user("a"), assistant("b")]],
  [[user("a"), assistant("b"), user("c")]],
])("a conversation of so little has nothing to cut: %#", (messages) => {
  expect(truncationRanges(messages, splitUnits(messages), "none")).toEqual([]);
});

/** A valid conversation: the user speaks, and the model answers at once or after some exchanges. */
const round = fc.record({ exchanges: fc.nat(3), isAnswered: fc.boolean() });
const conversation = fc.array(round, { minLength: 1, maxLength: 8 }).map((rounds) => {
  let id = 0;
  return rounds.flatMap(({ exchanges, isAnswered }, index) => {
    const calls = Array.from({ length: exchanges }, () => exchange(`c${++id}`)).flat();
    const isLast = index === rounds.length - 1;
    return [
      user(`u${index}`),
      ...calls,
      ...(isLast && !isAnswered ? [] : [assistant(`a${index}`)]),
    ];
  });
});

test("what is left alternates, keeps its pairs, its beginning and the user's last words", () => {
  fc.assert(
    fc.property(
      conversation,
      fc.constantFrom<Keep>("none", "lastTwo", "half", "quarter"),
      (messages, keep) => {
        const left = cut(messages, keep);
        const sides = left.map(({ role }) => (role === "tool" ? "user" : role));
        for (const [index, side] of sides.entries()) expect(side).not.toBe(sides[index - 1]);
        const ids = (kind: "tool-call" | "tool-result"): string[] =>
          left.flatMap(({ parts }) =>
            parts.flatMap((part) =>
              part.kind !== kind
                ? []
                : [part.kind === "tool-call" ? part.id : (part as { callId: string }).callId],
            ),
          );
        expect(ids("tool-call")).toEqual(ids("tool-result"));
        const lastUser = messages.findLastIndex(({ role }) => role === "user");
        expect(left.slice(0, 2)).toEqual(messages.slice(0, 2));
        expect(left).toEqual(expect.arrayContaining([messages[lastUser]]));
        expect(left.at(-1)).toBe(messages.at(-1));
      },
    ),
    tries({ runs: 500, seed: 20261116 }),
  );
});

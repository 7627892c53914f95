/** Truncation to a number of tokens: which units are removed, which never are, and how deep the cut is. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import type { Message, Part } from "../../message/message.ts";
import type { Goal, VisibleConversation, VisibleMessage } from "../../message/strategy.ts";
import { splitUnits } from "../../message/unit.ts";
import { cutToFit } from "./cut-to-fit.ts";

type Said = Message & { readonly tokens?: number; readonly isPinned?: boolean };

const UNIT_TOKENS = 100;
/** Tokens reserved for the notice. */
const NOTICE_TOKENS = 80;

const text = (words: string): Part => ({ kind: "text", text: words });
const user = (words: string): Said => ({ role: "user", parts: [text(words)] });
const assistant = (words: string): Said => ({ role: "assistant", parts: [text(words)] });
const system = (words: string): Said => ({ role: "system", parts: [text(words)] });
const call = (id: string): Said => ({
  role: "assistant",
  parts: [{ kind: "tool-call", id, name: "t", input: "{}" }],
});
const result = (id: string): Said => ({
  role: "tool",
  parts: [{ kind: "tool-result", callId: id, content: [text(`r${id}`)], isError: false }],
});
const exchange = (id: string): readonly Said[] => [call(id), result(id)];

function seenOf(said: readonly Said[], important: readonly string[] = []): VisibleConversation {
  const messages = said.map(
    ({ tokens = UNIT_TOKENS, isPinned = false, ...message }, number): VisibleMessage => ({
      message,
      number,
      tokens,
      bytes: tokens * 4,
      isPinned,
    }),
  );
  const areas = [{ name: "important", priority: 1 as const, patterns: important }];
  return {
    messages,
    units: splitUnits(said, areas),
    tokens: messages.reduce((sum, { tokens }) => sum + tokens, 0),
    mustAlternate: true,
    hasArchive: true,
    weigh: async (all) => all.map(() => UNIT_TOKENS),
  };
}

/** The product's goal: at most half of the limit, and not much less. */
function goalFor(limitTokens: number): Goal {
  return {
    limitTokens,
    tokens: Math.floor(limitTokens * 0.5),
    floorTokens: Math.floor(limitTokens * 0.43),
  };
}

/** The remaining messages by their first words, with "|" at every cut. */
function leftOf(seen: VisibleConversation, goal: Goal): string {
  const ranges = cutToFit(seen, goal);
  return seen.messages
    .flatMap(({ message: { parts } }, index) => {
      if (ranges.some(({ first }) => first === index)) return ["|"];
      if (ranges.some(({ first, last }) => first < index && index <= last)) return [];
      const [part] = parts;
      if (part?.kind === "text") return [part.text];
      return part?.kind === "tool-call" ? [`c${part.id}`] : ["r"];
    })
    .join(" ");
}

const talk = (rounds: number): readonly Said[] =>
  Array.from({ length: rounds }, (_, index) => [user(`u${index}`), assistant(`a${index}`)]).flat();
const loop = (calls: number): readonly Said[] => [
  user("do"),
  ...Array.from({ length: calls }, (_, index) => exchange(String(index))).flat(),
];

describe("how deep", () => {
  test("what has reached its goal stays as it is", () => {
    const seen = seenOf(talk(5));
    const goal = { limitTokens: 2160, tokens: 1000 + NOTICE_TOKENS, floorTokens: 900 };
    expect(cutToFit(seen, goal)).toEqual([]);
  });

  test("the oldest go first, as far as half of the limit and in one piece", () => {
    expect(leftOf(seenOf(talk(10)), goalFor(2000))).toBe("u0 a0 | a6 u7 a7 u8 a8 u9 a9");
  });

  test("one large unit more would empty the view: what is left without it is deep enough", () => {
    const large = { ...assistant("large"), tokens: 700 };
    const said = [...talk(4), user("u4"), large, ...talk(2)];
    const seen = seenOf(said);
    const goal: Goal = { limitTokens: 1900, tokens: 900, floorTokens: 800 };
    const left = leftOf(seen, goal);
    expect(left).toContain("large");
    expect(left).toContain("|");
  });

  test("but not when what is left is still far from the goal", () => {
    const large = { ...assistant("large"), tokens: 5000 };
    const said = [user("u0"), assistant("a0"), user("u1"), large, user("u2"), assistant("a2")];
    expect(leftOf(seenOf(said), goalFor(2000))).toBe("u0 a0 | u2 a2");
  });
});

describe("what stays", () => {
  const tight: Goal = { limitTokens: 0, tokens: 0, floorTokens: 0 };

  test("of a talk: the first question and the last, and an answer between them while there is room", () => {
    const seen = seenOf([...talk(6), user("now")]);
    expect(leftOf(seen, { ...tight, limitTokens: 400 })).toBe("u0 a0 | now");
    expect(leftOf(seen, tight)).toBe("u0 | now");
  });

  test("of a loop: the question and the newest exchange", () => {
    expect(leftOf(seenOf(loop(6)), tight)).toBe("do | c5 r");
  });

  test("the first answer, unless the limit itself demands it", () => {
    expect(leftOf(seenOf(talk(6)), { ...tight, limitTokens: 600 })).toBe("u0 a0 | u5 a5");
  });

  test("what is important, unless the limit itself demands it", () => {
    const seen = seenOf(talk(6), ["a2"]);
    expect(leftOf(seen, { ...tight, limitTokens: 700 })).toBe("u0 a0 | a2 | u5 a5");
    expect(leftOf(seen, tight)).not.toContain("a2");
  });

  test("what is pinned, whatever the limit", () => {
    const said = talk(6).map((one, index) => ({ ...one, isPinned: index === 5 }));
    expect(leftOf(seenOf(said), tight)).toContain("a2");
  });

  test("a pin on one message of an exchange holds all of it", () => {
    const said = loop(5).map((one, index) => ({ ...one, isPinned: index === 6 }));
    expect(leftOf(seenOf(said), tight)).toContain("c2 r");
  });

  test("the system prompt, and instructions in mid-conversation", () => {
    const said = [system("s0"), ...talk(3), system("s1"), ...talk(3)];
    const left = leftOf(seenOf(said), tight);
    expect(left.startsWith("s0 u0")).toBe(true);
    expect(left).toContain("s1");
  });

  test("a summary that the provider itself put there", () => {
    const summary: Said = {
      role: "assistant",
      parts: [{ kind: "opaque", type: "compaction", json: {} }],
    };
    const seen = seenOf([...talk(2), user("u"), summary, ...talk(3)]);
    const [range] = cutToFit(seen, tight);
    const cut = cutToFit(seen, tight).flatMap(({ first, last }) =>
      seen.messages.slice(first, last + 1).map(({ message }) => message),
    );
    expect(range).toBeDefined();
    expect(cut).not.toContainEqual(expect.objectContaining({ parts: summary.parts }));
  });

  test.each([
    ["nothing", []],
    ["one question", [user("u")]],
    ["one question and its answer", talk(1)],
    ["a result without its call", [result("1")]],
    ["no user at all", [assistant("a")]],
  ])("%s: there is nothing to cut", (_, said) => {
    expect(cutToFit(seenOf(said), tight)).toEqual([]);
  });

  test("of a conversation of nothing but the model's words, the newest", () => {
    const said = [assistant("a0"), assistant("a1"), assistant("a2"), assistant("a3")];
    expect(leftOf(seenOf(said), tight).endsWith("a3")).toBe(true);
  });
});

describe("where two messages of the user's side would come together", () => {
  const goal: Goal = { limitTokens: 700, tokens: 350, floorTokens: 301 };

  test("the user spoke right after a result: what is large goes all the same", () => {
    const large = [call("1"), { ...result("1"), tokens: 500 }];
    const said = [user("u0"), ...exchange("0"), ...large, user("wait"), ...exchange("2")];
    const seen = { ...seenOf(said), mustAlternate: false };
    const cut = cutToFit(seen, goal);
    const left = seen.tokens - tokensIn(seen, cut) + NOTICE_TOKENS * cut.length;
    expect(left).toBeLessThanOrEqual(goal.limitTokens);
  });

  test("a small answer may stay so that a large exchange can go", () => {
    const large = [call("1"), { ...result("1"), tokens: 500 }];
    const seen = seenOf([
      user("u0"),
      ...exchange("0"),
      { ...assistant("small"), tokens: 10 },
      user("u1"),
      ...large,
      user("wait"),
      ...exchange("2"),
    ]);
    const cut = cutToFit(seen, { ...goal, limitTokens: 900 });
    const left = seen.tokens - tokensIn(seen, cut) + NOTICE_TOKENS * cut.length;
    expect(left).toBeLessThanOrEqual(900);
  });
});

function tokensIn(
  { messages }: VisibleConversation,
  ranges: readonly { readonly first: number; readonly last: number }[],
): number {
  const cut = ranges.flatMap(({ first, last }) => messages.slice(first, last + 1));
  return cut.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Rounds of all sizes: a question, a few exchanges and an answer. */
const conversation = fc
  .array(
    fc.record({
      calls: fc.nat(3),
      tokens: fc.integer({ min: 1, max: 900 }),
      isInstructed: fc.nat(9).map((number) => number === 0),
      isPinned: fc.nat(9).map((number) => number === 0),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((rounds) => {
    let id = 0;
    return rounds.flatMap(({ calls, tokens, isInstructed, isPinned }, index): readonly Said[] =>
      [
        ...(isInstructed ? [system(`s${index}`)] : []),
        user(`u${index}`),
        ...Array.from({ length: calls }, () => exchange(String(++id))).flat(),
        assistant(`a${index}`),
      ].map((said) => ({ ...said, tokens, isPinned })),
    );
  });

test("ranges are whole units, in order and apart, and touch nothing that must stay", () => {
  fc.assert(
    fc.property(conversation, fc.nat(9000), (said, limit) => {
      const seen = seenOf(said);
      const ranges = cutToFit(seen, goalFor(limit));
      const starts = new Set(seen.units.map(({ first }) => first));
      const ends = new Set(seen.units.map(({ last }) => last));
      const lastUser = said.findLastIndex(({ role }) => role === "user");
      const firstUser = said.findIndex(({ role }) => role === "user");
      let end = -1;
      for (const { first, last } of ranges) {
        expect(starts).toContain(first);
        expect(ends).toContain(last);
        // Two adjacent ranges would have been merged into one.
        expect(first).toBeGreaterThan(end + 1 - Number(end < 0));
        end = last;
        for (const index of [firstUser, lastUser, said.length - 1])
          expect(first <= index && index <= last).toBe(false);
        const cut = said.slice(first, last + 1);
        expect(cut.some(({ isPinned, role }) => isPinned || role === "system")).toBe(false);
        // Two user messages can be joined. Results and a user message after them cannot.
        const sides = [said[first - 1]?.role, said[last + 1]?.role];
        expect(sides).not.toEqual(["tool", "user"]);
      }
    }),
    tries({ runs: 300, seed: 7 }),
  );
});

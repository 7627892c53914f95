/** A summary replaces the oldest part: how much of it, what is kept with it, and when the summary is not used. */

import { describe, expect, test } from "vitest";
import { assistant, exchange, numbersOf, prose, shell, user } from "../../../test/generate/said.ts";
import {
  type Applied,
  applyProposals,
  count,
  HANDLE,
  type Seeing,
  seenFrom,
} from "../../../test/generate/seen.ts";
import { AREAS } from "../../../test/generate/talks.ts";
import type { Message } from "../../message/message.ts";
import type { Goal, Proposal, VisibleConversation } from "../../message/strategy.ts";
import { simulateConversation, simulatedAreas } from "../../simulate/simulate.ts";
import {
  type SummarizeOldParts,
  type SummarizeOldSettings,
  summarizeOld,
} from "./summarize-old.ts";

const tight: Goal = { limitTokens: 2000, tokens: 100, floorTokens: 0 };

interface Wish {
  readonly settings?: SummarizeOldSettings;
  readonly parts?: Partial<SummarizeOldParts>;
  readonly goal?: Goal;
  readonly seeing?: Seeing;
}

function propose(conversation: VisibleConversation, wish: Wish = {}): readonly Proposal[] {
  const strategy = summarizeOld(wish.settings ?? {}, { count, ...wish.parts });
  return strategy.propose(conversation, wish.goal ?? tight) as readonly Proposal[];
}

function apply(messages: readonly Message[], wish: Wish = {}): Applied {
  const before = seenFrom(messages, wish.seeing);
  return applyProposals(before, propose(before, wish), wish.seeing);
}

function summaryOf({ texts }: Applied): string {
  return texts.find(({ kind }) => kind === "summary")?.text ?? "";
}

/** A head and ten units of 300 tokens: 0 is the head, 11 the user's last words, 12 and 13 the newest unit. */
const ten = (about = "cargo"): readonly Message[] => [
  user("Mend the harbour fee. Never change the tests."),
  ...Array.from({ length: 10 }, (_, at) => assistant(prose(`${about} ${at}`, 300))),
  user("go on"),
  ...shell("make", "ok"),
];

describe("how much is old", () => {
  test("document A: splitIndex is floor(units.length × oldThreshold), and the head stays", () => {
    // There are 13 units, so the first 7 of them.
    expect(numbersOf(apply(ten()).conversation)).toEqual([0, 7, 8, 9, 10, 11, 12, 13]);
  });

  test.each([
    [0, 10],
    [0.25, 8],
    [0.5, 5],
    [1, 0],
  ])("old_threshold %d leaves %d of the ten", (old_threshold, left) => {
    const numbers = numbersOf(apply(ten(), { settings: { old_threshold } }).conversation);
    expect(numbers.filter((number) => number >= 1 && number <= 10).length).toBe(left);
  });

  test("no more than the goal asks for", () => {
    const goal = { limitTokens: 3000, tokens: 2600, floorTokens: 2000 };
    const numbers = numbersOf(apply(ten(), { goal }).conversation);
    expect(numbers.slice(0, 4)).toEqual([0, 4, 5, 6]);
  });

  test("nothing while it fits", () => {
    const goal = { limitTokens: 9000, tokens: 8000, floorTokens: 0 };
    expect(propose(seenFrom(ten()), { goal })).toEqual([]);
  });

  test("nothing when nothing stands behind the head", () => {
    expect(propose(seenFrom([user(prose("cargo", 900))]))).toEqual([]);
  });

  test("an exchange is folded whole or not at all", () => {
    const messages = [
      user("do it"),
      ...Array.from({ length: 9 }, (_, at) => shell(`run ${at}`, prose("log", 200))).flat(),
    ];
    const { conversation } = apply(messages);
    for (const { isExchange, first, last } of conversation.units)
      if (isExchange) expect(last - first).toBe(1);
  });
});

describe("the summary", () => {
  const rich = (): readonly Message[] => [
    user("Mend the fee in src/fee.ts."),
    user("Always keep the public names."),
    assistant("We decided to use integers instead of floats."),
    ...exchange(
      "bash",
      { command: "npm test" },
      `Error: rate 4711 is over the limit\n<returncode>1</returncode>\n${prose("log", 600)}`,
    ),
    assistant(prose("ballast", 400)),
    assistant(prose("tide", 400)),
    assistant(prose("pilot", 100)),
    user("go on"),
    ...shell("make", "ok"),
  ];

  test("stands behind the head and shows the handle", () => {
    const applied = apply(rich());
    expect(applied.texts.find(({ kind }) => kind === "summary")?.before).toBe(1);
    expect(summaryOf(applied)).toContain(HANDLE);
  });

  test("says rules, decisions, commands and errors with the numbers of their messages", () => {
    const summary = summaryOf(apply(rich()));
    expect(summary).toContain("#1 Always keep the public names.");
    expect(summary).toMatch(/#2 .*integers instead of floats/);
    expect(summary).toContain("npm test");
    expect(summary).toContain("rate 4711");
  });

  test.each([80, 300, 900])("has about %d tokens at most", (summary_length) => {
    const messages = simulateConversation({ tokens: 20_000, seed: 5 });
    const summary = summaryOf(apply(messages, { settings: { summary_length } }));
    // Room for the notice and the headings of the names.
    expect(count(summary)).toBeLessThanOrEqual(summary_length + 60);
  });

  test("names what the rest refers to and nobody else says", () => {
    const messages = [
      user("do it"),
      assistant(`I made settle_cargo_17 in src/deep/settle.py. ${prose("cargo", 900)}`),
      assistant(prose("tide", 900)),
      assistant("settle_cargo_17 is slow."),
      user("mend settle_cargo_17"),
      ...shell("make", "ok"),
    ];
    expect(summaryOf(apply(messages, { settings: { summary_length: 60 } }))).toContain(
      "settle_cargo_17",
    );
  });

  test("takes no more than half of what a narrow window leaves beside what must stay", () => {
    const messages = [user(prose("harbour fee", 1_500)), ...rich().slice(1)];
    const goal = { limitTokens: 1_700, tokens: 800, floorTokens: 0 };
    const wide = { limitTokens: 4_000, tokens: 800, floorTokens: 0 };
    const narrow = count(summaryOf(apply(messages, { goal })));
    expect(narrow).toBeLessThan(110);
    expect(count(summaryOf(apply(messages, { goal: wide })))).toBeGreaterThan(narrow);
  });

  test("is never larger than what it stands for", () => {
    const small = [
      user("do it"),
      ...Array.from({ length: 8 }, (_, at) => assistant(`Rule ${at}: never do ${at}.`)),
      user("go"),
      ...shell("a", "b"),
    ];
    const before = seenFrom(small);
    const proposals = propose(before, { settings: { summary_length: 5000 } });
    if (proposals.length > 0)
      expect(applyProposals(before, proposals).conversation.tokens).toBeLessThan(before.tokens);
  });

  test("an earlier one is merged, not summarised again", () => {
    const first = apply(rich());
    const grown = [...first.conversation.messages.map(({ message }) => message), ...ten().slice(1)];
    const summary = summaryOf(first);
    const before = { ...seenFrom(grown), summary };
    const again = applyProposals(before, propose(before, { settings: { summary_length: 600 } }));
    expect(summaryOf(again)).toContain("#1 Always keep the public names.");
    expect(summaryOf(again).match(/\[Plimsoll:/g)?.length).toBe(1);
  });

  test("has no mark before it, and marks further ranges", () => {
    const messages = [
      user("do it"),
      assistant(prose("one", 500)),
      assistant(`To Do List: ${prose("two", 100)}`),
      assistant(prose("three", 500)),
      assistant(prose("four", 500)),
      user("go on"),
      ...shell("make", "ok"),
    ];
    const { texts } = apply(messages, {
      seeing: { areas: AREAS },
      settings: { old_threshold: 0.9 },
    });
    const marks = texts.filter(({ kind }) => kind === "mark").map(({ text }) => text);
    expect(marks).toEqual(["[… 2 messages, #3–#4]"]);
  });
});

describe("what has priority 1", () => {
  const seeing = { areas: AREAS };

  test("stays between the ranges that are folded", () => {
    const messages = ten().map((message, at) =>
      at === 3 ? assistant(`To Do List: ${prose("x", 200)}`) : message,
    );
    expect(numbersOf(apply(messages, { seeing }).conversation)).toContain(3);
  });

  const allImportant = ten().map((message, at) =>
    at >= 1 && at <= 10 ? assistant(`To Do List: ${prose(`cargo ${at}`, 290)}`) : message,
  );

  test("is folded only when everything old has it and the limit demands it", () => {
    const enough = { limitTokens: 9000, tokens: 100, floorTokens: 0 };
    expect(propose(seenFrom(allImportant, seeing), { goal: enough })).toEqual([]);
    expect(propose(seenFrom(allImportant, seeing)).length).toBeGreaterThan(0);
  });

  test("gets a summary of twice the length then", () => {
    const asked: number[] = [];
    const summarise = ({ tokens }: { readonly tokens: number }): { readonly text: string } => {
      asked.push(tokens);
      return { text: "cargo" };
    };
    propose(seenFrom(allImportant, seeing), { parts: { summarise } });
    propose(seenFrom(ten()), { parts: { summarise } });
    expect((asked[0] ?? 0) / (asked[1] ?? 1)).toBeCloseTo(2, 1);
  });
});

describe("a summary that cannot be used", () => {
  const kinds = (conversation: VisibleConversation, text: string): readonly string[] =>
    propose(conversation, { parts: { summarise: () => ({ text }) } }).map(({ kind }) => kind);

  test("one that is made up is not: that part is truncated instead", () => {
    const invented = "The captain sailed to Lisbon with forty crates of oranges and a parrot.";
    expect(kinds(seenFrom(ten()), invented)).toEqual(["summary", "remove"]);
  });

  test("one that is true is", () => {
    expect(kinds(seenFrom(ten()), "The cargo 3 was looked at again.")).toEqual(["summary", "fold"]);
  });

  test.each([
    ["an empty one", ""],
    ["a blank one", " \n "],
    ["one that is longer than its source", prose("cargo", 9000)],
  ])("%s is not", (_, text) => {
    expect(kinds(seenFrom(ten()), text)).toEqual(["summary", "remove"]);
  });

  test("the text left behind then shows the handle, and what was removed is marked", () => {
    const applied = apply(ten(), { parts: { summarise: () => ({ text: "" }) } });
    expect(summaryOf(applied)).toContain(HANDLE);
    expect(applied.texts.filter(({ kind }) => kind === "mark").length).toBe(1);
  });

  test("an earlier summary survives it", () => {
    const before = {
      ...seenFrom(ten()),
      summary: `[Plimsoll: ${HANDLE}]\n## Rules\n- #1 Never sleep.`,
    };
    const applied = applyProposals(
      before,
      propose(before, { parts: { summarise: () => ({ text: "" }) } }),
    );
    expect(summaryOf(applied)).toContain("- #1 Never sleep.");
  });
});

describe("odd conversations", () => {
  test("pins stay inside the old part", () => {
    expect(numbersOf(apply(ten(), { seeing: { pinned: [2, 5] } }).conversation)).toEqual([
      0, 2, 5, 7, 8, 9, 10, 11, 12, 13,
    ]);
  });

  test.each(["giant", "fragmented", "misclassified"] as const)(
    "a %s conversation becomes smaller or stays",
    (shape) => {
      const before = seenFrom(simulateConversation({ tokens: 15_000, seed: 2, shape }), {
        areas: simulatedAreas,
      });
      const { conversation } = applyProposals(before, propose(before), { areas: simulatedAreas });
      expect(conversation.tokens).toBeLessThanOrEqual(before.tokens);
    },
  );
});

/** Placeholders replace the least relevant units. If too much would be lost, a summary replaces them. */

import { describe, expect, test } from "vitest";
import { assistant, numbersOf, prose, shell, system, user } from "../../../test/generate/said.ts";
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
import { simulateConversation } from "../../simulate/simulate.ts";
import { createRelevance, type Relevance } from "../relevance/relevance.ts";
import { type DiscardLowRelSettings, discardLowRel } from "./discard-low-rel.ts";

const tight: Goal = { limitTokens: 2000, tokens: 100, floorTokens: 0 };

interface Wish {
  readonly texts?: "documents";
  readonly settings?: DiscardLowRelSettings;
  readonly relevance?: Relevance;
  readonly goal?: Goal;
  readonly seeing?: Seeing;
}

function scored(scoreOf: (unit: number) => number): Relevance {
  return { of: ({ units }) => Promise.resolve(units.map((_, unit) => scoreOf(unit))) };
}

function propose(conversation: VisibleConversation, wish: Wish = {}): Promise<readonly Proposal[]> {
  const relevance = wish.relevance ?? scored((unit) => unit / 100);
  const strategy = discardLowRel(wish.settings ?? {}, { count, relevance, texts: wish.texts });
  return Promise.resolve(strategy.propose(conversation, wish.goal ?? tight));
}

async function apply(messages: readonly Message[], wish: Wish = {}): Promise<Applied> {
  const before = seenFrom(messages, wish.seeing);
  return applyProposals(before, await propose(before, wish), wish.seeing);
}

async function gone(messages: readonly Message[], wish: Wish = {}): Promise<readonly number[]> {
  const left = new Set(numbersOf((await apply(messages, wish)).conversation));
  return messages.flatMap((_, number) => (left.has(number) ? [] : [number]));
}

async function marks(messages: readonly Message[], wish: Wish = {}): Promise<readonly string[]> {
  const { texts } = await apply(messages, wish);
  return texts.filter(({ kind }) => kind === "mark").map(({ text }) => text);
}

/** 0 is the head, 1–10 are units of 300 tokens, 11 the user's last words, 12 and 13 the newest unit. 13 units in all. */
const ten: readonly Message[] = [
  user("Mend the harbour fee."),
  ...Array.from({ length: 10 }, (_, at) => assistant(prose(`cargo ${at}`, 300))),
  user("go on"),
  ...shell("make", "ok"),
];
const tagged = (tag: string, isTagged: (at: number) => boolean): readonly Message[] =>
  ten.map((message, at) =>
    at >= 1 && at <= 10 && isTagged(at) ? assistant(`${tag}: ${prose(`x ${at}`, 290)}`) : message,
  );
const seeing = { areas: AREAS };

describe("what goes", () => {
  test("30 % of all units, those with the lowest relevance", async () => {
    expect(await gone(ten)).toEqual([1, 2, 3]);
    const relevance = scored((unit) => -unit);
    expect(await gone(ten, { relevance })).toEqual([8, 9, 10]);
  });

  test.each([
    [0, 0],
    [0.1, 1],
    [0.5, 6],
    [1, 10],
  ])("discard_percent %d takes %d", async (discard_percent, number) => {
    expect((await gone(ten, { settings: { discard_percent } })).length).toBe(number);
  });

  test("no more than the goal asks for", async () => {
    const goal = { limitTokens: 3200, tokens: 3000, floorTokens: 0 };
    expect(await gone(ten, { goal })).toEqual([1]);
  });

  test("nothing while it fits", async () => {
    const goal = { limitTokens: 9000, tokens: 8000, floorTokens: 0 };
    expect(await propose(seenFrom(ten), { goal })).toEqual([]);
  });

  test("priority 3 first, however relevant", async () => {
    const relevance = scored((unit) => (unit >= 7 ? 0.9 : 0.1));
    const messages = tagged("Scratch note", (at) => at >= 8);
    expect(await gone(messages, { relevance, seeing })).toEqual([8, 9, 10]);
  });

  test("then priority 2, and never 1 while anything else is left", async () => {
    const messages = tagged("To Do List", (at) => at !== 9);
    expect(await gone(messages, { seeing })).toEqual([9]);
  });

  test("priority 1 when there is nothing else, as far as the limit demands", async () => {
    const messages = tagged("To Do List", () => true);
    expect((await gone(messages, { seeing })).length).toBe(3);
    const goal = { limitTokens: 9000, tokens: 100, floorTokens: 0 };
    expect(await gone(messages, { seeing, goal })).toEqual([]);
  });

  test("of two equals the older one", async () => {
    expect(await gone(ten, { relevance: scored(() => 0.5) })).toEqual([1, 2, 3]);
  });

  test("never the head, the user's last words, the newest unit, pins or instructions", async () => {
    const messages = [...ten.slice(0, 4), system("Be brief."), ...ten.slice(4)];
    const wish = { settings: { discard_percent: 1 }, seeing: { pinned: [2] } };
    const left = numbersOf((await apply(messages, wish)).conversation);
    expect(left).toEqual([0, 2, 4, 12, 13, 14]);
  });

  test("a call goes with its result", async () => {
    const calls = Array.from({ length: 8 }, (_, at) =>
      shell(`run ${at}`, prose(`log ${at}`, 300)),
    ).flat();
    expect(await gone([user("do it"), ...calls])).toEqual([1, 2, 3, 4]);
  });
});

describe("placeholders", () => {
  test("stand where the units stood, neighbours share one", async () => {
    const relevance = scored((unit) => ([2, 3, 7].includes(unit) ? 0 : 1));
    const { texts } = await apply(ten, { relevance });
    const placed = texts.filter(({ kind }) => kind === "mark");
    expect(placed.map(({ before, text }) => [before, text])).toEqual([
      [4, "[… 2 messages, #2–#3]"],
      [8, "[… message #7]"],
    ]);
  });

  test("texts: documents has the words of document A", async () => {
    const relevance = scored((unit) => ([2, 3, 7].includes(unit) ? 0 : 1));
    const wish = { relevance, texts: "documents" } as const;
    expect(await marks(ten, wish)).toEqual([
      "[Omitted low-relevance prior context]",
      "[Omitted low-relevance prior context]",
    ]);
    const settings = { placeholder_detail: "linked" } as const;
    const linked = `[Omitted – see archive: ${HANDLE}]`;
    expect(await marks(ten, { ...wish, settings })).toEqual([linked, linked]);
  });

  test("brief: one handle for all of them, behind the head", async () => {
    const { texts } = await apply(ten, { relevance: scored((unit) => unit % 3) });
    expect(texts.filter(({ text }) => text.includes(HANDLE)).map(({ kind }) => kind)).toEqual([
      "summary",
    ]);
  });

  test("linked: each has a handle of its own", async () => {
    const relevance = scored((unit) => ([2, 5, 8].includes(unit) ? 0 : 1));
    const settings = { placeholder_detail: "linked" } as const;
    const placed = await marks(ten, { relevance, settings });
    expect(placed).toEqual(
      [2, 5, 8].map((number) => `[… message #${number}: kept under ${HANDLE}]`),
    );
  });

  test("a unit that is as short as its placeholder stays", async () => {
    const messages = ten.map((message, at) => (at === 2 ? assistant("ok") : message));
    const relevance = scored((unit) => ([2, 5, 8].includes(unit) ? 0 : 1));
    expect(await gone(messages, { relevance })).toEqual([5, 8]);
  });

  test("nothing goes when the notice would cost as much", async () => {
    const tiny = [
      user("do it"),
      ...Array.from({ length: 9 }, () => assistant("ok then")),
      user("go"),
      ...shell("a", "b"),
    ];
    const goal = { limitTokens: 10, tokens: 5, floorTokens: 0 };
    expect(await propose(seenFrom(tiny), { goal })).toEqual([]);
  });

  test("an earlier summary is carried on", async () => {
    const before = {
      ...seenFrom(ten),
      summary: `[Plimsoll: ${HANDLE}]\n## Rules\n- #1 Never sleep.`,
    };
    const { texts } = applyProposals(before, await propose(before));
    expect(texts.find(({ kind }) => kind === "summary")?.text).toContain("- #1 Never sleep.");
  });
});

describe("when what is left would not be like the whole", () => {
  const words = Array.from({ length: 900 }, (_, at) => `item${at}x`).join(" ");
  /** One unit contains nearly all of the words. */
  const heavy: readonly Message[] = [
    user("Mend the fee."),
    assistant(`We decided to use integers instead of floats in src/fee.ts. ${words}`),
    assistant("Yes."),
    assistant("No."),
    user("go on"),
    ...shell("make", "ok"),
  ];

  test("it is undone, and what would have gone is summarised", async () => {
    const kinds = (await propose(seenFrom(heavy))).map(({ kind }) => kind);
    expect(kinds).toEqual(["summary", "fold"]);
  });

  test("the summary says what was decided", async () => {
    const { texts } = await apply(heavy);
    const summary = texts.find(({ kind }) => kind === "summary")?.text;
    expect(summary).toContain("integers instead of floats");
    expect(summary).toContain(HANDLE);
  });

  test("and is far smaller than what it stands for", async () => {
    const before = seenFrom(heavy);
    const { conversation } = applyProposals(before, await propose(before));
    expect(conversation.tokens).toBeLessThan(before.tokens * 0.5);
  });

  test("an earlier summary is merged into it", async () => {
    const before = {
      ...seenFrom(heavy),
      summary: `[Plimsoll: ${HANDLE}]\n## Rules\n- #1 Never sleep.`,
    };
    const { texts } = applyProposals(before, await propose(before));
    expect(texts.find(({ kind }) => kind === "summary")?.text).toContain("Never sleep.");
  });
});

describe("odd conversations", () => {
  test.each(["giant", "fragmented", "misclassified"] as const)(
    "a %s one becomes smaller or stays",
    async (shape) => {
      const before = seenFrom(simulateConversation({ tokens: 15_000, seed: 2, shape }));
      const proposals = await propose(before, { relevance: createRelevance({}) });
      const { conversation } = applyProposals(before, proposals);
      expect(conversation.tokens).toBeLessThanOrEqual(before.tokens);
    },
  );
});

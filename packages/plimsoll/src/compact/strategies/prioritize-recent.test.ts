/** Recent and relevant units stay. The others are removed until the goal is met, the least relevant first. */

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
import { type PrioritizeRecentSettings, prioritizeRecent } from "./prioritize-recent.ts";

const tight: Goal = { limitTokens: 200, tokens: 100, floorTokens: 0 };

interface Wish {
  readonly settings?: PrioritizeRecentSettings;
  readonly relevance?: Relevance;
  readonly goal?: Goal;
  readonly seeing?: Seeing;
}

/** A relevance that the test sets directly. */
function scored(scoreOf: (unit: number) => number): Relevance {
  return { of: ({ units }) => Promise.resolve(units.map((_, unit) => scoreOf(unit))) };
}

function propose(conversation: VisibleConversation, wish: Wish = {}): Promise<readonly Proposal[]> {
  const relevance = wish.relevance ?? createRelevance({});
  const strategy = prioritizeRecent(wish.settings ?? {}, { count, relevance });
  return Promise.resolve(strategy.propose(conversation, wish.goal ?? tight));
}

async function apply(messages: readonly Message[], wish: Wish = {}): Promise<Applied> {
  const before = seenFrom(messages, wish.seeing);
  return applyProposals(before, await propose(before, wish), wish.seeing);
}

async function left(messages: readonly Message[], wish: Wish = {}): Promise<readonly number[]> {
  return numbersOf((await apply(messages, wish)).conversation);
}

/** 0 is the head, 1–10 are units of 300 tokens, 11 the user's last words, 12 and 13 the newest unit. 13 units in all. */
const ten: readonly Message[] = [
  user("Mend the harbour fee."),
  ...Array.from({ length: 10 }, (_, at) => assistant(prose(`cargo ${at}`, 300))),
  user("go on"),
  ...shell("make", "ok"),
];
const everything = Array.from({ length: 14 }, (_, number) => number);
const none = scored(() => 0);
const all = scored(() => 1);
const even = scored((unit) => (unit % 2 === 0 ? 0.9 : 0.1));

describe("what stays", () => {
  test("the last fifth of the units, whatever they are about", async () => {
    expect(await left(ten, { relevance: none })).toEqual([0, 10, 11, 12, 13]);
  });

  test.each([
    [0, [0, 11, 12, 13]],
    [0.5, [0, 6, 7, 8, 9, 10, 11, 12, 13]],
    [1, everything],
  ])("recent_bias %d", async (recent_bias, kept) => {
    expect(await left(ten, { relevance: none, settings: { recent_bias } })).toEqual(kept);
  });

  test("what is relevant enough", async () => {
    expect(await left(ten, { relevance: even })).toEqual([0, 2, 4, 6, 8, 10, 11, 12, 13]);
  });

  test.each([
    [0, everything],
    [0.05, everything],
    [0.95, [0, 10, 11, 12, 13]],
  ])("rel_threshold %d", async (rel_threshold, kept) => {
    expect(await left(ten, { relevance: even, settings: { rel_threshold } })).toEqual(kept);
  });

  test("relevance: cosine compares rel_threshold with the similarity of meaning, and not with a rank", async () => {
    /** Every unit is as near to the task as the first number says. */
    const embedded = (near: number) => {
      const others = Float32Array.from([near, Math.sqrt(1 - near ** 2)]);
      const embed = (texts: readonly string[]) =>
        Promise.resolve(
          texts.map((_, index) => (index === 0 ? Float32Array.from([1, 0]) : others)),
        );
      return createRelevance({ embedder: { name: "fake", embed }, now: () => 0 });
    };
    const settings = { relevance: "cosine" } as const;
    expect(await left(ten, { relevance: embedded(0.6), settings })).toEqual(everything);
    const far = await left(ten, { relevance: embedded(0.4), settings });
    expect(far).toEqual([0, 10, 11, 12, 13]);
    expect(await left(ten, { relevance: embedded(0.6) })).not.toEqual(everything);
  });

  test("a score of exactly the threshold is enough", async () => {
    expect(await left(ten, { relevance: scored(() => 0.5) })).toEqual(everything);
  });

  test("everything, when everything is relevant: nothing is proposed", async () => {
    expect(await propose(seenFrom(ten), { relevance: all })).toEqual([]);
  });

  test("everything, while it fits", async () => {
    const goal = { limitTokens: 9000, tokens: 8000, floorTokens: 0 };
    expect(await propose(seenFrom(ten), { relevance: none, goal })).toEqual([]);
  });

  test("more than the goal asks for does not go; the least relevant goes first", async () => {
    const goal = { limitTokens: 3000, tokens: 2600, floorTokens: 2000 };
    const relevance = scored((unit) => (unit === 5 ? 0.01 : unit === 2 ? 0.02 : 0.3));
    expect(await left(ten, { relevance, goal })).toEqual([0, 1, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13]);
  });

  test("a unit that would empty the view stays when the step is deep enough without it", async () => {
    const messages = ten.map((message, at) =>
      at === 1 ? assistant(prose("cargo", 1_500)) : message,
    );
    const goal = { limitTokens: 5_000, tokens: 4_000, floorTokens: 3_400 };
    expect(await left(messages, { relevance: none, goal })).toEqual(
      everything.filter((number) => number !== 2 && number !== 3),
    );
  });

  test("of two equals the older one goes first", async () => {
    const goal = { limitTokens: 3000, tokens: 2900, floorTokens: 2000 };
    expect(await left(ten, { relevance: none, goal })).toEqual(
      everything.filter((number) => number !== 1),
    );
  });

  test("pins and instructions", async () => {
    const messages = [...ten.slice(0, 4), system("Be brief."), ...ten.slice(4)];
    const kept = await left(messages, { relevance: none, seeing: { pinned: [2] } });
    expect(kept).toContain(2);
    expect(kept).toContain(4);
  });
});

describe("what may give way to nothing else", () => {
  test("a pin that could give way to the limit does not give way to a strategy", async () => {
    const before = seenFrom(ten);
    const messages = before.messages.map((seen) =>
      seen.number === 4 ? { ...seen, isPinned: true, mayGiveWay: true } : seen,
    );
    const pinned = { ...before, messages };
    const { conversation } = applyProposals(pinned, await propose(pinned, { relevance: none }));
    expect(numbersOf(conversation)).toContain(4);
  });

  test("the thinking with which an open loop of calls began, where a provider wants it", async () => {
    const thought: Message = {
      role: "assistant",
      parts: [{ kind: "reasoning", text: "hm", signature: "s" }],
    };
    const calls = Array.from({ length: 8 }, (_, at) =>
      shell(`run ${at}`, prose(`log ${at}`, 200)),
    ).flat();
    const [call, ...rest] = calls;
    const begun = { role: "assistant", parts: [...thought.parts, ...(call?.parts ?? [])] } as const;
    const messages = [user("do it"), begun, ...rest];
    const kept = await left(messages, { relevance: none, seeing: { mustAlternate: true } });
    expect(kept.slice(0, 3)).toEqual([0, 1, 2]);
    const free = await left(messages, { relevance: none });
    expect(free).not.toContain(1);
  });
});

describe("what has priority 1", () => {
  const important = (share: (at: number) => boolean): readonly Message[] =>
    ten.map((message, at) =>
      at >= 1 && at <= 10 && share(at)
        ? assistant(`To Do List: ${prose(`x ${at}`, 290)}`)
        : message,
    );
  const seeing = { areas: AREAS };

  test("counts as half as relevant again", async () => {
    const relevance = scored(() => 0.4);
    expect(
      await left(
        important((at) => at === 3),
        { relevance, seeing },
      ),
    ).toContain(3);
  });

  test("by as much as is set", async () => {
    const settings = { priority_boost: 1 };
    const messages = important(() => true);
    const boosted = await left(messages, { relevance: scored(() => 0.4), seeing });
    const plain = await left(messages, { relevance: scored(() => 0.4), seeing, settings });
    expect(boosted).toEqual(everything);
    expect(plain.length).toBeLessThan(boosted.length);
  });

  test("stays though it is not relevant, while others can go", async () => {
    const goal = { limitTokens: 1500, tokens: 900, floorTokens: 0 };
    const kept = await left(
      important((at) => at <= 2),
      { relevance: none, seeing, goal },
    );
    expect(kept).toEqual([0, 1, 2, 10, 11, 12, 13]);
  });

  test("goes only as far as the limit demands", async () => {
    const goal = { limitTokens: 2500, tokens: 200, floorTokens: 0 };
    const { conversation } = await apply(
      important(() => true),
      { relevance: none, seeing, goal },
    );
    expect(conversation.tokens).toBeLessThanOrEqual(2500);
    expect(conversation.tokens).toBeGreaterThan(2000);
  });
});

describe("what is left behind", () => {
  test("one notice with the handle behind the head, and marks where much is missing", async () => {
    const { texts } = await apply(ten, { relevance: even });
    expect(texts.filter(({ text }) => text.includes(HANDLE)).length).toBe(1);
    const { texts: wide } = await apply(ten, { relevance: none });
    expect(wide.filter(({ kind }) => kind === "mark").map(({ text }) => text)).toEqual([
      "[… 9 messages, #1–#9]",
    ]);
  });

  test("names that what stays refers to", async () => {
    const messages = [
      user("do it"),
      assistant(`I made settle_cargo_17. ${prose("cargo", 2000)}`),
      ...Array.from({ length: 8 }, (_, at) => assistant(prose(`tide ${at}`, 300))),
      assistant("settle_cargo_17 is slow."),
      user("mend settle_cargo_17"),
      ...shell("make", "ok"),
    ];
    const { texts } = await apply(messages, { relevance: none });
    expect(texts.find(({ kind }) => kind === "summary")?.text).toContain("settle_cargo_17");
  });

  test("an earlier summary", async () => {
    const before = {
      ...seenFrom(ten),
      summary: `[Plimsoll: ${HANDLE}]\n## Rules\n- #1 Never sleep.`,
    };
    const { texts } = applyProposals(before, await propose(before, { relevance: none }));
    expect(texts.find(({ kind }) => kind === "summary")?.text).toContain("- #1 Never sleep.");
  });

  test("nothing at all when the notice would cost as much as it saves", async () => {
    const tiny = [
      user("do it"),
      ...Array.from({ length: 4 }, () => assistant("ok")),
      user("go"),
      ...shell("a", "b"),
    ];
    const goal = { limitTokens: 10, tokens: 5, floorTokens: 0 };
    expect(await propose(seenFrom(tiny), { relevance: none, goal })).toEqual([]);
  });
});

describe("by real relevance", () => {
  test("what has the task's words stays, what has not goes", async () => {
    const messages = [
      user("Why does the berth calculator overcharge tankers?"),
      assistant(
        `The berth calculator charges tankers by length. ${prose("berth calculator of tankers", 200)}`,
      ),
      assistant(prose("weather in the mountains", 300)),
      assistant(prose("recipe of the soup", 300)),
      assistant(
        `Tankers pay twice in the berth calculator. ${prose("berth calculator of tankers", 200)}`,
      ),
      assistant(prose("music of the evening", 300)),
      assistant("The berth calculator is next."),
      user("So where does the berth calculator overcharge?"),
      ...shell("grep -n charge berth.py", "12: charge twice"),
    ];
    expect(await left(messages)).toEqual([0, 1, 4, 6, 7, 8, 9]);
  });

  test.each(["giant", "fragmented", "misclassified"] as const)(
    "a %s conversation becomes smaller or stays",
    async (shape) => {
      const before = seenFrom(simulateConversation({ tokens: 15_000, seed: 2, shape }));
      const { conversation } = applyProposals(before, await propose(before));
      expect(conversation.tokens).toBeLessThanOrEqual(before.tokens);
    },
  );
});

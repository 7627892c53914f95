/** The chain: its order, its hybrid rounds, and overflowing conversations that end below the limit and still make sense. */

import { describe, expect, test } from "vitest";
import { chainOn, viewOf } from "../../test/generate/chained.ts";
import { assistant, prose, shell, user } from "../../test/generate/said.ts";
import { count, seenFrom } from "../../test/generate/seen.ts";
import type { Goal, VisibleConversation } from "../message/strategy.ts";
import { type Simulation, simulateConversation, simulatedAreas } from "../simulate/simulate.ts";
import { type ChainSettings, strategiesFor } from "./chain.ts";
import { coherenceOf } from "./evidence/coherence.ts";

const seedOrder = [
  "summarize_old",
  "prioritize_recent",
  "content_type_chunking",
  "discard_low_rel",
  "hybrid",
] as const;

const namesFor = (settings?: ChainSettings): readonly string[] =>
  strategiesFor(settings, { count }).map(({ name }) => name);

describe("the order", () => {
  test("without settings: excerpts between what loses nothing and truncation", () => {
    expect(namesFor()).toEqual(["media_to_handles", "duplicate_reads", "excerpt", "truncate"]);
  });

  test.each([[{}], [{ chain_order: [] }], [{ summarize_old: { old_threshold: 0.1 } }]])(
    "without a chain_order the same: %j",
    (settings) => {
      expect(namesFor(settings)).toEqual(namesFor());
    },
  );

  test("as configured, between the same ends", () => {
    expect(namesFor({ chain_order: ["discard_low_rel", "summarize_old"] })).toEqual([
      "media_to_handles",
      "duplicate_reads",
      "discard_low_rel",
      "summarize_old",
      "truncate",
    ]);
  });

  test("a name may come twice", () => {
    const chain_order = ["discard_low_rel", "discard_low_rel"] as const;
    expect(namesFor({ chain_order }).slice(2, 4)).toEqual(chain_order);
  });

  test("[truncate]: only repeated reads are replaced before truncation", () => {
    expect(namesFor({ chain_order: ["truncate"] })).toEqual([
      "media_to_handles",
      "duplicate_reads",
      "truncate",
    ]);
  });

  test("as in document E: older copies first, then a cut of the kind that is configured", () => {
    const settings = { file_reads: "last", truncate: { keep: "half" } } as const;
    expect(namesFor({ ...settings, chain_order: ["truncate"] })).toEqual([
      "media_to_handles",
      "older_copies",
      "duplicate_reads",
      "truncate_half",
      "truncate",
    ]);
    expect(namesFor(settings).slice(-2)).toEqual(["truncate_half", "truncate"]);
  });

  test("truncate.last_resort: false: truncation only if the order names it", () => {
    const truncate = { last_resort: false } as const;
    expect(namesFor({ truncate })).not.toContain("truncate");
    expect(namesFor({ truncate, chain_order: ["hybrid"] })).not.toContain("truncate");
    expect(namesFor({ truncate, chain_order: ["truncate"] })).toContain("truncate");
  });

  test.each([20, 33, 34, 51])(
    "truncate.keep: half removes half of the middle and no more, if the rest fits (%d messages)",
    async (number) => {
      const messages = Array.from({ length: number }, (_, at) =>
        at % 2 === 0 ? user(prose(`asked ${at}`, 100)) : assistant(prose(`said ${at}`, 100)),
      );
      const before = seenFrom(messages);
      const limitTokens = Math.floor(before.tokens * 0.65);
      const goal = { limitTokens, tokens: limitTokens * 0.5, floorTokens: limitTokens * 0.43 };
      const settings = { chain_order: ["truncate"], truncate: { keep: "half" } } as const;
      const { taken } = await chainOn(before, goal, settings, []);
      expect(taken.map(({ name }) => name)).toEqual(["truncate_half"]);
      const none = { ...goal, limitTokens: Math.floor(before.tokens * 0.3) };
      const over = await chainOn(before, { ...none, tokens: none.limitTokens * 0.5 }, settings, []);
      expect(over.taken.map(({ name }) => name)).toEqual(["truncate_half", "truncate"]);
    },
  );

  test("truncation alone is the last resort", () => {
    const last = strategiesFor({ chain_order: seedOrder }, { count });
    expect(last.filter(({ isLastResort }) => isLastResort).map(({ name }) => name)).toEqual([
      "truncate",
    ]);
  });
});

describe("hybrid", () => {
  test("is what was named before it, three rounds by default", () => {
    const names = namesFor({ chain_order: ["summarize_old", "discard_low_rel", "hybrid"] });
    expect(names.slice(4, -1)).toEqual([
      "hybrid:1:summarize_old",
      "hybrid:1:discard_low_rel",
      "hybrid:2:summarize_old",
      "hybrid:2:discard_low_rel",
      "hybrid:3:summarize_old",
      "hybrid:3:discard_low_rel",
    ]);
  });

  test.each([1, 2, 5])("max_iterations %d", (max_iterations) => {
    const names = namesFor({
      chain_order: ["summarize_old", "hybrid"],
      hybrid: { max_iterations },
    });
    expect(names.filter((name) => name.startsWith("hybrid")).length).toBe(max_iterations);
  });

  test("alone it is everything", () => {
    const names = namesFor({ chain_order: ["hybrid"], hybrid: { max_iterations: 1 } });
    expect(names.slice(2, -1)).toEqual(seedOrder.slice(0, 4).map((name) => `hybrid:1:${name}`));
  });

  test("what comes behind it is not in it", () => {
    const names = namesFor({ chain_order: ["summarize_old", "hybrid", "discard_low_rel"] });
    expect(names.filter((name) => name.startsWith("hybrid"))).not.toContain(
      "hybrid:1:discard_low_rel",
    );
  });

  const long = seenFrom([
    user("Mend the fee."),
    ...Array.from({ length: 20 }, (_, at) => assistant(prose(`cargo ${at}`, 200))),
    user("go on"),
    ...shell("make", "ok"),
  ]);
  const tight: Goal = { limitTokens: 200, tokens: 100, floorTokens: 0 };

  test.each(seedOrder.slice(0, 2).concat("discard_low_rel"))(
    "each round of %s takes out more than the one before",
    async (name) => {
      const chain_order = [name, "hybrid"] as const;
      const rounds = strategiesFor({ chain_order }, { count }).filter((one) =>
        one.name.includes(name),
      );
      const taken = await Promise.all(
        rounds.map(async (round) => {
          const proposals = await round.propose(long, tight);
          return proposals.reduce(
            (sum, one) => sum + ("first" in one ? one.last - one.first + 1 : 0),
            0,
          );
        }),
      );
      expect(rounds.length).toBe(4);
      expect(taken).toEqual(taken.toSorted((one, other) => one - other));
      expect(taken.at(-1)).toBeGreaterThan(taken[0] ?? 0);
    },
  );

  test("each round of content_type_chunking leaves less, and plans stay", async () => {
    const plan = Array.from({ length: 60 }, (_, at) => `- [ ] task ${at} of the harbour`).join(
      "\n",
    );
    const words = Array.from(
      { length: 50 },
      (_, at) => `Berth ${at} had trouble ${at * 31} with pilot ${at * 7}.`,
    );
    const seen = seenFrom([
      user("do it"),
      ...shell("cat PLAN.md", plan),
      ...shell("cat notes", words.join("\n\n")),
      ...Array.from({ length: 6 }, (_, at) => shell(`echo ${at}`, "x")).flat(),
    ]);
    const chain_order = ["content_type_chunking", "hybrid"] as const;
    const sizes: number[] = [];
    for (const round of strategiesFor({ chain_order }, { count }).filter(({ name }) =>
      name.includes("content"),
    )) {
      const [, replaced, ...more] = await round.propose(seen, tight);
      expect(more).toEqual([]);
      expect(replaced?.kind === "replace" ? replaced.message : -1).toBe(4);
      sizes.push(
        replaced?.kind === "replace"
          ? replaced.textFor({ handle: "", messages: 1, tokens: 0 }).length
          : 0,
      );
    }
    expect(sizes.length).toBe(4);
    expect(sizes.at(-1)).toBeLessThan(sizes[0] ?? 0);
  });
});

describe("gains add up", () => {
  test("each strategy goes on from what the one before it left", async () => {
    const before = seenFrom(simulateConversation({ tokens: 20_000, seed: 9 }), {
      areas: simulatedAreas,
    });
    const goal = { limitTokens: 2500, tokens: 2000, floorTokens: 0 };
    const steps = await chainOn(before, goal, { chain_order: seedOrder }, simulatedAreas);
    const sizes = steps.taken.map(({ tokens }) => tokens);
    expect(sizes.length).toBeGreaterThan(2);
    expect(sizes).toEqual(sizes.toSorted((one, other) => other - one));
  });

  test("and it stops as soon as it fits", async () => {
    const before = seenFrom(simulateConversation({ tokens: 20_000, seed: 9 }), {
      areas: simulatedAreas,
    });
    const goal = {
      limitTokens: before.tokens,
      tokens: Math.floor(before.tokens * 0.8),
      floorTokens: 0,
    };
    const { taken } = await chainOn(before, goal, { chain_order: seedOrder }, simulatedAreas);
    expect(taken.map(({ name }) => name)).toEqual(["duplicate_reads", "summarize_old"]);
  });
});

describe("with chain_stops: at_limit, as in document A", () => {
  /** Nothing is read twice here, so that only the named strategies take something out. */
  const before = seenFrom(
    simulateConversation({ tokens: 20_000, seed: 10, toolCalls: 0, p1Share: 0 }),
    {
      areas: simulatedAreas,
    },
  );
  const run = (share: number, settings: ChainSettings, depth = 0.5) => {
    const limitTokens = before.tokens * share;
    const tokens = limitTokens * depth;
    const goal = { limitTokens, tokens, floorTokens: tokens * 0.86 };
    return chainOn(before, goal, settings, simulatedAreas);
  };

  test("if (currentTokens <= limit) return: the chain stops at the first strategy that reaches the limit", async () => {
    const settings = { chain_order: seedOrder, chain_stops: "at_limit" } as const;
    for (const share of [0.95, 0.8, 0.6, 0.4]) {
      const { taken } = await run(share, settings);
      const within = taken.map(({ tokens }) => tokens <= before.tokens * share);
      expect(within.indexOf(true), `${share}: ${within}`).toBe(taken.length - 1);
    }
    const deep = await run(0.6, { chain_order: seedOrder });
    expect(deep.conversation.tokens).toBeLessThanOrEqual(before.tokens * 0.3);
    const shallow = await run(0.6, settings);
    expect(shallow.conversation.tokens).toBeGreaterThan(before.tokens * 0.3);
  });

  test.each([
    ["prioritize_recent", {}],
    ["discard_low_rel", {}],
    ["content_type_chunking", { content_type_chunking: { least_tokens: 0, recent_share: 0 } }],
  ] as const)("%s takes out as much however large the limit is", async (name, settings) => {
    const chain = { ...settings, chain_order: [name], chain_stops: "at_limit" } as const;
    const [narrow, wide] = await Promise.all([run(0.9, chain), run(0.95, chain)]);
    expect(wide.taken[0]?.name).toBe(name);
    expect(wide.conversation.units).toHaveLength(narrow.conversation.units.length);
    const usual = await run(0.95, { ...settings, chain_order: [name] }, 0.99);
    expect(wide.taken[0]?.tokens).toBeLessThan(usual.taken[0]?.tokens ?? 0);
  });

  test("Discard bottom 30%: a third of the units goes, also if less would do", async () => {
    const { conversation } = await run(0.95, {
      chain_order: ["discard_low_rel"],
      chain_stops: "at_limit",
    });
    const gone = 1 - conversation.units.length / before.units.length;
    expect(gone).toBeGreaterThan(0.2);
    expect(gone).toBeLessThanOrEqual(0.3);
  });
});

const simulations: readonly Simulation[] = [
  { tokens: 12_000, seed: 1 },
  { tokens: 8_000, seed: 2 },
  { tokens: 16_000, seed: 3 },
  { tokens: 30_000, seed: 4 },
  { tokens: 60_000, seed: 5 },
  { tokens: 120_000, seed: 6 },
  { tokens: 200_000, seed: 7 },
  { tokens: 20_000, seed: 8, p1Share: 0 },
  { tokens: 20_000, seed: 9, p1Share: 0.3 },
  { tokens: 20_000, seed: 10, toolCalls: 0 },
  { tokens: 20_000, seed: 11, toolCalls: 1 },
  { tokens: 20_000, seed: 12, languages: ["de", "zh", "ru", "en"] },
  { tokens: 20_000, seed: 13, types: ["log", "message"] },
  { tokens: 20_000, seed: 14, types: ["code", "other", "plan_ref"] },
  { tokens: 20_000, seed: 15, shape: "misclassified" },
  { tokens: 20_000, seed: 16, shape: "fragmented" },
];

const kinds: readonly Omit<Simulation, "tokens" | "seed">[] = [
  {},
  { p1Share: 0.3 },
  { p1Share: 0.6 },
  { p1Share: 1 },
  { toolCalls: 0 },
  { languages: ["de", "zh", "ru", "en"] },
  { types: ["code", "other", "plan_ref"] },
  { types: ["code"] },
  { shape: "misclassified" },
  { shape: "giant" },
];
const tenThousand = [0, 100, 200].flatMap((from) =>
  kinds.map((kind, index) => ({ tokens: 10_000, seed: from + index, ...kind })),
);

/** Most units have the usual priority, unless the scenario says otherwise. */
const shares = { p1Share: 0.1, p3Share: 0.135 };

function overflowing(simulation: Simulation): {
  readonly before: VisibleConversation;
  readonly goal: Goal;
} {
  const wish = simulation.p1Share === undefined ? { ...simulation, ...shares } : simulation;
  const before = seenFrom(simulateConversation(wish), {
    areas: simulatedAreas,
    otherTokens: 50,
  });
  const limitTokens = Math.floor(before.tokens / 1.2);
  const goal = {
    limitTokens,
    tokens: Math.floor(limitTokens * 0.5),
    floorTokens: Math.floor(limitTokens * 0.43),
  };
  return { before, goal };
}

describe.each([
  ["the default chain", undefined],
  ["the seed's chain", { chain_order: seedOrder }],
] as const)("%s on conversations that are a fifth too long", (_, settings) => {
  test.each(simulations)(
    "$tokens tokens, seed $seed: it fits, and what is left can be understood",
    async (simulation) => {
      const { before, goal } = overflowing(simulation);
      const outcome = await chainOn(before, goal, settings, simulatedAreas);
      expect(outcome.conversation.tokens).toBeLessThanOrEqual(goal.limitTokens);
      const { original, view } = viewOf(before, outcome);
      const coherence = coherenceOf(original, view);
      expect(coherence).toBeGreaterThan(0.85);
      expect(coherenceOf(original, shuffled(view))).toBeLessThan(coherence - 0.2);
      expect(coherenceOf(original, view.slice(-1))).toBeLessThan(coherence - 0.2);
    },
  );

  // Document A: "10k token chats → verify under limit, coherence >0.85". The goal is that of an agent with a limit.
  test.each(tenThousand)("$seed: 10,000 tokens with a limit of 5,000", async (simulation) => {
    const { before } = overflowing(simulation);
    const goal = { limitTokens: 5_000, tokens: 2_500, floorTokens: 2_150, coherence: 0.85 };
    const outcome = await chainOn(before, goal, settings, simulatedAreas);
    expect(outcome.conversation.tokens).toBeLessThanOrEqual(goal.limitTokens);
    const { original, view } = viewOf(before, outcome);
    expect(coherenceOf(original, view)).toBeGreaterThan(0.85);
  });

  test("a window that hardly holds what must stay is not filled by our own texts", async () => {
    const rules = assistant("Now and then something is said.");
    const talk = Array.from({ length: 8 }, (_, at) => [user(prose(`fee ${at}`, 40)), rules]).flat();
    const before = seenFrom([user(prose("harbour", 1_500)), rules, ...talk, user("go on")]);
    const goal = { limitTokens: 1_660, tokens: 830, floorTokens: 0 };
    const { conversation } = await chainOn(before, goal, settings, []);
    expect(conversation.tokens).toBeLessThanOrEqual(goal.limitTokens);
  });

  // Each conversation has few references, so a single lost one lowers the score a lot.
  test("twenty short conversations, on average", async () => {
    const scores: number[] = [];
    for (let seed = 1; seed <= 20; seed++) {
      const { before, goal } = overflowing({ tokens: 4_000, seed });
      const outcome = await chainOn(before, goal, settings, simulatedAreas);
      expect(outcome.conversation.tokens).toBeLessThanOrEqual(goal.limitTokens);
      const { original, view } = viewOf(before, outcome);
      scores.push(coherenceOf(original, view));
    }
    expect(scores.reduce((sum, score) => sum + score, 0) / scores.length).toBeGreaterThan(0.85);
  });

  test.each<Simulation>([
    { tokens: 20_000, seed: 17, shape: "giant" },
    { tokens: 20_000, seed: 18, p1Share: 1 },
  ])(
    "$shape, share of priority 1 $p1Share: it fits though hardly anything may go",
    async (simulation) => {
      const { before, goal } = overflowing(simulation);
      const { conversation } = await chainOn(before, goal, settings, simulatedAreas);
      expect(conversation.tokens).toBeLessThanOrEqual(goal.limitTokens);
    },
  );
});

/** Shuffles the same way every time. */
function shuffled<T>(items: readonly T[]): readonly T[] {
  const order = items.map((item, index) => ({ item, key: (index * 7919 + 13) % 104_729 }));
  const scattered = order.map((one, index) => ({ ...one, key: (one.key * (index + 31)) % 10_007 }));
  return scattered.toSorted((one, other) => one.key - other.key).map(({ item }) => item);
}

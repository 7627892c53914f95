import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { seededCounters } from "./counters.ts";
import {
  assessAfter,
  assessBefore,
  budgetTooSmall,
  effectiveLimit,
  type GuardTarget,
  toolTokensInBudget,
} from "./guard.ts";
import { narrowLimit } from "./limit.ts";

const targetOf = (window: number, buffer = 0, maxOutput = 0, name = "t"): GuardTarget => ({
  name,
  limit: {
    window,
    named: window,
    buffer,
    maxOutput,
    reserve: maxOutput,
    limit: Math.max(0, window - buffer - maxOutput),
    windowSource: "model",
  },
});
const projected = (tokens: number, head = 0, least = tokens) => ({
  tokens,
  least,
  most: tokens,
  head,
  preamble: 0,
  isGuess: false,
  counters: seededCounters(tokens, { committed: 0, schema: 0, reasoning: 0 }),
});

describe("before anything is taken out", () => {
  test.each([
    [799, { kind: "fits", isWarning: false }],
    [800, { kind: "fits", isWarning: true }],
    [949, { kind: "fits", isWarning: true }],
    [950, { kind: "compact", isForced: false, overTokens: 0 }],
    [980, { kind: "compact", isForced: true, overTokens: 0 }],
    [1001, { kind: "compact", isForced: true, overTokens: 1 }],
  ])("%i of 1,000 tokens", (tokens, verdict) => {
    expect(
      assessBefore({ projection: projected(tokens), targets: [targetOf(1000)] }),
    ).toMatchObject(verdict);
  });

  test("with an agent's own limit, breaking starts at the warning", () => {
    const own = { agentLimit: 1000 };
    expect(
      assessBefore({ projection: projected(800), targets: [targetOf(9000)], own }),
    ).toMatchObject({ kind: "compact", isForced: false });
  });

  test("a larger target is taken instead, in order", () => {
    const targets: [GuardTarget, ...GuardTarget[]] = [
      targetOf(1000, 0, 0, "small"),
      targetOf(1001, 0, 0, "hardly"),
      targetOf(5000, 0, 0, "large"),
    ];
    expect(assessBefore({ projection: projected(1000), targets })).toMatchObject({
      kind: "skip",
      target: "large",
    });
    expect(assessBefore({ projection: projected(100), targets })).toMatchObject({
      kind: "fits",
      target: "small",
    });
    expect(assessBefore({ projection: projected(6000), targets })).toMatchObject({
      kind: "compact",
      target: "small",
    });
  });

  test("when the head alone is too much, that is what it says", () => {
    const targets = [targetOf(1000)] as const;
    expect(assessBefore({ projection: projected(1100, 1001), targets })).toEqual({
      kind: "head",
      target: "t",
      overTokens: 100,
    });
    expect(assessBefore({ projection: projected(1100, 1000), targets })).toMatchObject({
      kind: "compact",
      overTokens: 100,
    });
  });

  test("a window of nothing is full", () => {
    expect(assessBefore({ projection: projected(1), targets: [targetOf(0)] })).toMatchObject({
      kind: "compact",
      isForced: true,
    });
  });
});

describe("after everything was tried", () => {
  const targets: [GuardTarget] = [targetOf(1000, 100, 200)];
  test.each([
    [700, "fits"],
    [701, "fits"],
    [800, "fits"],
    [801, "final"],
    [984, "final"],
    [985, "refuse"],
  ])(
    "%i tokens with a limit of 700, an answer of 200 and a window of 1,000: %s",
    (tokens, kind) => {
      expect(assessAfter({ projection: projected(tokens), targets }).kind).toBe(kind);
    },
  );
});

test("document C: EffectiveWindow() is Total - MaxOutputTokens, with output_in_budget", () => {
  const target = targetOf(200_000, 8_192, 32_000);
  const own = { contextBudget: 100_000 };
  expect(effectiveLimit(target, own)).toBe(100_000);
  expect(effectiveLimit(target, { ...own, outputInBudget: 4_096 })).toBe(95_904);
  expect(effectiveLimit(target, { ...own, outputInBudget: "as asked" })).toBe(75_000);
  expect(effectiveLimit(target, { contextBudget: 10_000, outputInBudget: 4_096 })).toBe(5_904);
  expect(effectiveLimit(target, { contextBudget: 4_000, outputInBudget: 4_096 })).toBe(0);
  expect(effectiveLimit(target, { ...own, outputInBudget: 4_096, agentLimit: 5_000 })).toBe(5_000);
  expect(effectiveLimit(target, { outputInBudget: 4_096 })).toBe(159_808);
});

test("the lowest limit holds; the highest priority gets a fifth more, never more than the window", () => {
  const target = targetOf(10_000, 1000, 1000);
  expect(effectiveLimit(target)).toBe(8000);
  expect(effectiveLimit(target, { contextBudget: 6000, agentLimit: 5000 })).toBe(5000);
  expect(effectiveLimit(target, { agentLimit: 5000, priority: 1 })).toBe(6000);
  expect(effectiveLimit(target, { agentLimit: 5000, priority: 2 })).toBe(5000);
  expect(effectiveLimit(target, { agentLimit: 9000, priority: 1 })).toBe(8000);
});

const tokens = fc.nat(200_000);
const someTarget = fc.record({
  window: fc.nat(300_000),
  buffer: fc.nat(20_000),
  maxOutput: fc.nat(80_000),
});

test("with a small head, nothing that fits is over its limit, and buffer and answer have their room", () => {
  fc.assert(
    fc.property(tokens, someTarget, (count, { window, buffer, maxOutput }) => {
      const target = targetOf(window, buffer, maxOutput);
      fc.pre(buffer + maxOutput <= window / 2);
      const verdict = assessBefore({ projection: projected(count), targets: [target] });
      if (verdict.kind === "fits" && count > 0)
        expect(count + buffer + maxOutput).toBeLessThanOrEqual(window);
    }),
  );
});

test("a large head leaves the conversation half of what is beside it, whatever is kept free for the answer", () => {
  const target = targetOf(60_000, 7500, 15_000);
  expect(effectiveLimit(target, {}, { head: 10_000, preamble: 0 })).toBe(37_500);
  expect(effectiveLimit(target, {}, { head: 42_000, preamble: 0 })).toBe(51_000);
  fc.assert(
    fc.property(tokens, someTarget, (head, { window, buffer, maxOutput }) => {
      const limit = effectiveLimit(targetOf(window, buffer, maxOutput), {}, { head, preamble: 0 });
      expect(limit).toBeLessThanOrEqual(window);
      const isHalf = limit - head >= (window - head) / 2 - 1;
      expect(isHalf || limit >= window - 1024).toBe(true);
    }),
  );
});

test("a budget that a first message fills gives way by a quarter of itself, and not by more", () => {
  const target = targetOf(200_000, 8192, 8000);
  const own = { contextBudget: 20_000 };
  expect(effectiveLimit(target, own, { head: 12_000, preamble: 2000 })).toBe(20_000);
  expect(effectiveLimit(target, own, { head: 24_000, preamble: 2000 })).toBe(29_000);
});

test("a budget of which system prompt and tools take more than half is twice as large as they are, at most the window", () => {
  const target = targetOf(200_000, 8192, 8000);
  const limitWith = (preamble: number): number =>
    effectiveLimit(target, { contextBudget: 30_000 }, { head: preamble + 100, preamble });
  expect([14_000, 15_000, 24_000, 60_000].map(limitWith)).toEqual([
    30_000, 30_000, 48_000, 120_000,
  ]);
  expect(limitWith(150_000)).toBeLessThan(200_000);
  const tooSmall = (preamble: number): number | undefined =>
    budgetTooSmall(target, { contextBudget: 30_000 }, { head: preamble, preamble });
  expect([15_000, 15_001].map(tooSmall)).toEqual([undefined, 30_000]);
  expect(budgetTooSmall(target, {}, { head: 150_000, preamble: 150_000 })).toBeUndefined();
});

describe("a budget that nobody set", () => {
  const auto = { contextBudget: "auto" } as const;
  const large = targetOf(1_000_000, 8192, 128_000);

  test.each([
    [399_999, 399_999],
    [400_000, 200_000],
    [2_000_000, 200_000],
  ])("in a window of %i, a request may have %i tokens", (window, limit) => {
    expect(effectiveLimit(targetOf(window), auto)).toBe(limit);
  });

  test("is the model's price step where one is known", () => {
    const stepped = { ...large, limit: { ...large.limit, priceStep: 272_000 } };
    expect(effectiveLimit(stepped, auto)).toBe(272_000);
    expect(effectiveLimit(stepped, {})).toBe(863_808);
  });

  test("gives way to every limit that somebody set", () => {
    expect(effectiveLimit(large, { ...auto, agentLimit: 300_000 })).toBe(300_000);
    expect(effectiveLimit(large, { ...auto, agentLimit: 5000 })).toBe(5000);
  });

  test("does not exist in a window whose size is a guess", () => {
    const { name, limit } = large;
    const guessed: GuardTarget = {
      name,
      limit: { ...limit, named: Number.POSITIVE_INFINITY, windowSource: "fallback" },
    };
    const input = { projection: projected(900_000), targets: [guessed] as const, own: auto };
    expect(assessBefore(input).kind).toBe("fits");
  });
});

test("nothing is refused or made final while the window may hold it and a short answer", () => {
  fc.assert(
    fc.property(tokens, tokens, someTarget, (count, doubt, { window, buffer, maxOutput }) => {
      const target = targetOf(window, buffer, maxOutput);
      const projection = projected(count + doubt, 0, count);
      const { kind } = assessAfter({ projection, targets: [target] });
      const answer = Math.min(1024, maxOutput);
      if (count + answer <= window) expect(kind).toBe("fits");
      else expect(kind).toBe(count + 16 <= window ? "final" : "refuse");
    }),
  );
});

test("a window that a provider did not name makes nothing final: it refused something, and nobody knows how much it takes", () => {
  const { name, limit } = targetOf(8000);
  const target: GuardTarget = { name, limit: narrowLimit(limit, 5000, "refused") };
  const projection = projected(6000);
  expect(assessBefore({ projection, targets: [target] }).kind).toBe("compact");
  expect(assessAfter({ projection, targets: [target] }).kind).toBe("fits");
});

test("a window that nobody knows is no limit, but a budget is", () => {
  const { name, limit } = targetOf(1000);
  const unknown: GuardTarget = {
    name,
    limit: { ...limit, named: Number.POSITIVE_INFINITY, windowSource: "fallback" },
  };
  const input = { projection: projected(9000), targets: [unknown] as const };
  expect([assessBefore(input).kind, assessAfter(input).kind]).toEqual(["fits", "fits"]);
  const own = { contextBudget: 500 };
  expect(assessBefore({ ...input, own }).kind).toBe("compact");
});

test("a budget below the window keeps a quarter of itself free for the answer", () => {
  const { name, limit } = targetOf(1000, 0, 250);
  const target: GuardTarget = { name, limit: { ...limit, maxOutput: 600 } };
  expect(effectiveLimit(target)).toBe(750);
  expect(effectiveLimit(target, { contextBudget: 880 })).toBe(780);
});

test.each([
  ["a small system prompt leaves tools their usual room", 30_000, 5_000, 3_000],
  ["one that takes nearly half leaves them the rest of that half", 30_000, 13_500, 1_500],
  ["one that takes more than half leaves them a quarter of the usual room", 30_000, 16_000, 750],
  ["without a budget nothing changes", undefined, 16_000, 3_000],
])("room for tools: %s", (_name, contextBudget, systemTokens, tokens) => {
  const own = contextBudget === undefined ? {} : { contextBudget };
  const asked = { systemTokens, usualTokens: 3_000 };
  expect(toolTokensInBudget(targetOf(200_000), own, asked)).toBe(tokens);
});

describe("with strict_limit: effectiveLimit = contextWindow - bufferTokens - maxOutputTokens", () => {
  const own = { isStrict: true } as const;
  const seed = (schema: number) => ({ committed: 0, schema, reasoning: 0 });
  const sized = (tokens: number, schema: number, head = 0) => ({
    ...projected(tokens, head),
    counters: seededCounters(tokens, seed(schema)),
  });
  const example = targetOf(128_000, 8_192, 16_384);

  test("128,000 - 8,192 - 16,384 = 103,424, also beside a large head", () => {
    expect(effectiveLimit(example, own)).toBe(103_424);
    expect(effectiveLimit(example, own, { head: 100_000, preamble: 90_000 })).toBe(103_424);
    expect(effectiveLimit(example, {}, { head: 100_000, preamble: 90_000 })).toBeGreaterThan(
      103_424,
    );
  });

  test.each([
    ["when projections exceed limit, guard forces final turn", 103_425, 0, "final"],
    ["up to the limit the request proceeds", 103_424, 0, "fits"],
    [
      "if only schema tokens overflow and base projection fits, allow request",
      104_424,
      1000,
      "fits",
    ],
    ["if the base projection does not fit either, it is the final turn", 104_425, 1000, "final"],
    ["what no window holds is refused", 128_000, 0, "refuse"],
  ])("%s", (_name, tokens, schema, kind) => {
    const input = { projection: sized(tokens, schema), targets: [example] as const, own };
    expect(assessAfter(input).kind).toBe(kind);
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addNew, commitTurn, noCounters, project, seedTurn } from "./counters.ts";
import { effectiveLimit, type GuardTarget, judgeAfter, judgeBefore } from "./guard.ts";

const targetOf = (window: number, buffer = 0, maxOutput = 0, name = "t"): GuardTarget => ({
  name,
  limit: {
    window,
    buffer,
    maxOutput,
    limit: Math.max(0, window - buffer - maxOutput),
    windowSource: "model",
  },
});
const projected = (tokens: number, schema = 0) => ({ tokens, schema });

describe("before anything is taken out", () => {
  test.each([
    [799, { kind: "fits", isWarning: false }],
    [800, { kind: "fits", isWarning: true }],
    [949, { kind: "fits", isWarning: true }],
    [950, { kind: "compact", isForced: false, overTokens: 0 }],
    [980, { kind: "compact", isForced: true, overTokens: 0 }],
    [1001, { kind: "compact", isForced: true, overTokens: 1 }],
  ])("%i of 1,000 tokens", (tokens, verdict) => {
    expect(judgeBefore({ projection: projected(tokens), targets: [targetOf(1000)] })).toMatchObject(
      verdict,
    );
  });

  test("with an agent's own limit, breaking starts at the warning", () => {
    const own = { agentLimit: 1000 };
    expect(
      judgeBefore({ projection: projected(800), targets: [targetOf(9000)], own }),
    ).toMatchObject({ kind: "compact", isForced: false });
  });

  test("a larger target is taken instead, in order", () => {
    const targets: [GuardTarget, ...GuardTarget[]] = [
      targetOf(1000, 0, 0, "small"),
      targetOf(1001, 0, 0, "hardly"),
      targetOf(5000, 0, 0, "large"),
    ];
    expect(judgeBefore({ projection: projected(1000), targets })).toMatchObject({
      kind: "skip",
      target: "large",
    });
    expect(judgeBefore({ projection: projected(100), targets })).toMatchObject({
      kind: "fits",
      target: "small",
    });
    expect(judgeBefore({ projection: projected(6000), targets })).toMatchObject({
      kind: "compact",
      target: "small",
    });
  });

  test("when only the schemas are too much, that is what it says", () => {
    expect(judgeBefore({ projection: projected(1100, 700), targets: [targetOf(1000)] })).toEqual({
      kind: "schema",
      target: "t",
      overTokens: 100,
    });
    expect(
      judgeBefore({ projection: projected(1100, 200), targets: [targetOf(1000)] }),
    ).toMatchObject({ kind: "compact", overTokens: 100 });
    expect(
      judgeBefore({ projection: projected(1300, 200), targets: [targetOf(1000)] }),
    ).toMatchObject({ kind: "compact" });
  });

  test("a window of nothing is full", () => {
    expect(judgeBefore({ projection: projected(1), targets: [targetOf(0)] })).toMatchObject({
      kind: "compact",
      isForced: true,
    });
  });
});

describe("after everything was tried", () => {
  const targets: [GuardTarget] = [targetOf(1000, 100, 200)];
  test.each([
    [700, "fits"],
    [701, "final"],
    [800, "final"],
    [801, "refuse"],
  ])("%i tokens with a limit of 700 and a window of 1,000: %s", (tokens, kind) => {
    expect(judgeAfter({ projection: projected(tokens), targets }).kind).toBe(kind);
  });
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

test("nothing that fits is over its limit, and buffer and answer always have their room", () => {
  fc.assert(
    fc.property(tokens, someTarget, (count, { window, buffer, maxOutput }) => {
      const target = targetOf(window, buffer, maxOutput);
      for (const verdict of [
        judgeBefore({ projection: projected(count), targets: [target] }),
        judgeAfter({ projection: projected(count), targets: [target] }),
      ]) {
        if (verdict.kind === "fits" && count > 0)
          expect(count + buffer + maxOutput).toBeLessThanOrEqual(window);
        if (verdict.kind === "final") expect(count + maxOutput).toBeLessThanOrEqual(window);
        if (verdict.kind === "refuse") expect(count + maxOutput).toBeGreaterThan(window);
      }
    }),
  );
});

test("counters only grow until a turn is committed, and reasoning never counts", () => {
  const step = fc.oneof(fc.record({ seed: tokens, schema: tokens }), fc.record({ add: tokens }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 10 }), tokens, (steps, reasoning) => {
      let counters = { ...noCounters, reasoning };
      let last = project(counters, 0, true).tokens;
      for (const one of steps) {
        counters =
          "add" in one ? addNew(counters, one.add) : seedTurn(counters, one.seed, one.schema);
        const now = project(counters, 0, true).tokens;
        expect(now).toBeGreaterThanOrEqual(last);
        last = now;
      }
      const committed = commitTurn(counters);
      expect(project(committed, 0, true).tokens).toBe(last);
      expect([committed.pending, committed.new]).toEqual([0, 0]);
    }),
  );
});

test("reported usage replaces estimates, and contains the schemas from then on", () => {
  const turn = addNew(seedTurn(noCounters, 1000, 300), 200);
  expect(project(turn, 50, false)).toEqual({ tokens: 1550, schema: 300 });
  const committed = commitTurn(turn, { inputTokens: 1400, outputTokens: 90, reasoningTokens: 40 });
  expect(committed).toEqual({ current: 1490, pending: 0, new: 0, schema: 300, reasoning: 40 });
  expect(project(committed, 0, true)).toEqual({ tokens: 1490, schema: 0 });
});

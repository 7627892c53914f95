import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type ContextCounters,
  countersWith,
  grownCounters,
  projectedTokens,
  seededCounters,
} from "./counters.ts";
import { grown, projectionOf, projectionWith } from "./projection.ts";

const tokens = fc.integer({ min: -5_000, max: 200_000 });
const seed = fc.record({ committed: tokens, schema: tokens, reasoning: tokens });

test("projected = currentCtxTokens + pendingCtxTokens + newCtxTokens + extraTokens, whatever was committed", () => {
  fc.assert(
    fc.property(tokens, seed, (all, seeded) => {
      const counters = seededCounters(all, seeded);
      expect(projectedTokens(counters)).toBe(Math.max(0, all));
      expect(Object.values(counters).every((figure) => figure >= 0)).toBe(true);
    }),
  );
});

test("Counters only increase until turn commits, whatever joins the conversation", () => {
  fc.assert(
    fc.property(tokens, seed, fc.array(fc.tuple(fc.boolean(), tokens)), (all, seeded, steps) => {
      let counters = seededCounters(all, seeded);
      for (const [isExtra, added] of steps) {
        const next = isExtra ? countersWith(counters, added) : grownCounters(counters, added);
        for (const name of Object.keys(counters) as (keyof ContextCounters)[])
          expect(next[name]).toBeGreaterThanOrEqual(counters[name]);
        counters = next;
      }
    }),
  );
});

test("a projection is the sum of its counters, also when it grows", () => {
  const counters = seededCounters(1000, { committed: 700, schema: 100, reasoning: 50 });
  const begun = projectionOf(counters, {
    least: 900,
    most: 1200,
    head: 100,
    preamble: 90,
    isGuess: false,
  });
  expect(begun).toMatchObject({ tokens: 1000, counters: { current: 700, pending: 300, fresh: 0 } });
  expect(grown(begun, 50)).toMatchObject({
    tokens: 1050,
    least: 950,
    most: 1250,
    counters: { fresh: 50 },
  });
  expect(projectionWith(begun, 20)).toMatchObject({
    tokens: 1020,
    counters: { extra: 20, fresh: 0 },
  });
});

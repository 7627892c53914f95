import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { type Candidate, choosePassages } from "./choose-passages.ts";

function choose(candidates: readonly Candidate[], room: number, first?: number): readonly number[] {
  const taken: number[] = [];
  choosePassages({
    candidates,
    first: first === undefined ? [] : [first],
    worth: () => 1,
    take: (index) => {
      taken.push(index);
      return taken.length >= room ? "full" : "taken";
    },
  });
  return taken;
}

test("what was told is not worth telling again", () => {
  const same = { relevance: 1, items: [1, 2, 3], tokens: 10 };
  const other = { relevance: 0.9, items: [4, 5, 6], tokens: 10 };
  expect(choose([same, same, other], 2)).toEqual([0, 2]);
});

test("relevance weighs more than a few more names", () => {
  const relevant = { relevance: 1, items: [1, 2], tokens: 10 };
  const rich = { relevance: 0.5, items: [3, 4, 5, 6], tokens: 10 };
  expect(choose([rich, relevant], 1)).toEqual([1]);
});

test("what says the same in fewer tokens comes first", () => {
  const long = { relevance: 1, items: [1], tokens: 50 };
  const short = { relevance: 1, items: [1], tokens: 5 };
  expect(choose([long, short], 1)).toEqual([1]);
});

test("what is not relevant at all is never taken, and what must be first is", () => {
  const none = { relevance: 0, items: [1, 2, 3], tokens: 1 };
  const some = { relevance: 0.3, items: [9], tokens: 10 };
  expect(choose([none, some, none], 5)).toEqual([1]);
  expect(choose([none, some, none], 5, 2)).toEqual([2, 1]);
});

test("the lazy queue chooses what trying everything would", () => {
  const candidate = fc.record({
    relevance: fc.constantFrom(0.25, 0.5, 1),
    items: fc.uniqueArray(fc.integer({ min: 0, max: 12 }), { maxLength: 6 }),
    tokens: fc.integer({ min: 1, max: 4 }),
  });
  fc.assert(
    fc.property(fc.array(candidate, { maxLength: 20 }), (candidates) => {
      const told = new Set<number>();
      const left = new Set(candidates.keys());
      const expected: number[] = [];
      while (left.size > 0) {
        const gain = (i: number): number => {
          const { relevance, items, tokens } = candidates[i] as Candidate;
          const fresh = items.filter((item) => !told.has(item)).length;
          return (relevance ** 2 * (0.5 + fresh)) / tokens;
        };
        const best = [...left].reduce((a, b) => (gain(b) > gain(a) ? b : a));
        left.delete(best);
        expected.push(best);
        for (const item of candidates[best]?.items ?? []) told.add(item);
      }
      expect(choose(candidates, candidates.length).toSorted()).toEqual(expected.toSorted());
      expect(choose(candidates, Number.POSITIVE_INFINITY)).toEqual(expected);
    }),
    tries({ runs: 200, seed: 4 }),
  );
});

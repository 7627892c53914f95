/** Similarity of texts depends on their words, not on their length. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import { shareFoundIn, similarityOf } from "./similarity.ts";

describe("similarity", () => {
  test("the same words in another order are the same", () => {
    expect(similarityOf(["cargo berth tide"], ["tide", "berth cargo"])).toBeCloseTo(1);
  });

  test("nothing in common is 0, nothing at all on both sides is 1", () => {
    expect(similarityOf(["cargo"], ["soup"])).toBe(0);
    expect(similarityOf([], [""])).toBe(1);
    expect(similarityOf(["cargo"], [])).toBe(0);
  });

  test("a part is the nearer the more of the whole it is", () => {
    const whole = ["cargo berth tide crew", "pilot anchor hull ballast"];
    const half = similarityOf(whole.slice(0, 1), whole);
    expect(half).toBeGreaterThan(0.5);
    expect(half).toBeLessThan(1);
  });

  test("always between 0 and 1, and the same both ways", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.string()), (one, other) => {
        const value = similarityOf(one, other);
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1);
        expect(similarityOf(other, one)).toBeCloseTo(value);
      }),
      tries({ runs: 200, seed: 20261115 }),
    );
  });
});

describe("the share of a text that its source has", () => {
  test.each([
    ["cargo berth", "the cargo at the berth", 1],
    ["cargo soup", "the cargo at the berth", 0.5],
    ["soup", "the cargo", 0],
    ["", "the cargo", 1],
    ["src/a.py is broken", "src/b.py is broken", 0.75],
  ])("%j of %j", (text, source, share) => {
    expect(shareFoundIn(text, source)).toBeCloseTo(share);
  });
});

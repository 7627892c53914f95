import { describe, expect, test } from "vitest";
// @ts-expect-error A script without types.
import { growTrees as grow } from "../../../../../scripts/grow-trees.mjs";
import { trees as shipped } from "../../../data/mention_trees.js";
import { diceOf } from "../../../demo/dice.ts";
import { type BoostedTrees, scoreOf } from "./boosted-trees.ts";
import { featureNames } from "./mention-features.ts";

interface Example {
  readonly features: Float64Array;
  readonly isUsed: boolean;
  readonly weight: number;
}
const growTrees = grow as (
  examples: readonly Example[],
  settings: Record<"trees" | "leaves" | "rate" | "smallestLeaf", number>,
) => Omit<BoostedTrees, "features">;

const settings = { trees: 40, leaves: 8, rate: 0.2, smallestLeaf: 5 };

/** Used if exactly one of the first two features is large. No sum of weights knows that. The third feature says nothing. */
function examples(count: number): readonly Example[] {
  const random = diceOf(7);
  return Array.from({ length: count }, () => {
    const features = Float64Array.from({ length: 3 }, () => random());
    const [one = 0, other = 0] = features;
    return { features, isUsed: one > 0.5 !== other > 0.5, weight: 1 };
  });
}

const learned = (from: readonly Example[]): BoostedTrees => ({
  features: ["one", "other", "noise"],
  ...growTrees(from, settings),
});

describe("trees", () => {
  test("learn a rule from examples, and apply it to others", () => {
    const all = examples(3_000);
    const forest = learned(all.slice(0, 2_000));
    const right = all
      .slice(2_000)
      .filter(({ features, isUsed }) => scoreOf(forest, features) > 0.5 === isUsed);
    expect(right.length).toBeGreaterThan(970);
  });

  test("are the same whenever they are learned from the same examples", () => {
    expect(learned(examples(800))).toEqual(learned(examples(800)));
  });

  test("the shipped ones know the features that the product computes, and small values everywhere", () => {
    expect(shipped?.features).toEqual(featureNames);
    for (const value of [-20, 0, 0.5, 1, 1e9, Number.NaN]) {
      const features = new Float64Array(featureNames.length).fill(value);
      const score = scoreOf(shipped as BoostedTrees, features);
      expect(score).toBeGreaterThan(0);
      expect(score).toBeLessThan(1);
    }
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import { coherenceOf, type VisibleText } from "./coherence.ts";

const kept = (number: number, text: string): VisibleText => ({ number, text, kind: "kept" });
const original: readonly VisibleText[] = [
  kept(1, "Open src/app/main.py and src/app/cart.py"),
  kept(2, "src/app/main.py calls load_orders"),
  kept(3, "src/app/cart.py calls load_prices with ZX81Q9"),
  kept(4, "load_orders fails in src/app/main.py"),
  kept(5, "load_prices is fine in src/app/cart.py"),
  kept(6, "So load_orders in src/app/main.py is to blame for ZX81Q9"),
];
const without = (...numbers: readonly number[]): readonly VisibleText[] =>
  original.filter(({ number }) => !numbers.includes(number));
const shuffles = fc.sample(fc.shuffledSubarray([...original], { minLength: original.length }), {
  seed: 4,
  numRuns: 200,
});

describe("coherence", () => {
  test("of the original itself is 1", () => {
    expect(coherenceOf(original, original)).toBe(1);
  });

  test("of a shuffled view is far lower", () => {
    const scores = shuffles.map((view) => coherenceOf(original, view));
    expect(scores.reduce((sum, score) => sum + score, 0) / scores.length).toBeLessThan(0.5);
  });

  test("of a view turned around is 0", () => {
    expect(coherenceOf(original, original.toReversed())).toBe(0);
  });

  test("of an emptied view is far lower", () => {
    expect(coherenceOf(original, without(1, 2, 3, 4, 5))).toBe(0);
    expect(coherenceOf(original, [])).toBe(0);
  });

  test("of a view without the newest exchange is 0", () => {
    expect(coherenceOf(original, without(6))).toBe(0);
    expect(coherenceOf(original, [...without(6), kept(6, " ")])).toBe(0);
  });

  test("stays 1 where everything that is referred to is still said before", () => {
    expect(coherenceOf(original, without(5))).toBe(1);
  });

  test("falls with each antecedent that is gone", () => {
    const some = coherenceOf(original, without(1, 2));
    const more = coherenceOf(original, without(1, 2, 3, 4));
    expect(some).toBeLessThan(1);
    expect(more).toBeLessThan(some);
  });

  test("counts a name in a summary whole, beside a handle half, behind a handle not at all", () => {
    const names = "src/app/main.py load_orders ZX81Q9";
    const last = kept(6, "So load_orders in src/app/main.py is to blame for ZX81Q9");
    const behind = (kind: VisibleText["kind"], text: string): number =>
      coherenceOf(original, [{ number: 1, kind, text }, last]);
    expect(behind("summary", names)).toBe(1);
    expect(behind("handle", names)).toBe(0.5);
    expect(behind("handle", "5 messages")).toBe(0);
  });

  test("asks nothing of what is said for the first time", () => {
    expect(coherenceOf([kept(1, "Hello there"), kept(2, "c/d.py")], [kept(2, "c/d.py")])).toBe(1);
  });

  test("goes by words where nothing else is taken up again", () => {
    const talk = [
      kept(1, "My sister bought a telescope"),
      kept(2, "Where does she keep the telescope?"),
      kept(3, "The telescope stands in the garden of my sister"),
    ];
    expect(coherenceOf(talk, talk)).toBe(1);
    expect(coherenceOf(talk, talk.toReversed())).toBe(0);
    expect(coherenceOf(talk, talk.slice(2))).toBe(0);
  });

  test("of any conversation is 1 for itself, and between 0 and 1 for any view of it", () => {
    const word = fc.constantFrom("a/b.py", "c/d.py", "load_orders", "ZX81Q9", "hello", "world");
    const texts = fc.array(fc.array(word, { maxLength: 5 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(texts, fc.array(fc.nat(9)), (all, order) => {
        const talk = all.map((words, index) => kept(index, `${words.join(" ")} .`));
        expect(coherenceOf(talk, talk)).toBe(1);
        const view = order.flatMap((index) => talk[index] ?? []);
        const score = coherenceOf(talk, view);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1);
      }),
      tries({ runs: 200, seed: 3 }),
    );
  });
});

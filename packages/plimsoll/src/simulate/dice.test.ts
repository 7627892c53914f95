import { expect, it } from "vitest";
import { between, diceOf, pick, shuffled, times } from "./dice.ts";

it("gives the same numbers for the same seed, in every version", () => {
  const dice = diceOf(7);
  expect(times(3, dice)).toEqual([0.011704753153026104, 0.06195825757458806, 0.97690763277933]);
  expect(diceOf(8)()).not.toBe(diceOf(7)());
});

it("reaches both ends of a range, and nothing beyond them", () => {
  const dice = diceOf(1);
  const rolled = new Set(times(200, () => between(dice, 3, 6)));
  expect([...rolled].toSorted()).toEqual([3, 4, 5, 6]);
});

it("picks each of some things, and shuffles without losing one", () => {
  const dice = diceOf(2);
  expect(new Set(times(100, () => pick(dice, ["a", "b", "c"]))).size).toBe(3);
  const order = shuffled(
    dice,
    times(20, (index) => index),
  );
  expect(order).not.toEqual(order.toSorted((left, right) => left - right));
  expect(new Set(order).size).toBe(20);
});

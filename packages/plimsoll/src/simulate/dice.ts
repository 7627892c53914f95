/** Random numbers from a seed, for simulated conversations, the demo and tests. The same seed always gives the same numbers. */

/** Returns the next random value, 0 ≤ value < 1. */
export type Dice = () => number;

export type Some<T> = readonly [T, ...T[]];

/** A 32-bit generator (mulberry32): small, and good enough to generate texts. */
export function diceOf(seed: number): Dice {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function pick<T>(dice: Dice, from: Some<T>): T {
  return from[Math.floor(dice() * from.length)] ?? from[0];
}

/** A random whole number from least to most, both included. */
export function between(dice: Dice, least: number, most: number): number {
  return least + Math.floor(dice() * (most - least + 1));
}

/** An array of `count` generated values. */
export function times<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** The items in random order. */
export function shuffled<T>(dice: Dice, items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, place: dice() }))
    .toSorted((left, right) => left.place - right.place)
    .map(({ item }) => item);
}

/** The seeded random numbers of the demo, and of tests that must not import from the sources. */

// biome-ignore lint/performance/noBarrelFile: black-box tests may import the demo, but not the sources.
export {
  between,
  type Dice,
  diceOf,
  pick,
  type Some,
  shuffled,
  times,
} from "../src/simulate/dice.ts";

/**
 * The number of runs and the seed of the random tests. `npm test` makes few runs, always with the same seeds.
 * With `PLIMSOLL_SOAK=1` the tests make many runs. `PLIMSOLL_SEED` sets another seed for all of them.
 */

export const isSoak = process.env["PLIMSOLL_SOAK"] === "1";

/** How many times more runs a soak run makes, unless the test sets a number. */
const SOAK_FACTOR = 5;

/** The seed from the environment, or the test's own. */
export function seedOr(own: number): number {
  return Number(process.env["PLIMSOLL_SEED"] ?? own);
}

/** The number for `npm test`, or the number for a soak run. */
export function effort(usual: number, soak: number): number {
  return isSoak ? soak : usual;
}

export interface Tries {
  readonly runs: number;
  /** Runs in a soak run. Default: five times `runs`. */
  readonly soak?: number;
  readonly seed: number;
}

/** Options for `fc.assert`. A test that sets `soak` is slow, so it does not shrink its counterexample. */
export function tries({ runs, soak, seed }: Tries): {
  readonly numRuns: number;
  readonly seed: number;
  readonly endOnFailure: boolean;
} {
  const numRuns = effort(runs, soak ?? runs * SOAK_FACTOR);
  return { numRuns, seed: seedOr(seed), endOnFailure: soak !== undefined };
}

/**
 * How hard the random tests try, and with which seed. `npm test` tries a little, and the same with every run of a commit;
 * `npm run test:soak` (`PLIMSOLL_SOAK=1`) tries long. `PLIMSOLL_SEED` gives all of them another seed.
 */

export const isSoak = process.env["PLIMSOLL_SOAK"] === "1";

/** How much longer a soak run tries, where a test does not say. */
const SOAK_FACTOR = 5;

/** The seed that the environment gives, or the test's own. */
export function seedOr(own: number): number {
  return Number(process.env["PLIMSOLL_SEED"] ?? own);
}

/** So many in `npm test`, and so many in a soak run. */
export function effort(usual: number, soak: number): number {
  return isSoak ? soak : usual;
}

export interface Tries {
  readonly runs: number;
  /** Five times as many, unless the test says otherwise. */
  readonly soak?: number;
  readonly seed: number;
}

/** For `fc.assert`. A test that names its soak runs is a slow one, and does not look for a smaller counterexample. */
export function tries({ runs, soak, seed }: Tries): {
  readonly numRuns: number;
  readonly seed: number;
  readonly endOnFailure: boolean;
} {
  const numRuns = effort(runs, soak ?? runs * SOAK_FACTOR);
  return { numRuns, seed: seedOr(seed), endOnFailure: soak !== undefined };
}

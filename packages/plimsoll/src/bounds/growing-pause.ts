/** Pauses between attempts. The pause doubles with every failure, up to a maximum. Pure. */

export interface GrowingPause {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** The pause after a failed attempt, in milliseconds. `failures` is the number of attempts that failed before this one. */
export function pauseAfter({ baseMs, maxMs }: GrowingPause, failures: number): number {
  return Math.min(maxMs, baseMs * 2 ** failures);
}

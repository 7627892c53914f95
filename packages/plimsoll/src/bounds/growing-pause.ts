/** Pauses between attempts. The pause doubles with every failure, up to a maximum. Pure. */

export interface GrowingPause {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** The pause after a failed attempt. `failures`: the number of attempts that had already failed before it. */
export function pauseAfter({ baseMs, maxMs }: GrowingPause, failures: number): number {
  return Math.min(maxMs, baseMs * 2 ** failures);
}

/** Pauses between attempts. The pause doubles with every failure, up to a maximum. Pure. */

export interface GrowingPause {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** `failures`: the number of failed attempts before the latest one. */
export function pauseAfter({ baseMs, maxMs }: GrowingPause, failures: number): number {
  return Math.min(maxMs, baseMs * 2 ** failures);
}

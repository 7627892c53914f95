/** Pauses between attempts: the first one, doubled with every failure, up to the longest. Pure. */

export interface GrowingPause {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** `failures`: how many attempts before the one that failed last have failed too. */
export function pauseAfter({ baseMs, maxMs }: GrowingPause, failures: number): number {
  return Math.min(maxMs, baseMs * 2 ** failures);
}

/** Percentiles and medians: a mean of times tells more about the neighbours on the machine than about the code. */

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  const index = Math.min(sorted.length - 1, Math.floor(sorted.length * share));
  return sorted[index] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** For processor time, of which garbage collection takes a lump in some rounds and nothing in others. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Of pairs that were measured next to each other: what slows one round down slows both of its sides. */
export function medianRatio(values: readonly number[], bases: readonly number[]): number {
  return median(values.map((value, index) => value / (bases[index] ?? Number.NaN)));
}

/** The power of the length with which the time grows: the slope, by least squares, of both logarithms. */
export function growthExponent(
  points: readonly (readonly [length: number, time: number])[],
): number {
  const logs = points.map(([length, time]) => [Math.log(length), Math.log(time)] as const);
  const across = mean(logs.map(([x]) => x));
  const up = mean(logs.map(([, y]) => y));
  const together = logs.reduce((sum, [x, y]) => sum + (x - across) * (y - up), 0);
  return together / logs.reduce((sum, [x]) => sum + (x - across) ** 2, 0);
}

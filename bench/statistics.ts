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

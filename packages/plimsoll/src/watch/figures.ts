/** Counts as people read them. Pure. */

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en-US", {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

/** 12,345 */
export function grouped(count: number): string {
  return whole.format(count);
}

/** 12,345 · 1.2M · 3.4B: for where there is little room. */
export function brief(count: number): string {
  if (Math.abs(count) >= 1e9) return `${tenth.format(count / 1e9)}B`;
  if (Math.abs(count) >= 1e6) return `${tenth.format(count / 1e6)}M`;
  return grouped(count);
}

/** Formats whole numbers for people. */

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** Writes 48231 as 48,231. */
export function grouped(count: number): string {
  return whole.format(count);
}

/** Whole numbers as people read them. */

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** 48231 as 48,231. */
export function grouped(count: number): string {
  return whole.format(count);
}

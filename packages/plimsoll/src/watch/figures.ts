/** Counts as people read them. Pure. */

import { grouped } from "../text/digits.ts";

const tenth = new Intl.NumberFormat("en-US", {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

/** Of a share, rounded down: 0.7999 is 79, so that nothing below a threshold of 80 looks as if it had reached it. */
export function wholePercent(share: number): number {
  // 0.29 * 100 is a hair below 29.
  return Math.floor(share * 100 + 1e-9);
}

/** 12,345 · 1.2M · 3.4B: for where there is little room. */
export function brief(count: number): string {
  if (Math.abs(count) >= 1e9) return `${tenth.format(count / 1e9)}B`;
  if (Math.abs(count) >= 1e6) return `${tenth.format(count / 1e6)}M`;
  return grouped(count);
}

/** A size that nobody has told says so. */
export function windowWords(
  { window, isWindowGuess }: { readonly window: number; readonly isWindowGuess?: true | undefined },
  write: (tokens: number) => string,
): string {
  return isWindowGuess === true ? `${write(window)} (a guess)` : write(window);
}

/** Cents and less matter here. */
export function moneyText(usd: number | null): string {
  if (usd === null) return "unknown";
  return usd !== 0 && usd < 0.01 ? `$${usd.toFixed(5)}` : `$${usd.toFixed(2)}`;
}

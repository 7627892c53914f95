/** Formats numbers for people. Pure. */

import { grouped } from "../text/digits.ts";

const tenth = new Intl.NumberFormat("en-US", {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

/** A share in percent, rounded down: 0.7999 gives 79, so that no value below a threshold of 80 seems to have reached it. */
export function wholePercent(share: number): number {
  // In floating point, 0.29 * 100 is slightly below 29.
  return Math.floor(share * 100 + 1e-9);
}

/** A number in short form, for narrow columns: 12,345, 1.2M or 3.4B. */
export function brief(count: number): string {
  if (Math.abs(count) >= 1e9) return `${tenth.format(count / 1e9)}B`;
  if (Math.abs(count) >= 1e6) return `${tenth.format(count / 1e6)}M`;
  return grouped(count);
}

/** Writes the size of a window, and adds "(a guess)" if the size is not known for sure. */
export function windowWords(
  { window, isWindowGuess }: { readonly window: number; readonly isWindowGuess?: true | undefined },
  write: (tokens: number) => string,
): string {
  return isWindowGuess === true ? `${write(window)} (a guess)` : write(window);
}

/** Shows small amounts with more digits, because fractions of a cent matter here. */
export function moneyText(usd: number | null): string {
  if (usd === null) return "unknown";
  return usd !== 0 && usd < 0.01 ? `$${usd.toFixed(5)}` : `$${usd.toFixed(2)}`;
}

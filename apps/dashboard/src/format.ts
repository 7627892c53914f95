/** Figures, times and text from outside, in readable form. */

import { grouped } from "plimsoll/text/digits";
import { brief, wholePercent } from "plimsoll/watch/figures";

/** A count in short form, such as 12,345, 1.2M or 3.4B. */
export const tokens: (count: number) => string = brief;

/**
 * A share in percent, rounded down: 0.839 is 83%. So a share just below a threshold does not look as if it had reached the
 * threshold. A positive share below 1% is shown as <1%.
 */
export function share(of: number): string {
  return of > 0 && of < 0.01 ? "<1%" : `${grouped(wholePercent(of))}%`;
}

/** An amount in US dollars with two decimals, or with four if it is below 10 cents. */
export function usd(amount: number): string {
  const size = Math.abs(amount);
  const sign = amount < 0 ? "−" : "";
  if (size === 0) return "$0.00";
  if (size < 0.0001) return `${sign}<$0.0001`;
  const digits = size >= 0.1 ? 2 : 4;
  return `${sign}$${size.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

const steps = [
  { ms: 86_400_000, unit: "d" },
  { ms: 3_600_000, unit: "h" },
  { ms: 60_000, unit: "min" },
  { ms: 1000, unit: "s" },
] as const;

/** The time since `at`, such as “12 s ago”. */
export function ago(at: number, now: number = Date.now()): string {
  const passed = Math.max(0, now - at);
  const step = steps.find(({ ms }) => passed >= ms);
  return step === undefined || passed < 5000
    ? "just now"
    : `${Math.floor(passed / step.ms)} ${step.unit} ago`;
}

/** A time such as 2026-01-31 14:05:09, in the reader's local time. */
export function timeOf(at: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "unknown";
  const two = (part: number): string => String(part).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":")}`;
}

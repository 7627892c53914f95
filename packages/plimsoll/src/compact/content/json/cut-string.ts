/** Cuts the middle out of a JSON string without parsing it, so that the result is still a valid JSON string. */

import { grouped } from "../../../text/digits.ts";
import { cutTexts } from "../../../text/for-models.ts";

/** Keeps about `limit` characters, more of the beginning than of the end. `raw` is the string with its quotes. */
export function cutJsonString(raw: string, limit: number): string {
  const overhead = 24;
  if (raw.length <= limit + overhead) return raw;
  const head = boundary(raw, 1 + Math.ceil(limit * 0.7));
  const tail = boundary(raw, raw.length - 1 - Math.floor(limit * 0.3));
  if (tail - head < overhead) return raw;
  return `${raw.slice(0, head)}${cutTexts.gap(`${grouped(tail - head)} characters`)}${raw.slice(tail)}`;
}

/** The first position from `at` on that splits neither an escape nor a pair of surrogates. */
function boundary(raw: string, at: number): number {
  let place = escapeAround(raw, at) ?? at;
  const isPair = (): boolean =>
    (isHigh(raw.charCodeAt(place - 1)) && isLow(raw.charCodeAt(place))) ||
    (/\\u[dD][89abAB]..$/.test(raw.slice(Math.max(0, place - 6), place)) &&
      /^\\u[dD][c-fC-F]/.test(raw.slice(place, place + 4)));
  if (isPair()) place += raw[place] === "\\" ? 6 : 1;
  return Math.min(place, raw.length - 1);
}

/** The end of the escape that contains `at`. Undefined if `at` is not inside an escape. */
function escapeAround(raw: string, at: number): number | undefined {
  for (let start = at - 1; start >= Math.max(1, at - 5); start--) {
    if (raw[start] !== "\\") continue;
    let first = start;
    while (first > 1 && raw[first - 1] === "\\") first--;
    const isEscape = (start - first) % 2 === 0;
    if (!isEscape) return undefined;
    const end = start + (raw[start + 1] === "u" ? 6 : 2);
    return end > at ? end : undefined;
  }
  return undefined;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

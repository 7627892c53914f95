/** The bytes of JSON syntax, for code that finds places in JSON without parsing or copying it. */

export const quote = 0x22;
export const backslash = 0x5c;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;

export function isJsonSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Most keys and short values end within this many bytes. For longer strings, a native search is faster. */
const shortString = 24;

/** The position of the quote that closes a string, or -1. `from` is the position after the opening quote. */
export function closingQuote(bytes: Uint8Array, from: number): number {
  const nearEnd = Math.min(bytes.length, from + shortString);
  let position = from;
  while (position < nearEnd) {
    const byte = bytes[position];
    if (byte === quote) return position;
    position += byte === backslash ? 2 : 1;
  }
  while (position < bytes.length) {
    const found = bytes.indexOf(quote, position);
    if (found < 0) return -1;
    if (backslashesBefore(bytes, found, position) % 2 === 0) return found;
    position = found + 1;
  }
  return -1;
}

/** The number of backslashes directly before `position`. Counting stops at `from`, because no escape begins before `from`. */
function backslashesBefore(bytes: Uint8Array, position: number, from: number): number {
  let count = 0;
  while (position - count > from && bytes[position - count - 1] === backslash) count++;
  return count;
}

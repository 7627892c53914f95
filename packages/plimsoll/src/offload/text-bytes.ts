/** Text as UTF-8 bytes: cutting between characters, and counting lines. */

const lineFeed = 0x0a;

/** Index of the first byte of the character that contains this byte. Bytes of the form 10xxxxxx continue a character. */
export function startOfCharacter(bytes: Uint8Array, index: number): number {
  let at = Math.max(0, Math.min(bytes.length, index));
  while (at > 0 && at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) at--;
  return at;
}

export function endOfCharacter(bytes: Uint8Array, index: number): number {
  let at = Math.max(0, Math.min(bytes.length, index));
  while (at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) at++;
  return at;
}

export function countFeeds(bytes: Uint8Array, start: number, end: number): number {
  let feeds = 0;
  for (let at = start; at < end; at++) if (bytes[at] === lineFeed) feeds++;
  return feeds;
}

/** Number of lines. A line feed at the very end does not begin another line. */
export function countLines(bytes: Uint8Array): number {
  if (bytes.length === 0) return 0;
  return countFeeds(bytes, 0, bytes.length - 1) + 1;
}

/** Index of the line feed that ends the line, or the end of the text. */
export function lineEnd(bytes: Uint8Array, from: number): number {
  const feed = bytes.indexOf(lineFeed, from);
  return feed < 0 ? bytes.length : feed;
}

export function lineStart(bytes: Uint8Array, from: number): number {
  return from === 0 ? 0 : bytes.lastIndexOf(lineFeed, from - 1) + 1;
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export function textBetween(bytes: Uint8Array, start: number, end: number): string {
  return decoder.decode(bytes.subarray(start, end));
}

/** The text on one line, with at most this many characters. */
export function oneLine(text: string, chars: number): string {
  const line = text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ");
  return line.length > chars ? `${line.slice(0, chars).replace(/[\ud800-\udbff]$/, "")}…` : line;
}

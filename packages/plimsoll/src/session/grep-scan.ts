/** Lines of a text that match: by a string, or by a pattern. Bytes in, places in them out. */

import { type LineMatch, longLineBytes } from "../offload/read-matches.ts";
import { countFeeds, lineEnd, lineStart } from "../offload/text-bytes.ts";

export interface Scanned {
  readonly matches: readonly LineMatch[];
  readonly total: number;
  readonly isMore: boolean;
}

/** Beyond it nobody cares how many there are. */
const countedMax = 10_000;

interface Tally {
  add(match: () => LineMatch): void;
  isFull(): boolean;
  result(): Scanned;
}

function createTally(most: number): Tally {
  const matches: LineMatch[] = [];
  let total = 0;
  return {
    add: (match) => {
      total += 1;
      if (matches.length < most) matches.push(match());
    },
    isFull: () => total > countedMax,
    result: () => ({
      matches,
      total: Math.min(total, countedMax),
      isMore: total > countedMax,
    }),
  };
}

export function scanString(bytes: Uint8Array, wanted: string, most: number): Scanned {
  const needle = Buffer.from(wanted);
  const hay = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tally = createTally(most);
  let counted = { at: 0, line: 0 };
  let from = needle.length === 0 ? -1 : hay.indexOf(needle);
  while (from >= 0 && !tally.isFull()) {
    const [start, end] = [lineStart(bytes, from), lineEnd(bytes, from)];
    const at = from;
    tally.add(() => {
      counted = { at: start, line: counted.line + countFeeds(bytes, counted.at, start) };
      return { line: counted.line, start, end, from: at };
    });
    from = hay.indexOf(needle, end - start > longLineBytes ? from + needle.length : end + 1);
  }
  return tally.result();
}

/** Contract: may take for ever, as patterns may; whoever calls it must be able to end it. */
export function scanPattern(bytes: Uint8Array, pattern: RegExp, most: number): Scanned {
  const flags = pattern.flags.includes("i") ? "gi" : "g";
  const search = new RegExp(pattern.source, flags);
  const tally = createTally(most);
  let start = 0;
  for (let line = 0; start < bytes.length && !tally.isFull(); line++) {
    const end = lineEnd(bytes, start);
    scanLine(bytes, { line, start, end }, search, tally);
    start = end + 1;
  }
  return tally.result();
}

const carriageReturn = 0x0d;

interface Line {
  readonly line: number;
  readonly start: number;
  readonly end: number;
}

function scanLine(bytes: Uint8Array, place: Line, search: RegExp, tally: Tally): void {
  const { start, end } = place;
  // A carriage return belongs to the line feed: `$` stands before both.
  const size = end - start - (bytes[end - 1] === carriageReturn && end > start ? 1 : 0);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, size).toString("utf8");
  const isLong = end - start > longLineBytes;
  search.lastIndex = 0;
  let known = { chars: 0, at: start };
  for (;;) {
    const found = search.exec(text);
    if (found === null || tally.isFull()) return;
    const { index } = found;
    const [match] = found;
    tally.add(() => {
      known = {
        chars: index,
        at: known.at + Buffer.byteLength(text.slice(known.chars, index)),
      };
      return { ...place, from: known.at };
    });
    if (!isLong) return;
    // Nothing was matched there: on, or it would be found for ever.
    if (match === "") search.lastIndex += 1;
  }
}

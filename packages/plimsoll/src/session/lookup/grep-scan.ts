/** Finds the lines of a text that match a string or a pattern. The text is given as bytes, and positions are byte offsets. */

import { type LineMatch, longLineBytes, type MatchWindow } from "../../offload/read-matches.ts";
import { countFeeds, lineEnd, lineStart } from "../../offload/text-bytes.ts";

export interface Scanned {
  readonly matches: readonly LineMatch[];
  readonly total: number;
  readonly isMore: boolean;
}

/** Matches are counted up to this number. If there are more, the exact number is of no use. */
const countedMax = 10_000;

interface MatchCollector {
  add(match: () => LineMatch): void;
  isFull(): boolean;
  result(): Scanned;
}

function createMatchCollector(most: number): MatchCollector {
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

export function scanString(
  bytes: Uint8Array,
  wanted: string,
  { from: first, most }: MatchWindow,
): Scanned {
  const needle = Buffer.from(wanted);
  const hay = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const collector = createMatchCollector(most);
  let counted = { at: 0, line: 0 };
  let from = needle.length === 0 ? -1 : hay.indexOf(needle, first);
  while (from >= 0 && !collector.isFull()) {
    const [start, end] = [lineStart(bytes, from), lineEnd(bytes, from)];
    const at = from;
    collector.add(() => {
      counted = { at: start, line: counted.line + countFeeds(bytes, counted.at, start) };
      return { line: counted.line, start, end, from: at };
    });
    from = hay.indexOf(needle, end - start > longLineBytes ? from + needle.length : end + 1);
  }
  return collector.result();
}

/** Contract: the caller must be able to stop this function, because with some patterns it never returns. */
export function scanPattern(
  bytes: Uint8Array,
  pattern: RegExp,
  { from, most }: MatchWindow,
): Scanned {
  const flags = pattern.flags.includes("i") ? "gi" : "g";
  const search = new RegExp(pattern.source, flags);
  const collector = createMatchCollector(most);
  let start = 0;
  for (let line = 0; start < bytes.length && !collector.isFull(); line++) {
    const end = lineEnd(bytes, start);
    if (end >= from) scanLine(bytes, { line, start, end }, { search, from, collector });
    start = end + 1;
  }
  return collector.result();
}

const carriageReturn = 0x0d;

interface Line {
  readonly line: number;
  readonly start: number;
  readonly end: number;
}

interface LineSearch {
  readonly search: RegExp;
  readonly from: number;
  readonly collector: MatchCollector;
}

function scanLine(bytes: Uint8Array, place: Line, { search, from, collector }: LineSearch): void {
  const { start, end } = place;
  // A carriage return before the line feed is not part of the line, so `$` matches before it.
  const size = end - start - (bytes[end - 1] === carriageReturn && end > start ? 1 : 0);
  const text = decoded(bytes, start, start + size);
  const isLong = end - start > longLineBytes;
  let known = { chars: 0, at: start };
  if (from > start) known = { chars: decoded(bytes, start, from).length, at: from };
  search.lastIndex = known.chars;
  for (;;) {
    const found = search.exec(text);
    if (found === null || collector.isFull()) return;
    const { index } = found;
    const [match] = found;
    // After an empty match, the search must move on by one character. Otherwise it would find the same match forever.
    if (match === "") search.lastIndex += 1;
    if (isInsideCharacter(text, index)) continue;
    collector.add(() => {
      known = {
        chars: index,
        at: known.at + Buffer.byteLength(text.slice(known.chars, index)),
      };
      return { ...place, from: known.at };
    });
    if (!isLong) return;
  }
}

function decoded(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8");
}

/** Whether the index is between the halves of a surrogate pair, to which no byte offset corresponds. */
function isInsideCharacter(text: string, index: number): boolean {
  return (text.codePointAt(index - 1) ?? 0) > 0xffff;
}

/** The lines of a content that match a pattern, with their numbers and the lines around them. */

import { grouped } from "../text/digits.ts";
import { pageTexts } from "../text/for-models.ts";
import {
  countFeeds,
  endOfCharacter,
  lineEnd,
  lineStart,
  oneLine,
  startOfCharacter,
  textBetween,
} from "./text-bytes.ts";

/** A match. All positions are byte offsets in the searched bytes. */
export interface LineMatch {
  /** Line number. The first line has the number 0. */
  readonly line: number;
  /** Beginning and end of the line, without its line feed. */
  readonly start: number;
  readonly end: number;
  /** Where the match begins. */
  readonly from: number;
}

export type LineMatches =
  | {
      readonly kind: "matched";
      /**
       * The first matches, in order. Only the first match of a line is included, except in lines of more than `longLineBytes`.
       */
      readonly matches: readonly LineMatch[];
      /** Number of all matches that were counted. */
      readonly total: number;
      /** True if there are more matches than were counted. */
      readonly isMore: boolean;
      /** True if the pattern is not a valid regular expression and was searched for as plain text. */
      readonly isLiteral: boolean;
    }
  | { readonly kind: "too-slow" }
  | { readonly kind: "failed" };

export interface MatchWindow {
  /** Matches that begin before this offset are not returned, but a pattern may look at the text before it. */
  readonly from: number;
  /** Maximum number of matches to return. */
  readonly most: number;
}

/** Contract: never rejects, and ends in bounded time whatever the pattern is. `bytes` must begin at the start of a line. */
export type MatchLines = (
  bytes: Uint8Array,
  pattern: string,
  window: MatchWindow,
) => Promise<LineMatches>;

/** A line with more bytes than this is data without line breaks, so every match in it is shown. */
export const longLineBytes = 1_000;
/** Maximum number of matches in one answer. The next page shows the others. */
const shownMax = 50;

export interface MatchRequest {
  readonly pattern: string;
  readonly offset: number;
  readonly limit: number;
}

export async function readMatches(
  chosen: Chosen,
  request: MatchRequest,
  room: PageRoom,
  matchLines: MatchLines,
): Promise<Page> {
  const { bytes, title } = chosen;
  const start = startOfCharacter(bytes, request.offset);
  // The search begins at the start of the line that contains the offset, because a pattern may depend on the whole line.
  const first = lineStart(bytes, start);
  const found = await matchLines(bytes.subarray(first), request.pattern, {
    from: start - first,
    most: shownMax + 1,
  });
  const name = `/${oneLine(request.pattern, 80)}/`;
  if (found.kind === "too-slow")
    return {
      kind: "refused",
      text: pageTexts.slowPattern(title, name),
    };
  if (found.kind === "failed")
    return {
      kind: "refused",
      text: pageTexts.searchFailed(title),
    };
  const as = found.isLiteral ? pageTexts.literalPattern : "";
  if (found.matches.length === 0)
    return { kind: "page", text: pageTexts.noMatch(title, `${name}${as}`) };
  const matches = placed(found.matches, chosen, first);
  const since = start === 0 ? "" : ` from byte ${start} on`;
  const head = `${title}: ${countText(found)} of ${name}${as}${since}`;
  return fitting({ bytes, matches, head, limit: request.limit, total: found.total }, room);
}

/** Converts positions that were counted from `first` on into positions in the whole text. */
function placed(
  matches: readonly LineMatch[],
  { bytes, firstLine }: Chosen,
  first: number,
): readonly LineMatch[] {
  const line = firstLine + countFeeds(bytes, 0, first);
  return matches.map((match) => ({
    line: line + match.line,
    start: first + match.start,
    end: first + match.end,
    from: first + match.from,
  }));
}

function countText({
  total,
  isMore,
}: {
  readonly total: number;
  readonly isMore: boolean;
}): string {
  return `${isMore ? "more than " : ""}${grouped(total)} ${total === 1 ? "match" : "matches"}`;
}

interface Answer {
  readonly bytes: Uint8Array;
  readonly matches: readonly LineMatch[];
  readonly head: string;
  readonly limit: number;
  readonly total: number;
}

/**
 * How many lines are shown before and after a match, and how many bytes of each line. If there is little room, a style with
 * smaller numbers is used.
 */
interface Style {
  readonly around: number;
  readonly width: number;
}
const styles: readonly Style[] = [
  { around: 2, width: 400 },
  { around: 0, width: 200 },
  { around: 0, width: 60 },
];

function fitting(answer: Answer, room: PageRoom): Page {
  for (const style of styles) {
    let most = Math.min(shownMax, answer.matches.length);
    while (most > 0) {
      const text = written(answer, most, style);
      const tokens = room.count(text);
      const isSmall = new TextEncoder().encode(text).length <= answer.limit || most === 1;
      if (tokens <= room.tokens && isSmall) return { kind: "page", text };
      // If even a single match does not fit, the next smaller style is tried.
      most = most === 1 ? 0 : Math.max(1, Math.floor(most * 0.7));
    }
  }
  return { kind: "refused", text: pageTexts.noRoomForMatch(answer.head) };
}

function written({ bytes, matches, head, total }: Answer, most: number, style: Style): string {
  const listedMatches = matches.slice(0, most);
  const next = matches[most];
  const here = total === listedMatches.length ? "" : `, here the first ${listedMatches.length}`;
  const rest = next === undefined ? "" : `; next offset ${offsetOf(next)}`;
  return [`[${head}${here}${rest}]`, ...rowsOf(bytes, listedMatches, style)].join("\n");
}

/** The offset at which the next search must start to find this match first. */
function offsetOf({ start, end, from }: LineMatch): number {
  return end - start > longLineBytes ? from : start;
}

/** The rows of the answer in grep's format: `12:` begins a match, `11-` begins a line near a match, and `--` is a gap. */
function rowsOf(
  bytes: Uint8Array,
  matches: readonly LineMatch[],
  { around, width }: Style,
): readonly string[] {
  const rows: string[] = [];
  let lastLine = 0;
  const write = (line: number, row: string): void => {
    if (lastLine > 0 && line > lastLine + 1) rows.push("--");
    rows.push(row);
    lastLine = line;
  };
  for (const [index, match] of matches.entries()) {
    for (const { line, start, end } of linesBefore(bytes, match, around))
      if (line > lastLine) write(line, `${line}-${cutLine(bytes, start, end, width)}`);
    write(match.line, matchRow(bytes, match, width));
    const until = matches[index + 1]?.line ?? Number.POSITIVE_INFINITY;
    for (const { line, start, end } of linesAfter(bytes, match, around))
      if (line < until) write(line, `${line}-${cutLine(bytes, start, end, width)}`);
  }
  return rows;
}

interface Line {
  readonly line: number;
  readonly start: number;
  readonly end: number;
}

function linesBefore(bytes: Uint8Array, match: LineMatch, around: number): readonly Line[] {
  const lines: Line[] = [];
  let { line } = match;
  let first = lineStart(bytes, match.start);
  for (let step = 0; step < around && first > 0; step++) {
    const end = first - 1;
    first = lineStart(bytes, end);
    line -= 1;
    lines.unshift({ line, start: first, end });
  }
  return lines;
}

function linesAfter(bytes: Uint8Array, match: LineMatch, around: number): readonly Line[] {
  const lines: Line[] = [];
  let { line, end } = match;
  for (let step = 0; step < around && end + 1 < bytes.length; step++) {
    const start = end + 1;
    end = lineEnd(bytes, start);
    line += 1;
    lines.push({ line, start, end });
  }
  return lines;
}

function cutLine(bytes: Uint8Array, start: number, end: number, width: number): string {
  if (end - start <= width) return textBetween(bytes, start, end);
  return `${textBetween(bytes, start, startOfCharacter(bytes, start + width))}…`;
}

/**
 * The row of a match. If the line is too long, the row shows the text around the match, and the position of the match:
 * `12@48231:` means line 12, byte 48231.
 */
function matchRow(bytes: Uint8Array, match: LineMatch, width: number): string {
  const { line, start, end, from } = match;
  if (end - start <= width) return `${line}:${textBetween(bytes, start, end)}`;
  const first = Math.max(start, Math.min(endOfCharacter(bytes, from - width / 4), from));
  const last = Math.min(end, startOfCharacter(bytes, first + width));
  const before = first > start ? "…" : "";
  const after = last < end ? "…" : "";
  return `${line}@${from}:${before}${textBetween(bytes, first, last)}${after}`;
}

/** The content to read, or the part of it that the model asked for. */
export interface Chosen {
  readonly kind: "chosen";
  /** Title for the header of the answer. */
  readonly title: string;
  readonly bytes: Uint8Array;
  /** Number of the first line of `bytes` in the whole content. */
  readonly firstLine: number;
}

export type Page =
  | { readonly kind: "page"; readonly text: string }
  /** The request cannot be answered. The text says why, and what the model can ask for instead. */
  | { readonly kind: "refused"; readonly text: string };

/** The maximum number of tokens of the answer, including its header. */
export interface PageRoom {
  readonly tokens: number;
  readonly count: (text: string) => number;
}

/** Splits texts into lines, and shortens them by scoring each line. */

import { grouped } from "../../../text/digits.ts";
import { cutTexts } from "../../../text/for-models.ts";
import type { CutOptions } from "./compressor.ts";
import { type Gap, matters, type Piece } from "./piece.ts";
import { cutPieces } from "./pieces.ts";
import { segmentsOf } from "./segments.ts";

/** Scores for the lines of one kind of content. All indexes refer to the lines that were passed in. */
export interface LineVerdicts {
  /** How informative each line is, from 0 to 5. Lines of score 0 are kept only near the beginning or the end of the text. */
  readonly scores: readonly number[];
  /** Indexes of the lines to keep before all others. */
  readonly keys?: ReadonlySet<number>;
  /** Adjacent lines with the same number belong together. Default: the lines between two blank lines. */
  readonly blocks?: readonly number[];
  /** Words that follow the number of missing lines in a mark. Default: "lines". */
  readonly missing?: (gap: Gap, lines: readonly string[]) => string | undefined;
}

export type ClassifyLines = (lines: readonly string[]) => LineVerdicts;

/** Turns a relative weight (0 to 1) into a score. A line with at least half of the highest weight becomes a key. */
export const weightFactor = 2 * matters;

export function cutLines(
  text: string,
  options: CutOptions,
  classify: ClassifyLines,
): string | undefined {
  const pieces = piecesOf(text);
  const lines = pieces.map(withoutEnd);
  const { scores, keys, missing, blocks = blockNumbers(lines) } = classify(lines);
  const weights = weightsOf(lines, options);
  const earlierLines = new Set<string>();
  const weighed: readonly Piece[] = pieces.map((piece, index) => {
    const weight = weightFactor * (weights[index] ?? 0);
    return {
      text: piece,
      score: (scores[index] || again(lines[index] ?? "", earlierLines)) + weight,
      isKey: (keys?.has(index) ?? false) || weight >= matters,
      block: blocks[index] ?? 0,
    };
  });
  return cutPieces(weighed, options, (gap) => markOf(gap, pieces, lines, missing));
}

/** A line that repeats an earlier line gets a negative score, so it is left out first. */
function again(line: string, earlierLines: Set<string>): number {
  if (line.trim() === "") return 0;
  if (earlierLines.has(line)) return -1;
  earlierLines.add(line);
  return 0;
}

/** The weight of each text from 0 to 1, relative to the highest weight. */
export function weightsOf(texts: readonly string[], { weigh }: CutOptions): Float64Array {
  const weights = new Float64Array(texts.length);
  if (weigh === undefined) return weights;
  let most = 0;
  for (const [index, text] of texts.entries()) {
    const weight = text === "" ? 0 : weigh(text);
    if (!(weight > 0)) continue;
    weights[index] = weight;
    if (weight > most) most = weight;
  }
  if (most > 0 && most < Number.POSITIVE_INFINITY)
    for (let index = 0; index < weights.length; index++)
      weights[index] = (weights[index] ?? 0) / most;
  return weights;
}

/** A line with more characters than this is split into segments, and some of them may be left out. */
const maxLineChars = 1_000;
const lineEnd = /(\r?\n)((?:\r?\n)+)?/g;

/** Lines with their line endings. Overlong lines are split into segments, and adjacent blank lines form one piece. */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  for (const { index, 1: end = "", 2: blank = "" } of text.matchAll(lineEnd)) {
    pushLine(pieces, text.slice(start, index + end.length));
    if (blank !== "") pieces.push(blank);
    start = index + end.length + blank.length;
  }
  if (start < text.length) pushLine(pieces, text.slice(start));
  return pieces;
}

function pushLine(pieces: string[], line: string): void {
  if (line.length <= maxLineChars) pieces.push(line);
  else for (const segment of segmentsOf(line)) pieces.push(segment);
}

function withoutEnd(piece: string): string {
  return piece.replace(/[\r\n]+$/, "");
}

const maxBlockLines = 16;

/** Groups the lines between blank lines into blocks of limited size. */
function blockNumbers(lines: readonly string[]): readonly number[] {
  const blocks: number[] = [];
  let block = 0;
  let size = 0;
  for (const line of lines) {
    if (line.trim() === "" || size >= maxBlockLines) {
      block++;
      size = 0;
    }
    blocks.push(block);
    size++;
  }
  return blocks;
}

const earlierMark = /^\W*… ([\d,]+) /;

/** The number of missing lines. A mark from an earlier cut is counted as the lines that it replaced. */
function lineCount(pieces: readonly string[], { first, last }: Gap): number {
  let count = 0;
  for (let index = first; index <= last; index++) {
    const piece = pieces[index] ?? "";
    const earlier = earlierMark.exec(piece)?.[1];
    count += earlier === undefined ? (piece.match(/\n/g)?.length ?? 0) : toNumber(earlier);
  }
  const isLastOpen = last === pieces.length - 1 && !pieces[last]?.endsWith("\n");
  return count + (isLastOpen ? 1 : 0);
}

function toNumber(figure: string): number {
  return Number(figure.replaceAll(",", ""));
}

function markOf(
  gap: Gap,
  pieces: readonly string[],
  lines: readonly string[],
  missing: LineVerdicts["missing"],
): string {
  const { first, last } = gap;
  const end = /\r?\n$/.exec(pieces[last] ?? "")?.[0] ?? "";
  const startsInside = first > 0 && !pieces[first - 1]?.endsWith("\n");
  const endsInside = end === "" && last < pieces.length - 1;
  if (startsInside || endsInside) {
    const chars = pieces.slice(first, last + 1).reduce((sum, { length }) => sum + length, 0);
    return `${startsInside ? " " : ""}${cutTexts.gap(`${grouped(chars)} characters`)}${endsInside ? " " : end}`;
  }
  const count = lineCount(pieces, gap);
  const what = missing?.(gap, lines) ?? "lines";
  const noun = count === 1 ? what.replace(/^(line|row)s\b/, "$1") : what;
  return `${cutTexts.gap(`${grouped(count)} ${noun}`)}${end}`;
}

/**
 * Cuts one text of a message into pieces, and puts the kept pieces together again. Kept pieces stay byte for byte and in order,
 * and marks replace the others.
 *
 * JSON is cut into records and members. Words of people and agents are cut between sentences; a sentence that was wrapped over
 * several lines is one piece. All other texts are cut between lines. A very long line is cut between its sentences or words.
 */

import { cutTexts } from "../../text/for-models.ts";
import { sentencesIn } from "../../text/sentences.ts";
import { paragraphsOf } from "../../text/wrapped-lines.ts";
import {
  type JsonPieces,
  type Piece,
  type PiecesRendering,
  readJsonPieces,
  renderJsonPieces,
} from "./json-pieces.ts";
import { estimateTokens, segmentsOf } from "./long-lines.ts";

export interface TextPieces {
  readonly text: string;
  readonly pieces: readonly Piece[];
  readonly json?: JsonPieces;
}

export interface PiecesReading {
  /** Real tokens per estimated token. */
  readonly density: number;
  /** True if a person or a model wrote the text. */
  readonly isProse: boolean;
  /** True if the text may begin with the name of its speaker, as in the minutes of a meeting. */
  readonly hasSpeaker?: boolean;
  /** True for an argument of a call. It is cut only once, in its middle, so it is not read as JSON. */
  readonly isArgument?: boolean;
}

/** A line or paragraph of more characters than this is cut into sentences, or into segments if it is not prose. */
const longestLine = 300;
/** A paragraph of words. */
const longestParagraph = 800;
/** A sentence of more characters than this is cut between words. */
const longestSentence = 500;

export function readPieces(text: string, reading: PiecesReading): TextPieces {
  const { density, isProse, isArgument = false } = reading;
  const json = isArgument ? undefined : readJsonPieces(text, density);
  if (json !== undefined) return { text, pieces: json.pieces, json };
  const lines = text.split("\n");
  const paragraphs = isProse
    ? withFences(paragraphsOf(lines), lines)
    : lines.map((_, line) => [line, line] as const);
  const pieces = paragraphs.flatMap(([line, lastLine]): readonly Piece[] => {
    const content =
      line === lastLine ? (lines[line] ?? "") : lines.slice(line, lastLine + 1).join("\n");
    const isLong = content.length > (isProse ? longestParagraph : longestLine);
    const parts = isLong ? partsOf(content, isProse) : [content];
    let at = line;
    return parts.map((part): Piece => {
      const first = at;
      at += part.split("\n").length - 1;
      // A part that ends with a line break ends before the line that the break begins.
      const last = part.endsWith("\n") ? at - 1 : at;
      return {
        text: part,
        tokens: estimateTokens(part, density),
        line: first,
        lastLine: last,
        needsNeighbour: parts.length === 1,
        frames: [],
        company: [],
      };
    });
  });
  const nested = isProse ? withParents(pieces) : pieces;
  return { text, pieces: reading.hasSpeaker === true ? withSpeaker(nested) : nested };
}

const fence = /^\s*(?:```|~~~)/;
/** A block of code of at most this many lines is one piece, because code with a hole in it misleads. */
const shortBlock = 14;

/** Joins the lines of each short block of code in words. */
function withFences(
  paragraphs: readonly (readonly [number, number])[],
  lines: readonly string[],
): readonly (readonly [number, number])[] {
  const joined: (readonly [number, number])[] = [];
  let isInLongBlock = false;
  for (let at = 0; at < paragraphs.length; at++) {
    const [first, last] = paragraphs[at] ?? [0, 0];
    const isFence = fence.test(lines[first] ?? "");
    const length: number = isFence && !isInLongBlock ? blockLength(paragraphs, at, lines) : 0;
    if (isFence) isInLongBlock = !isInLongBlock && length === 0;
    joined.push([first, paragraphs[at + length]?.[1] ?? last]);
    at += length;
  }
  return joined;
}

/** Number of paragraphs after this one up to the end of the block of code that it begins. 0 if the block is long. */
function blockLength(
  paragraphs: readonly (readonly [number, number])[],
  opening: number,
  lines: readonly string[],
): number {
  const within = paragraphs.slice(opening + 1, opening + 1 + shortBlock);
  return within.findIndex(([first]) => fence.test(lines[first] ?? "")) + 1;
}

const listItem = /^\s*(?:[-*+•]|\d{1,3}[.)])\s/;

/** A line that is indented under an item of a list is kept with that item, so that it is not read as a part of another item. */
function withParents(pieces: readonly Piece[]): readonly Piece[] {
  const parents: { readonly piece: number; readonly indent: number }[] = [];
  let line = -1;
  return pieces.map((piece, index) => {
    if (isBlank(piece) || piece.line === line)
      return { ...piece, company: parents.map((one) => one.piece).filter((one) => one !== index) };
    line = piece.line;
    const indent = /^\s*/.exec(piece.text)?.[0].length ?? 0;
    while ((parents.at(-1)?.indent ?? -1) >= indent) parents.pop();
    const company = parents.map((one) => one.piece);
    if (listItem.test(piece.text)) parents.push({ piece: index, indent });
    return { ...piece, company };
  });
}

const speaker = /^(?:\[[^\]\n]{1,60}\] )?[^:\n]{1,60}: /;

/** The name of the speaker becomes a piece that is kept with every other piece, because words without a speaker mislead. */
function withSpeaker(pieces: readonly Piece[]): readonly Piece[] {
  const [first, ...others] = pieces;
  const name = speaker.exec(first?.text ?? "")?.[0];
  if (first === undefined || name === undefined || others.length === 0) return pieces;
  const share = name.length / first.text.length;
  const words = first.text.slice(name.length);
  return [
    {
      ...first,
      text: name,
      tokens: first.tokens * share,
      lastLine: first.line,
      needsNeighbour: false,
    },
    ...(words === ""
      ? []
      : [{ ...first, text: words, tokens: first.tokens * (1 - share), company: [0] }]),
    ...others.map((piece) => ({ ...piece, company: [0] })),
  ];
}

function partsOf(content: string, isProse: boolean): readonly string[] {
  if (!isProse) return segmentsOf(content);
  return sentencesIn(content).flatMap((sentence) =>
    sentence.length > longestSentence ? segmentsOf(sentence) : [sentence],
  );
}

export function isBlank({ text }: Piece): boolean {
  return text.trim() === "";
}

/**
 * The text with marks for the pieces that are left out. If only blank lines would be left out, the text is returned unchanged.
 */
export function renderPieces(textPieces: TextPieces, rendering: PiecesRendering): string {
  const { pieces, json, text } = textPieces;
  const isWhole = pieces.every((piece, index) => rendering.isKept(index) || isBlank(piece));
  if (isWhole) return text;
  if (json !== undefined) return renderJsonPieces(json, rendering);
  const rendered = renderLines(textPieces, rendering);
  return rendered.length < text.length ? rendered : text;
}

function renderLines(
  { pieces }: TextPieces,
  { isKept, reference, isArgument = false }: PiecesRendering,
): string {
  const isShown = isArgument ? isKept : withSmallGaps(pieces, { isKept, reference });
  const kept = pieces.flatMap((piece, index) => (isShown(index) ? [{ piece, index }] : []));
  let where = reference;
  const mark: Mark = (lines) => {
    if (isArgument) return cutTexts.argument(lines, reference);
    const marked = lines > 0 ? cutTexts.excerptLines(lines, where) : cutTexts.inLine(where);
    where = "";
    return marked;
  };
  let out = "";
  for (let next = 0; next <= kept.length; next++) {
    const [before, behind] = [kept[next - 1], kept[next]];
    const between = pieces.slice((before?.index ?? -1) + 1, behind?.index ?? pieces.length);
    const words = behind?.piece.text ?? "";
    out += joint(before?.piece, behind?.piece, between, mark) + words;
  }
  return out;
}

/** A mark must hide this many times its own tokens. */
const worthMark = 1.5;

/** Also shows the pieces in gaps that take no more tokens than a mark would, because a mark must be cheaper than what it hides. */
function withSmallGaps(
  pieces: readonly Piece[],
  { isKept, reference }: PiecesRendering,
): PiecesRendering["isKept"] {
  const shown = pieces.map((_, index) => isKept(index));
  let where = reference;
  for (let first = shown.indexOf(false); first >= 0; ) {
    const next = shown.indexOf(true, first);
    const end = next < 0 ? pieces.length : next;
    const gap = pieces.slice(first, end).filter((piece) => !isBlank(piece));
    const tokens = gap.reduce((sum, { text }) => sum + estimateTokens(text) + 1, 0);
    if (tokens <= estimateTokens(cutTexts.excerptLines(gap.length, where)) * worthMark)
      shown.fill(true, first, end);
    else where = "";
    first = shown.indexOf(false, end);
  }
  return (index) => shown[index] === true;
}

/** Writes the mark for a number of missing lines, or for a missing part of one line if the number is 0. */
type Mark = (lines: number) => string;

/**
 * The text between two kept pieces: the end of the first piece's line, the lines in between, and the start of the second piece's
 * line.
 */
function joint(
  before: Piece | undefined,
  behind: Piece | undefined,
  between: readonly Piece[],
  mark: Mark,
): string {
  const missing = new Set(
    between
      .filter((piece) => !isBlank(piece))
      .flatMap(({ line, lastLine }) => range(line, lastLine)),
  );
  const isOneLine = before !== undefined && before.lastLine === behind?.line;
  if (isOneLine) {
    if (missing.size === 0) return "";
    return `${spaceAfter(before)}${mark(0)} `;
  }
  const isTorn = missing.delete(before?.lastLine ?? -1);
  const isBegun = missing.delete(behind?.line ?? -1);
  const ending = isTorn ? `${spaceAfter(before)}${mark(0)}` : "";
  const gap = missing.size === 0 ? blankLines(before, behind, between) : [mark(missing.size)];
  const beginning = isBegun ? `${mark(0)} ` : "";
  const endsLine = before?.text.endsWith("\n") === true && !isTorn;
  return [
    ...(before === undefined || endsLine ? [] : [ending]),
    ...gap,
    ...(behind === undefined ? [] : [beginning]),
  ].join("\n");
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, offset) => from + offset);
}

function spaceAfter(before: Piece | undefined): string {
  return before === undefined || /\s$/.test(before.text) ? "" : " ";
}

/** The blank lines between two kept pieces. A blank segment of a long line is not a blank line. */
function blankLines(
  before: Piece | undefined,
  behind: Piece | undefined,
  between: readonly Piece[],
): readonly string[] {
  const lines = new Set(between.filter(isBlank).map(({ line }) => line));
  for (const piece of [before?.lastLine, behind?.line]) lines.delete(piece ?? -1);
  return [...lines].map(() => "");
}

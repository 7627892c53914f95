/**
 * A sheet: one text of a message, cut into pieces that are kept or left out, and put together again. Kept pieces stay byte
 * for byte and in order; what is left out is marked where it stood.
 */

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
  /** Tokens per estimated token. */
  readonly density: number;
  /** Said by a person or a model: not torn before it is really long. */
  readonly isProse: boolean;
}

const longestLine = 300;
const longestProse = 800;

export function readPieces(text: string, { density, isProse }: PiecesReading): TextPieces {
  const json = readJsonPieces(text, density);
  if (json !== undefined) return { text, pieces: json.pieces, json };
  const longest = isProse ? longestProse : longestLine;
  const pieces = text.split("\n").flatMap((content, line): readonly Piece[] => {
    const isLong = content.length > longest;
    return (isLong ? segmentsOf(content) : [content]).map((segment) => ({
      text: segment,
      tokens: estimateTokens(segment, density),
      line,
      needsNeighbour: !isLong,
      frames: [],
    }));
  });
  return { text, pieces };
}

export function isBlank({ text }: Piece): boolean {
  return text.trim() === "";
}

/** The text with marks for what is left out; the text itself when nothing but blank lines is. */
export function renderPieces(textPieces: TextPieces, rendering: PiecesRendering): string {
  const { pieces, json, text } = textPieces;
  const isWhole = pieces.every((piece, index) => rendering.isKept(index) || isBlank(piece));
  if (isWhole) return text;
  return json === undefined
    ? renderLines(textPieces, rendering)
    : renderJsonPieces(json, rendering);
}

function renderLines({ pieces }: TextPieces, { isKept, reference }: PiecesRendering): string {
  const kept = pieces.flatMap((piece, index) => (isKept(index) ? [{ piece, index }] : []));
  let rest = ` ${reference}`;
  const mark = (text: string): string => {
    const marked = `${text}${rest}`;
    rest = "";
    return marked;
  };
  let out = "";
  for (let next = 0; next <= kept.length; next++) {
    const [before, behind] = [kept[next - 1], kept[next]];
    const between = pieces.slice((before?.index ?? -1) + 1, behind?.index ?? pieces.length);
    out += joint(before?.piece, behind?.piece, between, mark) + (behind?.piece.text ?? "");
  }
  return out;
}

/** What stands between two kept pieces: how the line of the first goes on, the lines between, how that of the second begins. */
function joint(
  before: Piece | undefined,
  behind: Piece | undefined,
  between: readonly Piece[],
  mark: (text: string) => string,
): string {
  const missing = new Set(between.filter((piece) => !isBlank(piece)).map(({ line }) => line));
  if (before !== undefined && before.line === behind?.line)
    return missing.size === 0 ? "" : apart(mark("…"));
  const isAll = before === undefined && behind === undefined && missing.size === 1;
  const isTorn = missing.delete(before?.line ?? -1);
  const isBegun = missing.delete(behind?.line ?? -1);
  const ending = isTorn ? mark("…") : "";
  const gap =
    missing.size === 0
      ? blankLines(before, behind, between)
      : [mark(isAll ? "…" : linesMissing(missing.size))];
  const beginning = isBegun ? apart(mark("…")) : "";
  return [
    ...(before === undefined ? [] : [ending]),
    ...gap,
    ...(behind === undefined ? [] : [beginning]),
  ].join("\n");
}

/** Of a long line that is torn, a blank stretch is no line. */
function blankLines(
  before: Piece | undefined,
  behind: Piece | undefined,
  between: readonly Piece[],
): readonly string[] {
  const lines = new Set(between.filter(isBlank).map(({ line }) => line));
  for (const piece of [before, behind]) lines.delete(piece?.line ?? -1);
  return [...lines].map(() => "");
}

/** A mark with a number in it must not run into the text behind it. */
function apart(marked: string): string {
  return marked === "…" ? marked : `${marked} `;
}

function linesMissing(count: number): string {
  return count === 1 ? "… 1 line" : `… ${count} lines`;
}

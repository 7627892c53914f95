/**
 * Cuts one text of a message into pieces, and puts the kept pieces together again. Kept pieces stay byte for byte and in order,
 * and marks replace the others.
 */

import { cutTexts } from "../../text/for-models.ts";
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
  /** True if a person or a model wrote the text. The lines of such a text are split only if they are very long. */
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

/**
 * The text with marks for the pieces that are left out. If only blank lines would be left out, the text is returned unchanged.
 */
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

/**
 * The text between two kept pieces: the end of the first piece's line, the lines in between, and the start of the second piece's
 * line.
 */
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

/** The blank lines between two kept pieces. A blank segment of a long line is not a blank line. */
function blankLines(
  before: Piece | undefined,
  behind: Piece | undefined,
  between: readonly Piece[],
): readonly string[] {
  const lines = new Set(between.filter(isBlank).map(({ line }) => line));
  for (const piece of [before, behind]) lines.delete(piece?.line ?? -1);
  return [...lines].map(() => "");
}

/** Separates a mark that contains a number from the text after it. */
function apart(marked: string): string {
  return marked === "…" ? marked : `${marked} `;
}

function linesMissing(count: number): string {
  return cutTexts.excerptLines(count);
}

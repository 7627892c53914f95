/** Splits long lines and sentences into segments: into clauses if possible, else between words. */

import { grouped } from "../../../text/digits.ts";
import { cutTexts } from "../../../text/for-models.ts";
import type { Mark, Piece } from "./piece.ts";

const usualChars = 200;

/** Segments of at most about `chars` characters. All segments joined give the whole text. */
export function* segmentsOf(text: string, chars: number = usualChars): Generator<string> {
  let start = 0;
  while (text.length - start > chars) {
    const end = segmentEnd(text, start, chars);
    yield text.slice(start, end);
    start = end;
  }
  if (start < text.length) yield text.slice(start);
}

const clauseEnd = /[,;:.!?)\]}] $|[，；：。！？、\n]$/u;
const wordEnd = /\s$/;
const anySeparator = /[,;.|>)}\]]$/;

/** A segment may be so many characters too long, so that a word stays whole. */
const wordChars = 80;

/** Ends the segment after a clause, else after a word, else after a separator, and never inside a character. */
function segmentEnd(text: string, start: number, chars: number): number {
  const limit = start + chars;
  const half = limit - Math.floor(chars / 2);
  const found =
    lastEnd(text, clauseEnd, { from: half, to: limit }) ??
    lastEnd(text, wordEnd, { from: start + 1, to: limit }) ??
    firstWordEnd(text, limit) ??
    lastEnd(text, anySeparator, { from: half, to: limit });
  if (found !== undefined) return found;
  const code = text.charCodeAt(limit);
  return code >= 0xdc00 && code <= 0xdfff ? limit - 1 : limit;
}

function lastEnd(
  text: string,
  ending: RegExp,
  { from, to }: { readonly from: number; readonly to: number },
): number | undefined {
  for (let end = to; end >= from; end--) if (ending.test(text.slice(end - 2, end))) return end;
  return undefined;
}

function firstWordEnd(text: string, from: number): number | undefined {
  const index = text.slice(from, from + wordChars).search(/\s/);
  if (index >= 0) return from + index + 1;
  return text.length <= from + wordChars ? text.length : undefined;
}

/** A piece of a text, or a segment of one. */
export interface Segment extends Piece {
  /** Index of the piece. */
  readonly piece: number;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

const leastChars = 20;
const segmentsInGoal = 8;

/** Splits pieces that are large compared with the goal. All segments of a piece are worth the same per token. */
export function splitLargePieces(
  pieces: readonly Piece[],
  { goalChars, charTokens }: { readonly goalChars: number; readonly charTokens: number },
): readonly Segment[] {
  const chars = Math.min(usualChars, Math.max(leastChars, Math.floor(goalChars / segmentsInGoal)));
  return pieces.flatMap((piece, index): readonly Segment[] => {
    if (piece.text.length <= 2 * chars)
      return [{ ...piece, piece: index, isFirst: true, isLast: true }];
    const texts = [...segmentsOf(piece.text, chars)];
    return texts.map((text, at) => ({
      text,
      score: piece.score,
      worth: piece.score / (piece.text.length * charTokens),
      piece: index,
      isFirst: at === 0,
      isLast: at === texts.length - 1,
    }));
  });
}

/** In place of whole pieces, the mark of these pieces. If a segment of a piece stays, the mark counts characters. */
export function markOfSegments(segments: readonly Segment[], mark: Mark): Mark {
  const starts = segments.flatMap(({ isFirst }, index) => (isFirst ? [index] : []));
  return ({ first, last, isKept }) => {
    const [start, end] = [segments[first], segments[last]];
    if (start?.isFirst !== true || end?.isLast !== true) return markInside(segments, first, last);
    const isPieceKept = (piece: number): boolean => {
      const next = starts[piece + 1] ?? segments.length;
      for (let index = starts[piece] ?? next; index < next; index++) if (isKept(index)) return true;
      return false;
    };
    return mark({ first: start.piece, last: end.piece, isKept: isPieceKept });
  };
}

function markInside(segments: readonly Segment[], first: number, last: number): string {
  const missing = segments
    .slice(first, last + 1)
    .map(({ text }) => text)
    .join("")
    .trimEnd();
  const isGlued = /\S$/.test(segments[first - 1]?.text ?? "");
  const end = /\s*$/.exec(segments[last]?.text ?? "")?.[0] ?? "";
  const space = end === "" && last < segments.length - 1 ? " " : end;
  return `${isGlued ? " " : ""}${cutTexts.gap(`${grouped(missing.length)} characters`)}${space}`;
}

/** Cuts long text into pieces that can be found and read separately. Pieces consist of whole lines if possible. */

export interface Piece {
  readonly start: number;
  readonly end: number;
}

/** Target size of a piece in characters, about 80 tokens: a few lines of code or output, or a whole short message. */
const pieceChars = 300;
/** Lines up to this many characters stay whole, because they are paragraphs. Longer lines are data and are cut. */
const lineChars = 1_500;

/**
 * Cuts a text at line ends, and cuts lines that are too long at the best possible place. Contract: pieces are in order, do not
 * overlap, and contain more than white space. Only white space between them is left out.
 */
export function piecesOf(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  const add = (start: number, end: number): void => {
    if (/\S/.test(text.slice(start, end))) pieces.push({ start, end });
  };
  let start = 0;
  let lineStart = 0;
  while (lineStart < text.length) {
    const feed = text.indexOf("\n", lineStart);
    const lineEnd = feed < 0 ? text.length : feed;
    if (lineEnd - lineStart > lineChars) {
      add(start, Math.max(start, lineStart - 1));
      for (const cut of cutLine(text, lineStart, lineEnd)) add(cut.start, cut.end);
      start = lineEnd + 1;
    } else if (lineEnd - start > pieceChars && lineStart > start) {
      add(start, lineStart - 1);
      start = lineStart;
    }
    lineStart = lineEnd + 1;
  }
  add(start, text.length);
  return pieces;
}

/** Places to cut a line, best first: a line end inside quoted text, the end of a JSON value, of a clause, of a word. */
const cutPlaces = [/\\n/g, /[}\]],?/g, /[.!?,;。、，]\s?/g, /\s/g];

function cutLine(text: string, lineStart: number, lineEnd: number): readonly Piece[] {
  const cuts: Piece[] = [];
  let start = lineStart;
  while (lineEnd - start > pieceChars) {
    const end = start + cutLength(text.slice(start, start + pieceChars));
    cuts.push({ start, end });
    start = end;
  }
  cuts.push({ start, end: lineEnd });
  return cuts;
}

function cutLength(reach: string): number {
  for (const place of cutPlaces) {
    const last = [...reach.matchAll(place)].at(-1);
    const end = last === undefined ? 0 : last.index + last[0].length;
    if (end > reach.length / 3) return end;
  }
  // There is no good place to cut, but a surrogate pair must not be split.
  return /[\ud800-\udbff]$/.test(reach) ? reach.length - 1 : reach.length;
}

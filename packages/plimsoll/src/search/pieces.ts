/** Long text in pieces that can be found and read on their own: whole lines where possible. */

export interface Piece {
  readonly start: number;
  readonly end: number;
}

/** What goes into one piece: a few lines of code or output; a short message as a whole. About 80 tokens. */
const pieceChars = 300;
/** A line stays whole up to this length, since that is a paragraph; a longer one is data, and is cut. */
const lineChars = 1_500;

/**
 * Cuts a text at line ends, and lines that are too long at the best place within reach. Contract: pieces are in
 * order, do not overlap, hold more than white space, and lack nothing but white space between them.
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

/** Best first: a line end inside quoted text, the end of a JSON value, of a clause, of a word. */
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
  // Nothing to cut at; at least no character is split.
  return /[\ud800-\udbff]$/.test(reach) ? reach.length - 1 : reach.length;
}

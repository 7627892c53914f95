/** A piece of a text, as `cutPieces` chooses and leaves out pieces. */

export interface Piece {
  /** The text of this piece. All pieces joined give the whole text. */
  readonly text: string;
  /**
   * Pieces with the score 0 are kept only near the beginning or the end. Pieces with a negative score are kept only if no others
   * are left, and pieces with the score `redundant` are never kept.
   */
  readonly score: number;
  /** True if the piece is kept before all other pieces. */
  readonly isKey?: boolean;
  /** Adjacent pieces with the same number belong together. */
  readonly block?: number;
  /** What one token of the piece is worth. Default: the score for each token. */
  readonly worth?: number;
}

/** Score of a piece that only repeats other pieces. Such a piece is left out even if there is room. */
export const redundant = -2;

/** Score of a piece that matters to the conversation. It is higher than any score that a line gets for its own content. */
export const matters = 10;

export interface Gap {
  readonly first: number;
  readonly last: number;
  readonly isKept: (index: number) => boolean;
}

export type Mark = (gap: Gap) => string;

/** How full a window is, in a word. Pure. */

export interface FillWord {
  readonly word: "Normal" | "Near the limit" | "Full";
  readonly isWarning: boolean;
}

/** Both are shares of the limit, or of the room beside a large head. */
export function fillWord(filled: number, warningThreshold: number): FillWord {
  if (filled >= 1) return { word: "Full", isWarning: true };
  return filled >= warningThreshold
    ? { word: "Near the limit", isWarning: true }
    : { word: "Normal", isWarning: false };
}

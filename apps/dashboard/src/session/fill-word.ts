/** How full a window is, in a word. Pure. */

export interface FillWord {
  readonly word: "Normal" | "Near the limit" | "Full";
  readonly isWarning: boolean;
}

/** Both are shares of the limit or, with a large head, of the room next to it. */
export function fillWord(filled: number, warningThreshold: number): FillWord {
  if (filled >= 1) return { word: "Full", isWarning: true };
  return filled >= warningThreshold
    ? { word: "Near the limit", isWarning: true }
    : { word: "Normal", isWarning: false };
}

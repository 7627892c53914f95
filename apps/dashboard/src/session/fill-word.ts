/** How full a window is, in a word. Pure. */

export interface FillWord {
  readonly word: "Normal" | "Near the limit" | "Full";
  readonly isWarning: boolean;
}

/** Both arguments are shares of the limit or, if the head is large, of the room that the head leaves. */
export function fillWord(filled: number, warningThreshold: number): FillWord {
  if (filled >= 1) return { word: "Full", isWarning: true };
  return filled >= warningThreshold
    ? { word: "Near the limit", isWarning: true }
    : { word: "Normal", isWarning: false };
}

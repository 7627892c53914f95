/** One word that says how full a window is. Pure. */

export interface FillWord {
  readonly word: "Normal" | "Near the limit" | "Full";
  readonly isWarning: boolean;
}

/** Both arguments are shares of the limit. If the head is large, they are shares of the limit without the head. */
export function fillWord(filled: number, warningThreshold: number): FillWord {
  if (filled >= 1) return { word: "Full", isWarning: true };
  return filled >= warningThreshold
    ? { word: "Near the limit", isWarning: true }
    : { word: "Normal", isWarning: false };
}

/** Chooses the parts of a program to leave out. Takes candidates in order until about enough characters are removed. */

import { type Candidate, type CodeEdit, endOf, markChars } from "./elisions.ts";
import type { LineIndex } from "./outline.ts";

export function chooseEdits(
  candidates: readonly Candidate[],
  lines: LineIndex,
  chars: number,
): readonly CodeEdit[] {
  const savings = new LineSavings(lines);
  const chosen: CodeEdit[] = [];
  let needed = chars;
  for (const edit of candidates.flatMap(({ edits }) => edits)) {
    if (needed <= 0) break;
    // If it is enough to remove less than the whole part, the beginning of the part stays.
    const some = endOf(edit, needed + markChars, lines);
    chosen.push(some);
    needed -= savings.takeOut(some);
  }
  return chosen;
}

/** Tracks the lines removed so far. Adjacent removed lines share one mark, and blank lines between them are removed too. */
class LineSavings {
  readonly #lines: LineIndex;
  readonly #gone: Uint8Array;

  constructor(lines: LineIndex) {
    this.#lines = lines;
    this.#gone = new Uint8Array(lines.starts.length);
  }

  /** Records the edit, and returns the number of characters that it removes in addition to the earlier edits. */
  takeOut({ start, end, lines: range, prefix, tail }: CodeEdit): number {
    const mark = prefix.length + markChars + tail.length;
    if (range === undefined) {
      const isGone = this.#gone[this.#lines.lineOf(start)] === 1;
      return isGone ? 0 : end - start - mark;
    }
    const first = this.#joined(range.first, -1);
    const last = this.#joined(range.last, 1);
    let chars = 0;
    let runs = 0;
    for (let line = first - 1; line <= last + 1; line++) {
      const isGone = this.#gone[line] === 1;
      if (isGone && this.#gone[line - 1] !== 1) runs++;
      if (isGone || line < first || line > last) continue;
      chars += this.#lines.endOf(line) - this.#lines.startOf(line) + 1;
    }
    // The loop did not count a run of removed lines that began before the first line of the loop.
    if (this.#gone[first - 1] === 1 && this.#gone[first - 2] === 1) runs++;
    this.#gone.fill(1, first, last + 1);
    return chars + (runs - 1) * mark;
  }

  /** Moves the end of the range over blank lines if the next line that is not blank is already removed. */
  #joined(line: number, step: -1 | 1): number {
    let place = line + step;
    while (place >= 0 && place < this.#gone.length && this.#isBlank(place)) place += step;
    return this.#gone[place] === 1 ? place - step : line;
  }

  #isBlank(line: number): boolean {
    return this.#gone[line] !== 1 && this.#lines.textOf(line).trim() === "";
  }
}

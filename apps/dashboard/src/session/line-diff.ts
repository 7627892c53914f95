/** Compares two texts by lines. Bounded: texts that are too long to compare count as entirely different. */

/** Adjacent lines. Joined in order, the lines of one side are its text. */
export type Hunk =
  | { readonly kind: "same"; readonly lines: readonly string[] }
  | { readonly kind: "different"; readonly was: readonly string[]; readonly is: readonly string[] };

/** Maximum number of comparisons for one pair of texts, about a millisecond. */
const cellsMost = 250_000;

export function diffLines(was: string, is: string): readonly Hunk[] {
  const [left, right] = [was.split("\n"), is.split("\n")];
  const most = Math.min(left.length, right.length);
  let head = 0;
  while (head < most && left[head] === right[head]) head++;
  let tail = 0;
  while (tail < most - head && left.at(-1 - tail) === right.at(-1 - tail)) tail++;
  const between = hunksBetween(
    left.slice(head, left.length - tail),
    right.slice(head, right.length - tail),
  );
  return [
    ...(head > 0 ? [{ kind: "same" as const, lines: left.slice(0, head) }] : []),
    ...between,
    ...(tail > 0 ? [{ kind: "same" as const, lines: left.slice(left.length - tail) }] : []),
  ];
}

function hunksBetween(left: readonly string[], right: readonly string[]): readonly Hunk[] {
  const same = commonLines(left, right);
  const hunks: Hunk[] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const [was, is] = [runFrom(same.left, i, 0), runFrom(same.right, j, 0)];
    if (was > i || is > j)
      hunks.push({ kind: "different", was: left.slice(i, was), is: right.slice(j, is) });
    // Both sides have the same number of common lines. A run of them ends where either side has a line of its own.
    const run = Math.min(runFrom(same.left, was, 1) - was, runFrom(same.right, is, 1) - is);
    if (run > 0) hunks.push({ kind: "same", lines: left.slice(was, was + run) });
    i = was + run;
    j = is + run;
  }
  return hunks;
}

/** The end of the run of lines of this kind that begins at `from`. */
function runFrom(kinds: Uint8Array, from: number, kind: 0 | 1): number {
  let end = from;
  while (end < kinds.length && kinds[end] === kind) end++;
  return end;
}

/** 1 for each line that both texts have in the same order: a longest common subsequence. */
function commonLines(
  left: readonly string[],
  right: readonly string[],
): { readonly left: Uint8Array; readonly right: Uint8Array } {
  const same = { left: new Uint8Array(left.length), right: new Uint8Array(right.length) };
  if (left.length * right.length > cellsMost) return same;
  const width = right.length + 1;
  // Each cell is the length of the longest common subsequence from there on.
  const longest = new Uint32Array((left.length + 1) * width);
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0;
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--)
      longest[i * width + j] =
        left[i] === right[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  let [i, j] = [0, 0];
  while (i < left.length && j < right.length) {
    if (left[i] === right[j]) {
      same.left[i++] = 1;
      same.right[j++] = 1;
    } else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return same;
}

/** The shown parts of one side. The middle of a long equal part is left out. */
export type DiffPiece =
  | { readonly kind: "same" | "different"; readonly text: string }
  | { readonly kind: "left out"; readonly lines: number };

/** Number of equal lines to show around a difference. */
const context = 3;
/** Leaving out fewer lines than this would not help the reader. */
const leastLeftOut = 4;

/** One side, cut to at most `chars` characters. */
export function sideOf(
  hunks: readonly Hunk[],
  side: "was" | "is",
  chars: number,
): readonly DiffPiece[] {
  const pieces = hunks.flatMap((hunk, index) =>
    hunk.kind === "different"
      ? [pieceOf("different", hunk[side])]
      : withoutMiddle(hunk.lines, { isFirst: index === 0, isLast: index === hunks.length - 1 }),
  );
  return within(pieces, chars);
}

function within(pieces: readonly DiffPiece[], chars: number): readonly DiffPiece[] {
  const fitting: DiffPiece[] = [];
  let room = chars;
  for (const piece of pieces) {
    if (room <= 0) break;
    if (piece.kind === "left out") fitting.push(piece);
    else if (piece.text !== "") fitting.push({ ...piece, text: piece.text.slice(0, room) });
    room -= piece.kind === "left out" ? 0 : piece.text.length;
  }
  return fitting;
}

function pieceOf(kind: "same" | "different", lines: readonly string[]): DiffPiece {
  return { kind, text: lines.map((line) => `${line}\n`).join("") };
}

function withoutMiddle(
  lines: readonly string[],
  { isFirst, isLast }: { readonly isFirst: boolean; readonly isLast: boolean },
): readonly DiffPiece[] {
  const before = isFirst ? 0 : context;
  const after = isLast ? 0 : context;
  const left = lines.length - before - after;
  if ((isFirst && isLast) || left < leastLeftOut) return [pieceOf("same", lines)];
  return [
    pieceOf("same", lines.slice(0, before)),
    { kind: "left out", lines: left },
    pieceOf("same", lines.slice(lines.length - after)),
  ];
}

/** A text with nothing to compare it with. */
export function wholeOf(text: string): readonly Hunk[] {
  return [{ kind: "same", lines: text.split("\n") }];
}

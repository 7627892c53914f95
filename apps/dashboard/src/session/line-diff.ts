/**
 * Compares two texts by lines. If they differ in too many lines, the part in which they differ is shown as entirely different.
 */

import { diffArrays } from "diff";

/** A run of lines that are the same or different. All lines of one side, joined in order, are the complete text of that side. */
export type Hunk =
  | { readonly kind: "same"; readonly lines: readonly string[] }
  | { readonly kind: "different"; readonly was: readonly string[]; readonly is: readonly string[] };

/** Maximum number of removed and added lines to find. To find more would take longer than about 10 milliseconds. */
const longestEdit = 400;

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
  const changes = diffArrays([...left], [...right], { maxEditLength: longestEdit });
  if (changes === undefined) return [{ kind: "different", was: left, is: right }];
  const hunks: Hunk[] = [];
  for (const { value, added, removed } of changes) {
    const last = hunks.at(-1);
    const [was, is] = [removed ? value : [], added ? value : []];
    if (!added && !removed) hunks.push({ kind: "same", lines: value });
    else if (last?.kind === "different")
      hunks[hunks.length - 1] = {
        kind: "different",
        was: [...last.was, ...was],
        is: [...last.is, ...is],
      };
    else hunks.push({ kind: "different", was, is });
  }
  return hunks;
}

/** A piece of one side of the comparison. The middle of a long run of equal lines is left out. */
export type DiffPiece =
  | { readonly kind: "same" | "different"; readonly text: string }
  | { readonly kind: "left out"; readonly lines: number };

/** Number of equal lines to show around a difference. */
const context = 3;
/** Minimum number of lines to leave out. Leaving out fewer would not help the reader. */
const leastLeftOut = 4;

/** One side of the comparison, cut to at most `chars` characters. */
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

/** A text that is not compared with another. */
export function wholeOf(text: string): readonly Hunk[] {
  return [{ kind: "same", lines: text.split("\n") }];
}

/** Computes which rows of a long list are on the screen, and which units match a filter. Pure arithmetic. */

import type { SegmentKind, WindowUnit } from "plimsoll/api";

export interface ListView {
  readonly scrollTop: number;
  readonly height: number;
  readonly rowHeight: number;
  readonly count: number;
}

/** Number of extra rows beyond each edge, so that fast scrolling shows no gap. */
const overscan = 6;

/** The rows to create, from `first` up to, but not including, `end`. */
export function visibleRows({ scrollTop, height, rowHeight, count }: ListView): {
  readonly first: number;
  readonly end: number;
} {
  const top = Math.floor(Math.max(0, scrollTop) / rowHeight) - overscan;
  const bottom = Math.ceil((Math.max(0, scrollTop) + height) / rowHeight) + overscan;
  const end = Math.min(count, Math.max(0, bottom));
  return { first: Math.max(0, Math.min(top, end)), end };
}

/** The scroll position at which a row is fully visible. Unchanged if the row is already visible. */
export function scrollTopFor(
  { scrollTop, height, rowHeight }: Omit<ListView, "count">,
  row: number,
): number {
  const top = row * rowHeight;
  if (top < scrollTop) return top;
  return top + rowHeight > scrollTop + height ? top + rowHeight - height : scrollTop;
}

/** Number of rows that a key moves by. Undefined if the key has no meaning in a list. */
export function stepByKey(key: string, { height, rowHeight, count }: ListView): number | undefined {
  const page = Math.max(1, Math.floor(height / rowHeight) - 1);
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -count,
    End: count,
  };
  return steps[key];
}

export interface UnitFilter {
  readonly kind?: SegmentKind;
  readonly text: string;
}

/** Indexes of the matching units, in order. */
export function filterUnits(
  units: readonly WindowUnit[],
  { kind, text }: UnitFilter,
): readonly number[] {
  const wanted = text.trim().toLowerCase();
  const passing: number[] = [];
  for (const [index, unit] of units.entries()) {
    if (kind !== undefined && !unit.segments.some((segment) => segment.kind === kind)) continue;
    if (wanted === "" || wordsOf(unit).includes(wanted)) passing.push(index);
  }
  return passing;
}

function wordsOf({ begins, handle, type, isPinned }: WindowUnit): string {
  return `${begins} ${handle ?? ""} ${type ?? ""}${isPinned ? " pinned" : ""}`.toLowerCase();
}

/**
 * Position of a unit in `passing`, the sorted indexes of the matching units. If the unit does not match, the position of the next
 * match.
 */
export function placeOf(passing: readonly number[], unit: number): number {
  let low = 0;
  let high = passing.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((passing[middle] ?? 0) < unit) low = middle + 1;
    else high = middle;
  }
  return low;
}

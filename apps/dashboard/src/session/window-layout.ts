/** The window as rows of equal capacity: where each unit is drawn, and which unit is at a point. Pure geometry, in CSS pixels. */

import type { WindowPicture } from "plimsoll/api";
import { type DrawnWindow, drawWindow } from "plimsoll/watch/drawn-window";

export interface Layout extends DrawnWindow {
  readonly width: number;
  readonly height: number;
  readonly rows: number;
  /** The token at which each unit begins. The last entry is the end of the last unit. */
  readonly starts: Float64Array;
}

/** The place of a stretch of tokens in one row. */
export interface Box {
  readonly row: number;
  readonly x: number;
  readonly width: number;
}

export const rowHeight = 22;
const rowGap = 4;
/** Space above the first row and below the last row, because the load line extends beyond the rows. */
export const margin = 6;
const rowPitch = rowHeight + rowGap;

const rowsLeast = 6;
/** Maximum number of rows. With more, the picture would fill the page. */
const rowsMost = 12;
/**
 * Desired minimum length of all rows together, in pixels. With this length, a thousandth of the window is wide enough to point
 * at.
 */
const usualLength = 8000;
const usualUnitWidth = 4;

export function rowsFor(width: number, units: number): number {
  const length = Math.max(usualLength, units * usualUnitWidth);
  return Math.min(rowsMost, Math.max(rowsLeast, Math.round(length / Math.max(1, width))));
}

export function layOut(
  picture: Pick<WindowPicture, "units" | "window" | "limit" | "windowLimit">,
  width: number,
): Layout {
  const { units } = picture;
  const starts = new Float64Array(units.length + 1);
  for (const [index, { tokens }] of units.entries())
    starts[index + 1] = (starts[index] ?? 0) + Math.max(0, tokens);
  const rows = rowsFor(width, units.length);
  return {
    width,
    height: rows * rowPitch - rowGap + 2 * margin,
    rows,
    ...drawWindow({ ...picture, tokens: starts[units.length] ?? 0 }),
    starts,
  };
}

export function topOf(row: number): number {
  return margin + row * rowPitch;
}

/** The position of a token. A token at the end of a row is in that row, not in the next one. */
export function pointOf(
  { width, rows, capacity }: Layout,
  token: number,
): { readonly row: number; readonly x: number } {
  const along = (Math.min(Math.max(0, token), capacity) / capacity) * rows;
  const row = Math.min(rows - 1, Math.max(0, Math.ceil(along) - 1));
  return { row, x: (along - row) * width };
}

/** The boxes of a stretch of tokens, one for each row that it touches. */
export function boxesOf(layout: Layout, from: number, to: number): readonly Box[] {
  const { width, rows, capacity } = layout;
  const begin = (Math.max(0, from) / capacity) * rows;
  const end = (Math.min(to, capacity) / capacity) * rows;
  const boxes: Box[] = [];
  for (let row = Math.floor(begin); row < rows && row < end; row++) {
    const x = Math.max(0, begin - row) * width;
    const until = Math.min(1, end - row) * width;
    if (until > x) boxes.push({ row, x, width: until - x });
  }
  return boxes;
}

export function boxesOfUnit(layout: Layout, index: number): readonly Box[] {
  return boxesOf(layout, layout.starts[index] ?? 0, layout.starts[index + 1] ?? 0);
}

/** The unit at a point. Undefined if the point is between rows or in empty space. */
export function unitAt(layout: Layout, x: number, y: number): number | undefined {
  const { width, rows, capacity, starts } = layout;
  const row = Math.floor((y - margin) / rowPitch);
  if (row < 0 || row >= rows || x < 0 || x >= width) return undefined;
  if ((y - margin) % rowPitch >= rowHeight) return undefined;
  const token = ((row + x / width) / rows) * capacity;
  return token < (starts.at(-1) ?? 0) ? unitOfToken(starts, token) : undefined;
}

/** The last unit that begins at or before a token. */
function unitOfToken(starts: Float64Array, token: number): number | undefined {
  let low = 0;
  let high = starts.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= token) low = middle;
    else high = middle - 1;
  }
  return high < 0 ? undefined : low;
}

/**
 * The unit that a key selects. Undefined if the key has no meaning here. If no unit is selected, End selects the last unit, and
 * all other keys select the first.
 */
export function unitByKey(
  layout: Layout,
  selected: number | undefined,
  key: string,
): number | undefined {
  const last = layout.starts.length - 2;
  if (last < 0) return undefined;
  const from = selected ?? -1;
  switch (key) {
    case "ArrowRight":
      return Math.min(last, from + 1);
    case "ArrowLeft":
      return Math.max(0, from - 1);
    case "ArrowDown":
      return selected === undefined ? 0 : unitInRow(layout, selected, 1);
    case "ArrowUp":
      return selected === undefined ? 0 : unitInRow(layout, selected, -1);
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return undefined;
  }
}

/** The unit above or below the selected one. Returns the selected unit if there is none. */
function unitInRow(layout: Layout, selected: number, step: 1 | -1): number {
  const { starts, capacity, rows } = layout;
  const middle = ((starts[selected] ?? 0) + (starts[selected + 1] ?? 0)) / 2;
  const token = middle + (step * capacity) / rows;
  const isInside = token >= 0 && token < (starts.at(-1) ?? 0);
  return isInside ? (unitOfToken(starts, token) ?? selected) : selected;
}

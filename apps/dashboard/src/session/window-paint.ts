/**
 * Paints the layout of a window: blocks by kind, the cached prefix, handles, pins and the load line. A second layer shows the
 * unit under the pointer.
 */

import type { SegmentKind, WindowPicture, WindowUnit } from "plimsoll/api";
import type { BeyondLimit } from "plimsoll/watch/drawn-window";
import {
  type Box,
  boxesOf,
  boxesOfUnit,
  type Layout,
  pointOf,
  rowHeight,
  topOf,
} from "./window-layout.ts";

export type Sheet = CanvasRenderingContext2D;

/** The theme's colours. */
export interface Palette {
  readonly kinds: Readonly<Record<SegmentKind, string>>;
  readonly surface: string;
  readonly ink: string;
  readonly muted: string;
  readonly line: string;
  readonly room: string;
  readonly font: string;
}

export interface Painting {
  readonly layout: Layout;
  readonly picture: WindowPicture;
  readonly palette: Palette;
  /** Device pixels per CSS pixel. */
  readonly ratio: number;
  /** The kind to emphasise. All other kinds are drawn in faint colours. */
  readonly only?: SegmentKind | undefined;
  /** The label of the load line. */
  readonly label: string;
}

/** Minimum width of units that are separated by hairlines, in pixels. Narrower units would consist only of lines. */
const hairlineFrom = 3;
const hairline = 1;
const paleness = 0.18;

export function paintWindow(sheet: Sheet, painting: Painting): void {
  const { layout, ratio } = painting;
  sheet.setTransform(ratio, 0, 0, ratio, 0, 0);
  sheet.clearRect(0, 0, layout.width, layout.height);
  paintRoom(sheet, painting);
  paintUnits(sheet, painting);
  paintCached(sheet, painting);
  paintPins(sheet, painting);
  paintLoadLine(sheet, painting);
}

/** Fills a box. Its edges are on device pixels, so that neighbours touch and nothing is blurred. */
function fill(sheet: Sheet, { row, x, width }: Box, ratio: number, shorter = 0): void {
  const left = Math.round(x * ratio) / ratio;
  const right = Math.round((x + width) * ratio) / ratio - shorter;
  if (right > left) sheet.fillRect(left, topOf(row), right - left, rowHeight);
}

/**
 * Paints the background: plain up to the limit, and hatched beyond it. The part for the answer has lines in one direction, the
 * part beyond the user's limit in both.
 */
function paintRoom(sheet: Sheet, { layout, palette, ratio }: Painting): void {
  sheet.fillStyle = palette.room;
  for (const box of boxesOf(layout, 0, layout.capacity)) fill(sheet, box, ratio);
  for (const { kind, from, to } of layout.beyond)
    for (const slant of slants[kind]) {
      sheet.fillStyle = hatch(sheet, palette.line, ratio, { step: 6, slant });
      for (const box of boxesOf(layout, from, to)) fill(sheet, box, ratio);
    }
}

type Slant = "up" | "down";
const slants: Readonly<Record<BeyondLimit["kind"], readonly Slant[]>> = {
  answer: ["up"],
  "beyond-limit": ["up", "down"],
};

function paintUnits(sheet: Sheet, painting: Painting): void {
  const { layout, picture, palette, ratio, only } = painting;
  const hatching = hatch(sheet, palette.surface, ratio, { step: 5, slant: "up" });
  for (const [index, unit] of picture.units.entries()) {
    const from = layout.starts[index] ?? 0;
    const gap = isWide(layout, unit.tokens) ? hairline : 0;
    eachSegment(unit, from, (kind, start, end) => {
      const boxes = boxesOf(layout, start, end);
      const shorter = end >= from + unit.tokens ? gap : 0;
      sheet.globalAlpha = only === undefined || only === kind ? 1 : paleness;
      sheet.fillStyle = palette.kinds[kind];
      fillAll(sheet, boxes, ratio, shorter);
      if (kind !== "handle") return;
      sheet.fillStyle = hatching;
      fillAll(sheet, boxes, ratio, shorter);
    });
  }
  sheet.globalAlpha = 1;
}

/** Fills all boxes of a unit. The last box is a little shorter, so that a hairline separates the unit from the next one. */
function fillAll(sheet: Sheet, boxes: readonly Box[], ratio: number, shorter: number): void {
  for (const [at, box] of boxes.entries())
    fill(sheet, box, ratio, at === boxes.length - 1 ? shorter : 0);
}

function isWide({ width, rows, capacity }: Layout, tokens: number): boolean {
  return (tokens / capacity) * rows * width >= hairlineFrom;
}

/** Calls the function for each segment. The segments fill their unit completely, even if rounding changed their sum. */
function eachSegment(
  { segments, tokens }: WindowUnit,
  from: number,
  visit: (kind: SegmentKind, start: number, end: number) => void,
): void {
  const sum = segments.reduce((total, segment) => total + segment.tokens, 0);
  const scale = sum > 0 ? tokens / sum : 0;
  let at = from;
  for (const [index, segment] of segments.entries()) {
    const end = index === segments.length - 1 ? from + tokens : at + segment.tokens * scale;
    visit(segment.kind, at, end);
    at = end;
  }
}

/** Shades and underlines the part that the provider read from its cache. */
function paintCached(sheet: Sheet, { layout, picture, palette }: Painting): void {
  for (const { row, x, width } of boxesOf(layout, 0, picture.cachedTokens ?? 0)) {
    sheet.globalAlpha = 0.25;
    sheet.fillStyle = palette.surface;
    sheet.fillRect(x, topOf(row), width, rowHeight);
    sheet.globalAlpha = 1;
    sheet.fillStyle = palette.surface;
    sheet.fillRect(x, topOf(row) + rowHeight - 3, width, 1);
    sheet.fillStyle = palette.muted;
    sheet.fillRect(x, topOf(row) + rowHeight - 2, width, 2);
  }
}

function paintPins(sheet: Sheet, { layout, picture, palette }: Painting): void {
  for (const [index, { isPinned }] of picture.units.entries()) {
    if (isPinned !== true) continue;
    const [box] = boxesOfUnit(layout, index);
    if (box === undefined) continue;
    const middle = box.x + Math.min(box.width / 2, 8);
    sheet.fillStyle = palette.surface;
    sheet.beginPath();
    sheet.arc(middle, topOf(box.row) + 7, 4.5, 0, 2 * Math.PI);
    sheet.fill();
    sheet.fillStyle = palette.ink;
    sheet.beginPath();
    sheet.arc(middle, topOf(box.row) + 7, 3, 0, 2 * Math.PI);
    sheet.fill();
  }
}

const overshoot = 3;
const markRadius = 6;

/** Paints the load line, which steps down exactly at the limit. A request may use everything before it. */
function paintLoadLine(sheet: Sheet, { layout, picture, palette, label }: Painting): void {
  if (picture.limit <= 0) return;
  const { row, x } = pointOf(layout, picture.limit);
  const top = topOf(row) - overshoot / 2 - 0.5;
  const bottom = topOf(row) + rowHeight + overshoot / 2 + 0.5;
  sheet.strokeStyle = palette.ink;
  sheet.lineWidth = 3;
  sheet.beginPath();
  sheet.moveTo(layout.width, top);
  sheet.lineTo(x, top);
  sheet.lineTo(x, bottom);
  sheet.lineTo(0, bottom);
  sheet.stroke();
  paintLabel(sheet, { layout, palette, label, row, x });
}

interface LabelPlace extends Pick<Painting, "layout" | "palette" | "label"> {
  readonly row: number;
  readonly x: number;
}

/** Paints the mark and the figure next to the load line: after the line if there is room, otherwise before it. */
function paintLabel(sheet: Sheet, { layout, palette, label, row, x }: LabelPlace): void {
  sheet.font = `600 11px ${palette.font}`;
  sheet.textBaseline = "middle";
  const text = sheet.measureText(label).width;
  const width = text + 4 * markRadius + 18;
  const isBehind = x + width + 4 <= layout.width;
  const left = isBehind ? x + 4 : Math.max(0, x - width - 4);
  const middle = topOf(row) + rowHeight / 2;
  sheet.fillStyle = palette.surface;
  sheet.beginPath();
  sheet.roundRect(left, middle - 9, width, 18, 4);
  sheet.fill();
  const centre = left + 6 + 1.5 * markRadius;
  sheet.lineWidth = 1.75;
  sheet.strokeStyle = palette.ink;
  sheet.beginPath();
  sheet.arc(centre, middle, markRadius - 1, 0, 2 * Math.PI);
  sheet.moveTo(centre - markRadius - 3, middle);
  sheet.lineTo(centre + markRadius + 3, middle);
  sheet.stroke();
  sheet.fillStyle = palette.ink;
  sheet.fillText(label, centre + markRadius + 7, middle + 0.5);
}

export interface Pointing {
  readonly layout: Layout;
  readonly palette: Pick<Palette, "ink" | "surface">;
  readonly ratio: number;
  readonly selected?: number | undefined;
  readonly hovered?: number | undefined;
}

/** Paints the second layer, which changes with every move of the pointer. The first layer does not change. */
export function paintPointing(
  sheet: Sheet,
  { layout, palette, ratio, selected, hovered }: Pointing,
): void {
  sheet.setTransform(ratio, 0, 0, ratio, 0, 0);
  sheet.clearRect(0, 0, layout.width, layout.height);
  if (hovered !== undefined) outline(sheet, layout, hovered, { colour: palette.ink, width: 1 });
  if (selected === undefined) return;
  outline(sheet, layout, selected, { colour: palette.surface, width: 5 });
  outline(sheet, layout, selected, { colour: palette.ink, width: 2.5 });
}

/** Minimum width of an outline in pixels, so that even a very narrow unit can be seen. */
const leastOutline = 3;

function outline(
  sheet: Sheet,
  layout: Layout,
  index: number,
  { colour, width }: { readonly colour: string; readonly width: number },
): void {
  sheet.strokeStyle = colour;
  sheet.lineWidth = width;
  for (const box of boxesOfUnit(layout, index)) {
    const wide = Math.max(leastOutline, box.width);
    sheet.strokeRect(box.x, topOf(box.row) - 0.5, wide, rowHeight + 1);
  }
}

interface Hatching {
  readonly step: number;
  readonly slant: Slant;
}

/** Slanted lines, as a pattern in device pixels. */
function hatch(
  sheet: Sheet,
  colour: string,
  ratio: number,
  { step, slant }: Hatching,
): CanvasPattern | string {
  const size = Math.max(2, Math.round(step * ratio));
  const tile = new OffscreenCanvas(size, size);
  const drawn = tile.getContext("2d");
  if (drawn === null) return colour;
  drawn.strokeStyle = colour;
  drawn.lineWidth = Math.max(1, 1.25 * ratio);
  drawn.beginPath();
  for (const shift of [-size, 0, size]) {
    drawn.moveTo(shift - 1, slant === "up" ? size + 1 : -1);
    drawn.lineTo(shift + size + 1, slant === "up" ? -1 : size + 1);
  }
  drawn.stroke();
  const pattern = sheet.createPattern(tile, "repeat");
  // The canvas is scaled, but the tile of the pattern is not, so the pattern is scaled back.
  pattern?.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern ?? colour;
}

const kindVariables: Readonly<Record<SegmentKind, string>> = {
  system: "--kind-system",
  skills: "--kind-skills",
  tools: "--kind-tools",
  user: "--kind-user",
  assistant: "--kind-assistant",
  results: "--kind-results",
  summary: "--kind-summary",
  handle: "--kind-handle",
};

/** The theme's colours that currently apply to an element. */
export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const of = (name: string): string => style.getPropertyValue(name).trim() || "#888888";
  const kinds = Object.fromEntries(
    Object.entries(kindVariables).map(([kind, name]) => [kind, of(name)]),
  ) as Record<SegmentKind, string>;
  return {
    kinds,
    surface: of("--surface"),
    ink: of("--ink"),
    muted: of("--muted"),
    line: of("--line"),
    room: of("--bg"),
    font: style.fontFamily || "sans-serif",
  };
}

/**
 * The window as an SVG picture. It has rows of equal capacity. Each unit is a block as wide as its tokens, and the load line is
 * at the limit.
 */

import type { SegmentKind, WindowPicture, WindowUnit } from "../../message/api.ts";
import { grouped } from "../../text/digits.ts";
import { beyondWords, type DrawnWindow, drawWindow } from "../../watch/drawn-window.ts";
import { kindName, summaryOf, sumsOf } from "../../watch/kind-words.ts";
import { html, type Markup, nothing, written } from "./markup.ts";
import { percent } from "./words.ts";

/**
 * Assumed width of the picture in pixels. It is used only to decide whether a block is too narrow, because blocks are placed in
 * shares of the width.
 */
const nominalWidth = 1200;
const rowHeight = 22;
const rowPitch = 26;
/** Space above the first and below the last row, for the load line. */
const margin = 6;
const usualRows = 8;
const mostRows = 12;
/** If there are more units than this, the picture has more rows. */
const manyUnits = 1500;
/** Minimum width of a separate block in pixels. Narrower blocks are drawn together. */
const leastPixels = 0.5;
/** Maximum number of blocks. If there are more, the narrower ones are drawn together, so that the file stays small. */
const mostBlocks = 4000;
/** Minimum width in pixels of a block that users can point at and that is separated from its neighbours by a hairline. */
const toldPixels = 6;
const mostPins = 200;

export interface Layout extends DrawnWindow {
  readonly rows: number;
}

/** A stretch of one row that has one colour. `x` and `width` are shares of the row. */
export interface Block {
  readonly row: number;
  readonly x: number;
  readonly width: number;
  readonly kind: SegmentKind;
  /** The unit that the block shows. Set only if the block is wide enough to point at. */
  readonly unit?: WindowUnit;
}

export function layoutOf(picture: WindowPicture): Layout {
  const rows = picture.units.length > manyUnits ? mostRows : usualRows;
  return { rows, ...drawWindow(picture) };
}

/** The blocks in order, without gaps. While there are too many, doubles the minimum width, up to the width of a row. */
export function blocksOf(picture: WindowPicture, layout: Layout): readonly Block[] {
  for (let least = leastPixels; ; least *= 2) {
    const blocks = blocksFrom(picture, layout, least);
    if (blocks.length <= mostBlocks || least >= nominalWidth) return blocks;
  }
}

function blocksFrom(
  { units }: WindowPicture,
  { rows, capacity }: Layout,
  least: number,
): readonly Block[] {
  const pixelsPerToken = (rows * nominalWidth) / capacity;
  const blocks: Block[] = [];
  let start = 0;
  let gathered: Gathered = noneGathered();
  const flush = (): void => {
    if (gathered.tokens === 0) return;
    const kind = largestOf(gathered.byKind);
    const isTold = gathered.units === 1 && gathered.tokens * pixelsPerToken >= toldPixels;
    const told = isTold && gathered.unit !== undefined ? { unit: gathered.unit } : {};
    const end = start + gathered.tokens;
    for (const segment of segmentsOf({ rows, capacity }, start, end))
      blocks.push({ ...segment, kind, ...told });
    start = end;
    gathered = noneGathered();
  };
  for (const unit of units) {
    for (const { kind, tokens } of unit.segments) {
      if (tokens <= 0) continue;
      // A segment that is wide enough gets its own block.
      if (tokens * pixelsPerToken >= least) flush();
      add(gathered, unit, kind, tokens);
      if (gathered.tokens * pixelsPerToken >= least) flush();
    }
  }
  flush();
  return blocks;
}

interface Gathered {
  tokens: number;
  units: number;
  unit: WindowUnit | undefined;
  readonly byKind: Map<SegmentKind, number>;
}

function noneGathered(): Gathered {
  return { tokens: 0, units: 0, unit: undefined, byKind: new Map() };
}

function add(gathered: Gathered, unit: WindowUnit, kind: SegmentKind, tokens: number): void {
  if (gathered.unit !== unit) gathered.units += 1;
  gathered.unit = unit;
  gathered.tokens += tokens;
  gathered.byKind.set(kind, (gathered.byKind.get(kind) ?? 0) + tokens);
}

function largestOf(byKind: ReadonlyMap<SegmentKind, number>): SegmentKind {
  const [first] = [...byKind].toSorted(([, one], [, other]) => other - one);
  return first?.[0] ?? "user";
}

type Segment = Pick<Block, "row" | "x" | "width">;

/** One segment for each row that the tokens from `start` to `end` touch. */
function segmentsOf(
  { rows, capacity }: Pick<Layout, "rows" | "capacity">,
  start: number,
  end: number,
): readonly Segment[] {
  const from = (start / capacity) * rows;
  const to = Math.min(rows, (end / capacity) * rows);
  const segments: Segment[] = [];
  for (let row = Math.floor(from); row < rows && row < to; row++) {
    const x = Math.max(0, from - row);
    const width = Math.min(1, to - row) - x;
    if (width > 0) segments.push({ row, x, width });
  }
  return segments;
}

export function windowSvg(picture: WindowPicture): Markup {
  const layout = layoutOf(picture);
  const { rows, capacity } = layout;
  const height = rows * rowPitch - (rowPitch - rowHeight) + 2 * margin;
  const room = segmentsOf(layout, 0, capacity).map((segment) => rect(segment, "room"));
  const beyond = layout.beyond.flatMap(({ kind, from, to }) =>
    segmentsOf(layout, from, to).map((segment) => rect(segment, kind)),
  );
  return html`<svg class="window" width="100%" height="${height}" role="img" aria-label="${summaryOf(picture, grouped)}">
${patterns}${room}${beyond}
<g class="blocks">${blocksOf(picture, layout).map(blockRect)}</g>
${cachedShade(picture, layout)}${pins(picture, layout)}${loadLine(picture, layout)}
</svg>`;
}

const patterns = written(`<defs>
<pattern id="handle" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="k-handle-plain" width="5" height="5"/><rect class="stripe" width="1.5" height="5"/></pattern>
<pattern id="answer" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="beyond-stripe" width="1" height="6"/></pattern>
<pattern id="beyond-limit" width="6" height="6" patternUnits="userSpaceOnUse"><path class="beyond-cross" d="M0 0L6 6M6 0L0 6"/></pattern>
</defs>`);

function topOf(row: number): number {
  return margin + row * rowPitch;
}

/** A horizontal position or length in percent of the width, because the picture uses all available width. */
function across(share: number): string {
  return `${Number((share * 100).toFixed(3))}%`;
}

function rect({ row, x, width }: Segment, className: string): Markup {
  return html`<rect class="${className}" x="${across(x)}" y="${topOf(row)}" width="${across(width)}" height="${rowHeight}"/>`;
}

function blockRect(block: Block): Markup {
  const { row, x, width, kind, unit } = block;
  const place = html`x="${across(x)}" y="${topOf(row)}" width="${across(width)}" height="${rowHeight}"`;
  return unit === undefined
    ? html`<rect class="k-${kind}" ${place}/>`
    : html`<rect class="k-${kind} told" ${place}><title>${unitWords(unit, kind)}</title></rect>`;
}

/** The text that is shown while the pointer is over the block. */
function unitWords(unit: WindowUnit, kind: SegmentKind): string {
  const { tokens, originalTokens, handle, begins, isPinned } = unit;
  const messages = messagesOf(unit);
  return [
    kindName(kind),
    ...(messages === "" ? [] : [`message ${messages}`]),
    originalTokens === undefined || originalTokens <= tokens
      ? `${grouped(tokens)} tokens`
      : `${grouped(tokens)} of ${grouped(originalTokens)} tokens`,
    ...(handle === undefined ? [] : [handle]),
    ...(isPinned === true ? ["pinned"] : []),
    begins,
  ].join(" · ");
}

/** The numbers of a unit's messages, such as 17 or 17–19. Empty for the head and for Plimsoll's own texts. */
export function messagesOf({ first, last }: Pick<WindowUnit, "first" | "last">): string {
  if (first === undefined || last === undefined) return "";
  return first === last ? String(first) : `${first}–${last}`;
}

/** Shades the part that the provider read from its cache: it is paler and has a bar below it. */
function cachedShade({ cachedTokens = 0 }: WindowPicture, layout: Layout): readonly Markup[] {
  return segmentsOf(layout, 0, cachedTokens).map(
    ({ row, x, width }) =>
      html`<rect class="cached" x="${across(x)}" y="${topOf(row)}" width="${across(width)}" height="${rowHeight}"/><rect class="cached-edge" x="${across(x)}" y="${topOf(row) + rowHeight - 4}" width="${across(width)}" height="1"/><rect class="cached-bar" x="${across(x)}" y="${topOf(row) + rowHeight - 3}" width="${across(width)}" height="3"/>`,
  );
}

function pins({ units }: WindowPicture, layout: Layout): readonly Markup[] {
  const marks: Markup[] = [];
  let start = 0;
  for (const { tokens, isPinned } of units) {
    const [segment] = isPinned === true ? segmentsOf(layout, start, start + tokens) : [];
    if (segment !== undefined && marks.length < mostPins)
      marks.push(
        html`<circle class="pin" cx="${across(segment.x + segment.width / 2)}" cy="${topOf(segment.row) + 7}" r="3.5"/>`,
      );
    start += tokens;
  }
  return marks;
}

/** The load line. It steps down at the limit. A request may use everything before it. */
function loadLine({ limit }: WindowPicture, { rows, capacity }: Layout): Markup {
  if (limit <= 0) return nothing;
  const along = (Math.min(limit, capacity) / capacity) * rows;
  const row = Math.min(rows - 1, Math.max(0, Math.ceil(along) - 1));
  const x = along - row;
  const top = topOf(row) - 2;
  const bottom = topOf(row) + rowHeight + 2;
  const lines = html`<line x1="${across(x)}" y1="${top}" x2="100%" y2="${top}"/><line x1="${across(x)}" y1="${top - 1}" x2="${across(x)}" y2="${bottom + 1}"/><line x1="0" y1="${bottom}" x2="${across(x)}" y2="${bottom}"/>`;
  // A rim makes the line stand out from the blocks that it crosses.
  return html`<g class="load-line"><g class="rim">${lines}</g>${lines}
${loadMark(limit, x, topOf(row) + rowHeight / 2)}</g>`;
}

/** Approximate width of one character of the label, in pixels. */
const labelCharWidth = 6.4;

/** The Plimsoll mark and the limit in figures, on the side of the line with more space. */
function loadMark(limit: number, x: number, middle: number): Markup {
  const label = `limit ${grouped(limit)}`;
  const width = Math.round(label.length * labelCharWidth) + 38;
  const left = x <= 0.5 ? 6 : -width - 6;
  return html`<svg x="${across(x)}" y="${middle}" overflow="visible"><rect class="label-ground" x="${left}" y="-9" width="${width}" height="18" rx="4"/><circle class="mark" cx="${left + 15}" cy="0" r="5"/><line class="mark" x1="${left + 6}" y1="0" x2="${left + 24}" y2="0"/><text x="${left + 30}" y="4">${label}</text></svg>`;
}

export function windowLegend(picture: WindowPicture): Markup {
  const items = sumsOf(picture).map(
    ({ kind, name, tokens }) =>
      html`<li><span class="swatch s-${kind}"></span>${name} <span class="muted">${grouped(tokens)} · ${percent(tokens / Math.max(1, picture.tokens))}</span></li>`,
  );
  const { cachedTokens = 0 } = picture;
  const isPinned = picture.units.some((unit) => unit.isPinned === true);
  return html`<ul class="legend">${items}
${cachedTokens > 0 ? html`<li class="sign"><span class="swatch s-cached"></span>read from the cache <span class="muted">${grouped(cachedTokens)}</span></li>` : nothing}
${isPinned ? html`<li class="sign"><span class="swatch s-pin"></span>pinned</li>` : nothing}
${drawWindow(picture).beyond.map((part) => html`<li class="sign"><span class="swatch s-${part.kind}"></span>${beyondWords(part)} <span class="muted">${grouped(part.tokens)}</span></li>`)}</ul>`;
}

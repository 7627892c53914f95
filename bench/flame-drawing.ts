/** Draws a tree of times as flames: each box is as wide as its share, and stands on the box that called it. */

export interface Frame {
  readonly name: string;
  readonly microseconds: number;
  readonly inner: ReadonlyMap<string, Frame>;
}

const size = { width: 1400, row: 17, margin: 12, title: 34 };
/** Narrower boxes are not drawn. */
const narrowest = 1.5;
const characterWidth = 6.2;
const deepest = 48;

export function drawFlames(root: Frame, title: string): string {
  const inside = size.width - 2 * size.margin;
  const scale = inside / Math.max(1, root.microseconds);
  const depth = Math.min(deepest, depthOf(root, scale));
  const height = size.title + depth * size.row + size.margin;
  const boxes = boxesOf(root, { x: size.margin, level: 0 }, { scale, height });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${height}" font-family="ui-monospace, monospace" font-size="10" fill="#1f2937"><rect width="${size.width}" height="${height}" fill="#ffffff"/><text x="${size.margin}" y="20" font-size="13">${escaped(title)}</text>\n${boxes.join("\n")}\n</svg>\n`;
}

function depthOf({ microseconds, inner }: Frame, scale: number): number {
  if (microseconds * scale < narrowest) return 0;
  return 1 + Math.max(0, ...[...inner.values()].map((frame) => depthOf(frame, scale)));
}

interface Place {
  readonly x: number;
  readonly level: number;
}

interface Drawing {
  readonly scale: number;
  readonly height: number;
}

function boxesOf(frame: Frame, { x, level }: Place, drawing: Drawing): readonly string[] {
  const { scale, height } = drawing;
  const width = frame.microseconds * scale;
  if (width < narrowest || level >= deepest) return [];
  const y = height - size.margin - (level + 1) * size.row;
  let at = x;
  const inner = [...frame.inner.values()]
    .toSorted((one, other) => other.microseconds - one.microseconds)
    .flatMap((one) => {
      const boxes = boxesOf(one, { x: at, level: level + 1 }, drawing);
      at += one.microseconds * scale;
      return boxes;
    });
  const share = ((100 * width) / (size.width - 2 * size.margin)).toFixed(1);
  const letters = Math.floor((width - 4) / characterWidth);
  const label =
    letters < 3
      ? ""
      : `<text x="${(x + 3).toFixed(1)}" y="${y + 12}">${escaped(frame.name.slice(0, letters))}</text>`;
  return [
    `<g><title>${escaped(frame.name)}: ${share} %</title><rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(0.5, width - 0.5).toFixed(1)}" height="${size.row - 1}" fill="${colourOf(frame.name)}"/>${label}</g>`,
    ...inner,
  ];
}

/** Plimsoll's own files are blue, Node and its libraries yellow, everything of V8 grey. */
function colourOf(name: string): string {
  if (/^\(/.test(name) && !name.includes(" ", 12)) return "#d1d5db";
  return / (?:node:|task_queues|stream_base|client|util|readable|writable|net$|_http|stream|events|queues|timers|worker$|dispatcher)/.test(
    name,
  ) || !name.includes(" ")
    ? "#fde68a"
    : "#bfdbfe";
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The pieces of which plots are made, as SVG. Texts are our own: nothing is escaped. */

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Where a plot lies in its panel: what is left free on each side. */
export interface Frame extends Size {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export const colours = {
  blue: "#0b63c4",
  orange: "#c2410c",
  grey: "#6b7280",
  green: "#15803d",
  purple: "#7e22ce",
  teal: "#0f9aa8",
  pink: "#db2777",
  faint: "#e5e7eb",
} as const;

export function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  content?: string,
): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${value}"`);
  const begin = `<${name}${written.join("")}`;
  return content === undefined ? `${begin}/>` : `${begin}>${content}</${name}>`;
}

/** A whole picture on white, which dark pages need. */
export function drawing({ width, height }: Size, parts: readonly string[]): string {
  const attributes = {
    xmlns: "http://www.w3.org/2000/svg",
    viewBox: `0 0 ${width} ${height}`,
    "font-family": "system-ui, sans-serif",
    "font-size": 11,
    fill: "#1f2937",
  };
  const paper = element("rect", { width, height, fill: "#ffffff" });
  return `${element("svg", attributes, `${paper}${parts.join("\n")}`)}\n`;
}

export function polyline(
  points: readonly (readonly [x: number, y: number])[],
  colour: string,
  width: number,
): string {
  const written = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
  return element("polyline", {
    points: written,
    fill: "none",
    stroke: colour,
    "stroke-width": width,
  });
}

/** A line of a value across the plot, and the value before it. */
export function gridLine({ left, right, width }: Frame, y: number, text: string): string {
  const line = { x1: left, x2: width - right, y1: y, y2: y, stroke: colours.faint };
  const label = { x: left - 6, y: y + 4, "text-anchor": "end" };
  return `${element("line", line)}${element("text", label, text)}`;
}

export function legendKey(x: number, y: number, colour: string, text: string): string {
  const line = { x1: x, y1: y, x2: x + 24, y2: y, stroke: colour, "stroke-width": 2.5 };
  return `${element("line", line)}${element("text", { x: x + 30, y: y + 4 }, text)}`;
}

/** A picture for the page: what a turn takes against the length of the conversation, both logarithmic, one line per way. */

import { figure } from "./report.ts";
import { growthExponent } from "./statistics.ts";
import { colours, drawing, element, type Frame, gridLine, legendKey, polyline } from "./svg.ts";

export interface Growth {
  readonly name: string;
  /** The length, and the milliseconds of one turn. */
  readonly points: readonly (readonly [length: number, milliseconds: number])[];
}

const frame: Frame = { width: 880, height: 440, left: 64, right: 336, top: 36, bottom: 48 };
const lineColours = [
  colours.blue,
  colours.orange,
  colours.purple,
  colours.green,
  colours.grey,
  colours.teal,
  colours.pink,
];
const legendStep = 26;

/** Contract: at most as many ways as there are colours. The first one is ours. */
export function growthPlotOf(title: string, ways: readonly Growth[], note: string): string {
  const all = ways.flatMap(({ points }) => points);
  const { width, height, left, right, top, bottom } = frame;
  const lengths = [...new Set(all.map(([length]) => length))];
  const x = scale(lengths, [left + 12, width - right - 12]);
  const decades = decadesOf(all.map(([, milliseconds]) => milliseconds));
  const y = scale(decades, [height - bottom, top]);
  const grid = decades.map((value) => gridLine(frame, y(value), timeOf(value)));
  const marks = lengths.map((length) => {
    const place = { x: x(length), y: height - bottom + 18, "text-anchor": "middle" };
    return element("text", place, length.toLocaleString("en-US"));
  });
  const drawn = ways.map(({ points }, index) => {
    const places = points.map(([length, time]) => [x(length), y(time)] as const);
    const colour = lineColours[index] ?? "";
    const dots = places.map(([cx, cy]) =>
      element("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: 3, fill: colour }),
    );
    return [polyline(places, colour, index === 0 ? 2.5 : 1.5), ...dots].join("");
  });
  const legend = ways.map(({ name, points }, index) => {
    const text = `${name}: exponent ${figure(growthExponent(points))}`;
    return legendKey(
      width - right + 20,
      top + 8 + index * legendStep,
      lineColours[index] ?? "",
      text,
    );
  });
  const remark = {
    x: width - right + 20,
    y: top + 12 + ways.length * legendStep,
    fill: colours.grey,
  };
  const axis = { x: (left + width - right) / 2, y: height - 10, "text-anchor": "middle" };
  const heading = element("text", { x: left, y: 18, "font-weight": 600 }, title);
  const below = element("text", axis, "messages in the conversation");
  return drawing(frame, [
    heading,
    ...grid,
    ...marks,
    below,
    ...drawn.toReversed(),
    ...legend,
    element("text", remark, note),
  ]);
}

/** From values, by their logarithms, to places. */
function scale(
  values: readonly number[],
  [from, to]: readonly [number, number],
): (value: number) => number {
  const [least, most] = [Math.log(Math.min(...values)), Math.log(Math.max(...values))];
  return (value) => from + ((Math.log(value) - least) / (most - least)) * (to - from);
}

/** The powers of ten around all values. */
function decadesOf(values: readonly number[]): readonly number[] {
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.ceil(Math.log10(Math.max(...values)));
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
}

function timeOf(milliseconds: number): string {
  if (milliseconds >= 1_000) return `${round(milliseconds / 1_000)} s`;
  return milliseconds >= 1 ? `${round(milliseconds)} ms` : `${round(milliseconds * 1_000)} µs`;
}

function round(value: number): string {
  return Number(value.toPrecision(1)).toLocaleString("en-US");
}

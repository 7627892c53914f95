/** A picture for the page: each figure against the budget, one small plot per figure, one line per context manager. */

import type { Measured } from "./quality-goals.ts";
import type { Metric, Scores } from "./quality-scorer.ts";
import { colours, drawing, element, type Frame, gridLine, legendKey, polyline } from "./svg.ts";

const plots: readonly (readonly [Metric, string])[] = [
  ["place", "FRR-place"],
  ["farPlace", "FRR-far-place"],
  ["open", "requests that look open"],
  ["effects", "lost effects"],
  ["silent", "JSON cut silently"],
  ["husks", "husks"],
  ["cutWords", "cut words"],
  ["reach", "FRR-reach"],
];
const colourOf: Readonly<Record<string, string>> = {
  Plimsoll: colours.blue,
  clip: colours.orange,
  tail: colours.grey,
  middleout: colours.green,
  langchain: colours.purple,
};
const budgets = [10, 25, 50];
const frame: Frame = { width: 230, height: 170, left: 34, right: 12, top: 28, bottom: 26 };
const columns = 4;
const legendHeight = 30;

export function plotOf({ own, baselines }: Measured): string {
  const lines = [["Plimsoll", own] as const, ...baselines].filter(
    ([name]) => colourOf[name] !== undefined,
  );
  const rows = Math.ceil(plots.length / columns);
  const [width, height] = [columns * frame.width, rows * frame.height + legendHeight];
  const panels = plots.map(([metric, title], index) => {
    const [x, y] = [(index % columns) * frame.width, Math.floor(index / columns) * frame.height];
    const transform = `translate(${x} ${y + legendHeight})`;
    return element("g", { transform }, panel(metric, title, lines));
  });
  const legend = lines.map(([name], index) =>
    legendKey(20 + index * 120, 14, colourOf[name] ?? "", name),
  );
  return drawing({ width, height }, [...legend, ...panels]);
}

function panel(
  metric: Metric,
  title: string,
  lines: readonly (readonly [string, Scores])[],
): string {
  const { width, height, left, right, top, bottom } = frame;
  const x = (budget: number): number => left + ((budget - 10) / 40) * (width - left - right);
  const y = (value: number): number => top + (1 - value / 100) * (height - top - bottom);
  const grid = [0, 50, 100].map((value) => gridLine(frame, y(value), String(value)));
  const marks = budgets.map((budget) =>
    element("text", { x: x(budget), y: height - 10, "text-anchor": "middle" }, `${budget} %`),
  );
  const drawn = lines.map(([name, { macro }]) => {
    const points = budgets.flatMap((budget) => {
      const value = macro.find((row) => row.kind === "future" && row.budget === budget)?.[metric];
      return value === undefined ? [] : [[x(budget), y(value)] as const];
    });
    return polyline(points, colourOf[name] ?? "", name === "Plimsoll" ? 2.5 : 1.5);
  });
  const heading = element("text", { x: left, y: 16, "font-weight": 600 }, title);
  return `${heading}${[...grid, ...marks, ...drawn].join("")}`;
}

/** A picture for the page: each figure against the budget, one small plot per figure, one line per context manager. */

import type { Measured } from "./quality-goals.ts";
import type { Metric, Scores } from "./quality-scorer.ts";

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
const colours: Readonly<Record<string, string>> = {
  Plimsoll: "#0b63c4",
  clip: "#c2410c",
  tail: "#6b7280",
  middleout: "#15803d",
  langchain: "#7e22ce",
};
const budgets = [10, 25, 50];
const size = { width: 230, height: 170, left: 34, right: 12, top: 28, bottom: 26 };
const columns = 4;
const legendHeight = 30;

export function plotOf({ own, baselines }: Measured): string {
  const lines = [["Plimsoll", own] as const, ...baselines].filter(
    ([name]) => colours[name] !== undefined,
  );
  const rows = Math.ceil(plots.length / columns);
  const [width, height] = [columns * size.width, rows * size.height + legendHeight];
  const panels = plots.map(([metric, title], index) => {
    const [x, y] = [(index % columns) * size.width, Math.floor(index / columns) * size.height];
    return `<g transform="translate(${x} ${y + legendHeight})">${panel(metric, title, lines)}</g>`;
  });
  const legend = lines.map(([name], index) => {
    const x = 20 + index * 120;
    return `<line x1="${x}" y1="14" x2="${x + 24}" y2="14" stroke="${colours[name]}" stroke-width="2.5"/><text x="${x + 30}" y="18">${name}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="11" fill="#1f2937"><rect width="${width}" height="${height}" fill="#ffffff"/>${[...legend, ...panels].join("\n")}</svg>\n`;
}

function panel(
  metric: Metric,
  title: string,
  lines: readonly (readonly [string, Scores])[],
): string {
  const { width, height, left, right, top, bottom } = size;
  const x = (budget: number): number => left + ((budget - 10) / 40) * (width - left - right);
  const y = (value: number): number => top + (1 - value / 100) * (height - top - bottom);
  const grid = [0, 50, 100].map(
    (value) =>
      `<line x1="${left}" x2="${width - right}" y1="${y(value)}" y2="${y(value)}" stroke="#e5e7eb"/><text x="${left - 6}" y="${y(value) + 4}" text-anchor="end">${value}</text>`,
  );
  const marks = budgets.map(
    (budget) => `<text x="${x(budget)}" y="${height - 10}" text-anchor="middle">${budget} %</text>`,
  );
  const drawn = lines.map(([name, { macro }]) => {
    const points = budgets.flatMap((budget) => {
      const value = macro.find((row) => row.kind === "future" && row.budget === budget)?.[metric];
      return value === undefined ? [] : [`${x(budget).toFixed(1)},${y(value).toFixed(1)}`];
    });
    return `<polyline points="${points.join(" ")}" fill="none" stroke="${colours[name]}" stroke-width="${name === "Plimsoll" ? 2.5 : 1.5}"/>`;
  });
  return `<text x="${left}" y="16" font-weight="600">${title}</text>${[...grid, ...marks, ...drawn].join("")}`;
}

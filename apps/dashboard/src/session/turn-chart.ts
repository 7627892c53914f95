/** The charts of the turn history, as options for uPlot. Colours come from the theme. */

import type uPlot from "uplot";
import { share, tokens } from "../format.ts";
import type { Mark, TurnSeries } from "./turn-series.ts";

export interface ChartLook {
  readonly ink: string;
  readonly muted: string;
  readonly line: string;
  readonly surface: string;
  readonly system: string;
  readonly skills: string;
  readonly tools: string;
  readonly conversation: string;
  readonly cached: string;
  readonly money: string;
  readonly recovery: string;
  readonly font: string;
}

const variables: Readonly<Record<Exclude<keyof ChartLook, "font">, string>> = {
  ink: "--ink",
  muted: "--muted",
  line: "--line",
  surface: "--surface",
  system: "--kind-system",
  skills: "--kind-skills",
  tools: "--kind-tools",
  conversation: "--kind-user",
  cached: "--kind-assistant",
  money: "--kind-results",
  recovery: "--recovery",
};

export function lookOf(element: Element): ChartLook {
  const style = getComputedStyle(element);
  const colours = Object.fromEntries(
    Object.entries(variables).map(([name, variable]) => [
      name,
      style.getPropertyValue(variable).trim() || "#888888",
    ]),
  );
  return { ...colours, font: `11px ${style.fontFamily}` } as unknown as ChartLook;
}

export interface ChartOptions {
  readonly width: number;
  readonly series: TurnSeries;
  readonly marks: readonly Mark[];
  readonly look: ChartLook;
  /** Whether the chart also shows the size of the client's own requests. */
  readonly hasBefore: boolean;
  readonly paths: typeof uPlot.paths;
  /** Called with the index of the turn under the pointer, which starts at 0. */
  readonly onpoint: (index: number | undefined) => void;
}

export interface Chart {
  readonly options: uPlot.Options;
  readonly data: uPlot.AlignedData;
}

/** Maximum number of turns that are drawn as columns. With more turns, the columns would be thinner than their gaps. */
const columnsMost = 150;
/** The key that connects both charts, so that their pointers move together. */
const syncKey = "turns";

function axisWidth(width: number): number {
  return width < 480 ? 44 : 64;
}

function hasMoney({ usd }: TurnSeries): boolean {
  return usd.some((value) => value !== null);
}

function common({
  width,
  series,
  onpoint,
}: ChartOptions): Pick<
  uPlot.Options,
  "width" | "legend" | "cursor" | "select" | "hooks" | "padding"
> {
  return {
    width: Math.max(200, width),
    // The space on the right is as wide as the second axis of the other chart, so that the turns of both charts are aligned.
    padding: [18, hasMoney(series) ? axisWidth(width) : 8, 0, 0],
    legend: { show: false },
    select: { show: false, left: 0, top: 0, width: 0, height: 0 },
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: false, y: false, setScale: false },
      sync: { key: syncKey },
    },
    hooks: { setCursor: [({ cursor: { idx } }) => onpoint(idx ?? undefined)] },
  };
}

function axisOf(look: ChartLook, more: Partial<uPlot.Axis>): uPlot.Axis {
  return {
    stroke: look.muted,
    font: look.font,
    grid: { stroke: look.line, width: 1 },
    ticks: { show: false },
    ...more,
  };
}

function turnsScale(numbers: readonly number[]): uPlot.Scale {
  const [first = 1] = numbers;
  return { time: false, range: [first - 0.5, (numbers.at(-1) ?? first) + 0.5] };
}

/** Draws each turn as a level line, from half a turn before it to half a turn after it. So even a single turn is visible. */
const levels: uPlot.Series.PathBuilder = (chart, seriesIndex, first, last) => {
  const [numbers = []] = chart.data;
  const values = chart.data[seriesIndex] ?? [];
  const scale = chart.series[seriesIndex]?.scale ?? "y";
  const [stroke, fill] = [new Path2D(), new Path2D()];
  const ground = chart.valToPos(0, scale, true);
  let hasPen = false;
  for (let index = first; index <= last; index++) {
    const value = values[index];
    if (value === null || value === undefined) {
      hasPen = false;
      continue;
    }
    const number = numbers[index] ?? 0;
    // Edges are on whole pixels, so that there are no seams. A turn is at least one pixel wide, so that it is visible.
    const from = Math.round(chart.valToPos(number - 0.5, "x", true));
    const to = Math.max(from + 1, Math.round(chart.valToPos(number + 0.5, "x", true)));
    const y = chart.valToPos(value, scale, true);
    if (hasPen) stroke.lineTo(from, y);
    else stroke.moveTo(from, y);
    stroke.lineTo(to, y);
    fill.rect(from, y, to - from, ground - y);
    hasPen = true;
  }
  return { stroke, fill };
};

const wholeTurns = (values: readonly number[]): string[] =>
  values.map((value) => (Number.isInteger(value) ? String(value) : ""));

export function fillChart(chartOptions: ChartOptions): Chart {
  const { width, series, look, paths, hasBefore, marks } = chartOptions;
  const drawn =
    series.numbers.length <= columnsMost ? paths.bars?.({ size: [0.82, 40], gap: 0 }) : levels;
  const filled = (label: string, colour: string): uPlot.Series => ({
    label,
    fill: colour,
    stroke: colour,
    width: 0,
    points: { show: false },
    ...(drawn === undefined ? {} : { paths: drawn }),
  });
  const line = (label: string, stroke: string, dash: number[]): uPlot.Series => ({
    label,
    stroke,
    width: 1.5,
    dash,
    points: { show: false },
    paths: levels,
  });
  const base = common(chartOptions);
  return {
    options: {
      ...base,
      height: 240,
      scales: {
        x: turnsScale(series.numbers),
        y: { range: (_, __, most) => [0, Math.max(1, most * 1.08)] },
      },
      axes: [
        axisOf(look, {
          grid: { show: false },
          size: 24,
          values: (_, values) => wholeTurns(values),
        }),
        axisOf(look, { size: axisWidth(width), values: (_, values) => values.map(shortTokens) }),
      ],
      series: [
        {},
        filled("Conversation", look.conversation),
        filled("Tools", look.tools),
        filled("Skills", look.skills),
        filled("System", look.system),
        line("Limit", look.ink, []),
        ...(hasBefore ? [line("Without Plimsoll", look.recovery, [5, 4])] : []),
      ],
      hooks: { ...base.hooks, draw: [(chart) => drawMarks(chart, marks, look)] },
    },
    data: [
      series.numbers,
      series.conversation,
      series.tools,
      series.skills,
      series.system,
      series.limit,
      ...(hasBefore ? [series.before] : []),
    ],
  };
}

function shortUsd(amount: number): string {
  return `$${Number(amount.toPrecision(2))}`;
}

function shortTokens(count: number): string {
  return count >= 10_000 && count < 1e6 ? `${Math.round(count / 1000)}k` : tokens(count);
}

/** A triangle over each compaction and a diamond over each fresh start, so that the shape tells them apart. */
function drawMarks(chart: uPlot, marks: readonly Mark[], look: ChartLook): void {
  const { ctx, bbox } = chart;
  const size = 5 * (globalThis.devicePixelRatio || 1);
  ctx.save();
  for (const { index, kind } of marks) {
    const x = chart.valToPos(chart.data[0][index] ?? 0, "x", true);
    const y = bbox.top - size * 1.6;
    ctx.fillStyle = kind === "recovered" ? look.recovery : look.ink;
    ctx.beginPath();
    ctx.moveTo(x - size, y);
    if (kind === "recovered") ctx.lineTo(x, y - size);
    ctx.lineTo(x + size, y);
    ctx.lineTo(x, y + size);
    ctx.fill();
  }
  ctx.restore();
}

export function costChart(chartOptions: ChartOptions): Chart {
  const { width, series, look, paths } = chartOptions;
  const bars = paths.bars?.({ size: [0.6, 24] });
  const isPriced = hasMoney(series);
  return {
    options: {
      ...common(chartOptions),
      height: 120,
      padding: [8, isPriced ? 0 : 8, 0, 0],
      scales: {
        x: turnsScale(series.numbers),
        share: { range: [0, 1] },
        money: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] },
      },
      axes: [
        axisOf(look, {
          grid: { show: false },
          size: 24,
          values: (_, values) => wholeTurns(values),
        }),
        axisOf(look, {
          scale: "share",
          size: axisWidth(width),
          splits: () => [0, 0.5, 1],
          values: (_, values) => values.map(share),
        }),
        axisOf(look, {
          scale: "money",
          side: 1,
          size: axisWidth(width),
          show: isPriced,
          grid: { show: false },
          values: (_, values) => values.map(shortUsd),
        }),
      ],
      series: [
        {},
        {
          label: "Money",
          scale: "money",
          fill: look.money,
          stroke: look.money,
          width: 0,
          points: { show: false },
          ...(bars === undefined ? {} : { paths: bars }),
        },
        {
          label: "Cached",
          scale: "share",
          stroke: look.cached,
          width: 2,
          points: { show: false },
          paths: levels,
        },
      ],
    },
    data: [series.numbers, series.usd, series.cached],
  };
}

/**
 * The turns of a session as SVG charts with a common axis: sent tokens by component, tokens from the client, and cached tokens.
 */

import type { TurnPoint } from "../../message/api.ts";
import { grouped } from "../../text/digits.ts";
import { brief } from "../../watch/figures.ts";
import { html, type Markup, nothing, written } from "./markup.ts";
import { counted, percent } from "./words.ts";

/** Maximum number of columns. If there are more turns, several turns share a column. */
const mostColumns = 500;
/** If there are more columns than this, they are drawn without gaps. */
const mostGaps = 80;
/** Width of a column. All sizes are whole numbers of units, because short numbers make a small file. */
const columnUnits = 10;
const heightUnits = 1000;
/** Height of the chart as a multiple of the highest value. */
const headroom = 1.06;

/** One column of a chart. It shows the fullest of its turns. */
export interface Column {
  /** Numbers of the column's first and last turn. 1 is the oldest turn. */
  readonly first: number;
  readonly last: number;
  readonly system: number;
  readonly skills: number;
  readonly tools: number;
  readonly conversation: number;
  readonly limit: number;
  readonly client: number;
  readonly sent: number;
  /** Share of the input that the provider read from its cache. Undefined if the provider did not report it. */
  readonly cached: number | undefined;
  readonly mark: "compacted" | "recovered" | undefined;
}

/** Contract: turns are oldest first. */
export function columnsOf(turns: readonly TurnPoint[]): readonly Column[] {
  const perColumn = Math.ceil(turns.length / mostColumns);
  const columns: Column[] = [];
  for (let from = 0; from < turns.length; from += perColumn)
    columns.push(columnOf(turns.slice(from, from + perColumn), from + 1));
  return columns;
}

function columnOf(turns: readonly TurnPoint[], first: number): Column {
  const fullest = turns.reduce<TurnPoint | undefined>(
    (best, turn) =>
      best === undefined || turn.measurement.total > best.measurement.total ? turn : best,
    undefined,
  );
  const { system = 0, skills = 0, tools = 0, conversation = 0 } = fullest?.measurement ?? {};
  const sent = system + skills + tools + conversation;
  return {
    first,
    last: first + turns.length - 1,
    system,
    skills,
    tools,
    conversation,
    limit: fullest?.limit ?? 0,
    client: fullest?.tokensBefore ?? sent,
    sent,
    cached: cachedIn(turns),
    mark: markIn(turns),
  };
}

function cachedIn(turns: readonly TurnPoint[]): number | undefined {
  const reported = turns.flatMap(({ usage }) =>
    usage?.cacheReadTokens === undefined || usage.inputTokens <= 0
      ? []
      : [{ read: usage.inputTokens, cached: usage.cacheReadTokens }],
  );
  const read = reported.reduce((sum, one) => sum + one.read, 0);
  if (read === 0) return undefined;
  return Math.min(1, reported.reduce((sum, one) => sum + one.cached, 0) / read);
}

function markIn(turns: readonly TurnPoint[]): Column["mark"] {
  if (turns.some(({ outcome }) => outcome === "recovered")) return "recovered";
  return turns.some(({ outcome }) => outcome === "compacted") ? "compacted" : undefined;
}

/** The components of a column, from bottom to top. */
const components = [
  { name: "System", className: "c-system", of: ({ system }: Column) => system },
  { name: "Skills", className: "c-skills", of: ({ skills }: Column) => skills },
  { name: "Tools", className: "c-tools", of: ({ tools }: Column) => tools },
  {
    name: "Conversation",
    className: "c-conversation",
    of: ({ conversation }: Column) => conversation,
  },
] as const;

export function historyCharts(turns: readonly TurnPoint[]): Markup {
  const columns = columnsOf(turns);
  const perColumn = Math.ceil(turns.length / mostColumns);
  const isCached = columns.some(({ cached }) => cached !== undefined);
  const isSmaller = columns.some(({ client, sent }) => client > sent);
  return html`${componentChart(columns)}
${isSmaller ? clientChart(columns) : nothing}
${isCached ? cachedChart(columns) : nothing}
${perColumn > 1 ? html`<p class="note">Each column shows the fullest of ${perColumn} turns.</p>` : nothing}`;
}

function componentChart(columns: readonly Column[]): Markup {
  const most = Math.max(1, ...columns.map(({ sent, limit }) => Math.max(sent, limit)));
  const scale: Scale = { most: most * headroom, text: brief };
  const shown = components.filter(({ of }) => columns.some((column) => of(column) > 0));
  const bases = columns.map(() => 0);
  const layers = shown.map(({ className, of }) => {
    const segments = columns.map((column, index) => {
      const from = bases[index] ?? 0;
      bases[index] = from + of(column);
      return { from, to: from + of(column) };
    });
    return layer(className, segments, scale);
  });
  const fullest = columns.reduce((best, column) => (column.sent > best.sent ? column : best));
  const marks = columns.filter(({ mark }) => mark !== undefined).length;
  return chart({
    title: "Sent tokens, by component",
    label: `Tokens of each turn by component. ${counted(columns.at(-1)?.last ?? 0, "turn")}; at most ${grouped(fullest.sent)} tokens of ${grouped(fullest.limit)}, in turn ${fullest.first}. ${counted(marks, "column")} with a compaction.`,
    height: 200,
    columns,
    scale,
    layers: [...layers, limitPath(columns, scale)],
    hasMarks: true,
    legend: [
      ...shown.map(
        ({ name, className }) => html`<li><span class="swatch ${className}"></span>${name}</li>`,
      ),
      html`<li class="sign"><span class="swatch s-limit"></span>limit</li>`,
      ...(columns.some(({ mark }) => mark === "compacted")
        ? [
            html`<li class="sign"><svg class="sample" width="12" height="12">${markShape("compacted", 6)}</svg>compaction</li>`,
          ]
        : []),
      ...(columns.some(({ mark }) => mark === "recovered")
        ? [
            html`<li class="sign"><svg class="sample" width="12" height="12">${markShape("recovered", 6)}</svg>fresh start</li>`,
          ]
        : []),
    ],
  });
}

function clientChart(columns: readonly Column[]): Markup {
  const most = Math.max(1, ...columns.map(({ client }) => client));
  const scale: Scale = { most: most * headroom, text: brief };
  const last = columns.at(-1);
  return chart({
    title: "Tokens from the client, and tokens sent on",
    label: `Tokens from the client and tokens sent on, in each turn: ${grouped(last?.client ?? 0)} and ${grouped(last?.sent ?? 0)} in the last one.`,
    height: 110,
    columns,
    scale,
    layers: [
      layer(
        "c-client",
        columns.map(({ client }) => ({ from: 0, to: client })),
        scale,
      ),
      layer(
        "c-conversation",
        columns.map(({ sent }) => ({ from: 0, to: sent })),
        scale,
      ),
    ],
    legend: [
      html`<li><span class="swatch c-client"></span>from the client</li>`,
      html`<li><span class="swatch c-conversation"></span>sent on</li>`,
    ],
  });
}

function cachedChart(columns: readonly Column[]): Markup {
  const scale: Scale = {
    most: 1,
    text: (share) => `${Math.round(share * 100)} %`,
    ticks: [0, 0.5, 1],
  };
  const reported = columns.flatMap(({ cached }) => cached ?? []);
  const mean = reported.reduce((sum, share) => sum + share, 0) / Math.max(1, reported.length);
  return chart({
    title: "Read from the provider's cache",
    label: `Share of each turn that the provider read from its cache: ${percent(mean)} on average.`,
    height: 64,
    columns,
    scale,
    layers: [
      layer(
        "c-cached",
        columns.map(({ cached }) => ({ from: 0, to: cached ?? 0 })),
        scale,
      ),
    ],
    legend: [html`<li><span class="swatch c-cached"></span>share of the turn</li>`],
  });
}

interface Scale {
  /** The value at the upper edge of the chart. */
  readonly most: number;
  readonly text: (value: number) => string;
  readonly ticks?: readonly number[];
}

interface Segment {
  readonly from: number;
  readonly to: number;
}

/** Draws all columns of one colour as one path. */
function layer(className: string, segments: readonly Segment[], scale: Scale): Markup {
  const gap = segments.length <= mostGaps ? 1 : 0;
  const path = segments.flatMap(({ from, to }, index) => {
    const [top, bottom] = [heightOf(to, scale), heightOf(from, scale)];
    const left = index * columnUnits + gap;
    const right = (index + 1) * columnUnits - gap;
    return top >= bottom ? [] : [`M${left} ${top}H${right}V${bottom}H${left}z`];
  });
  return html`<path class="${className}" d="${written(path.join(""))}"/>`;
}

/** The position of a value, measured from the top as in SVG. */
function heightOf(value: number, { most }: Scale): number {
  return Math.round((1 - Math.min(1, value / most)) * heightUnits);
}

/** The line of the limit. It has a step where the limit changes with the model or the settings. */
function limitPath(columns: readonly Column[], scale: Scale): Markup {
  let last: number | undefined;
  const path = columns.flatMap(({ limit }, index) => {
    const height = heightOf(limit, scale);
    const begins = last === undefined ? `M0 ${height}` : height === last ? "" : `V${height}`;
    last = height;
    return [`${begins}H${(index + 1) * columnUnits}`];
  });
  return html`<path class="limit" d="${written(path.join(""))}"/>`;
}

interface Chart {
  readonly title: string;
  readonly label: string;
  readonly height: number;
  readonly columns: readonly Column[];
  readonly scale: Scale;
  readonly layers: readonly Markup[];
  readonly hasMarks?: boolean;
  readonly legend: readonly Markup[];
}

const marksHeight = 14;
const numbersHeight = 18;
const scaleWidth = 52;

function chart({ title, label, height, columns, scale, layers, hasMarks, legend }: Chart): Markup {
  const top = hasMarks === true ? marksHeight : 6;
  const whole = top + height + numbersHeight;
  const at = (value: number): number => top + (heightOf(value, scale) / heightUnits) * height;
  const ticks = scale.ticks ?? ticksUpTo(scale.most);
  const lines = ticks.map(
    (tick) => html`<line class="grid" x1="0" y1="${at(tick)}" x2="100%" y2="${at(tick)}"/>`,
  );
  const texts = ticks.map(
    (tick) => html`<text x="${scaleWidth - 8}" y="${at(tick) + 4}">${scale.text(tick)}</text>`,
  );
  return html`<figure><figcaption><h3>${title}</h3><ul class="legend">${legend}</ul></figcaption>
<div class="chart"><svg class="scale" width="${scaleWidth}" height="${whole}" aria-hidden="true">${texts}</svg>
<svg class="plot" height="${whole}" role="img" aria-label="${label}">${lines}
<svg y="${top}" width="100%" height="${height}" viewBox="0 0 ${columns.length * columnUnits} ${heightUnits}" preserveAspectRatio="none">${layers}</svg>
<line class="axis" x1="0" y1="${top + height}" x2="100%" y2="${top + height}"/>
${hasMarks === true ? marksOf(columns) : nothing}${numbersOf(columns, whole - 4)}</svg></div></figure>`;
}

/** Three to six round values for an axis: multiples of 1, 2 or 5 times a power of ten. */
function ticksUpTo(most: number): readonly number[] {
  const power = 10 ** Math.floor(Math.log10(most / 3));
  const step = [1, 2, 5, 10].map((times) => times * power).find((one) => most / one <= 5) ?? most;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
}

function marksOf(columns: readonly Column[]): readonly Markup[] {
  return columns.flatMap(({ mark }, index) => {
    if (mark === undefined) return [];
    const x = ((index + 0.5) / columns.length) * 100;
    return [
      html`<svg x="${Number(x.toFixed(3))}%" y="6" overflow="visible">${markShape(mark, 0)}</svg>`,
    ];
  });
}

/** Draws a mark. The two marks differ in both shape and colour. */
function markShape(mark: "compacted" | "recovered", centre: number): Markup {
  return mark === "compacted"
    ? html`<path class="mark-compacted" d="M${centre - 4} ${centre - 3}h8l-4 7z"/>`
    : html`<path class="mark-recovered" d="M${centre} ${centre - 5}l5 5l-5 5l-5 -5z"/>`;
}

/** Writes the numbers of the first, the middle and the last turn. */
function numbersOf(columns: readonly Column[], y: number): readonly Markup[] {
  const last = columns.at(-1)?.last ?? 0;
  const middle = columns[Math.floor((columns.length - 1) / 2)];
  const first = html`<text x="0" y="${y}">turn 1</text>`;
  if (last === 1 || middle === undefined) return [first];
  const end = html`<text class="end" x="100%" y="${y}">${grouped(last)}</text>`;
  if (columns.length < 5) return [first, end];
  const x = ((columns.indexOf(middle) + 0.5) / columns.length) * 100;
  return [
    first,
    html`<text class="middle" x="${Number(x.toFixed(2))}%" y="${y}">${grouped(middle.first)}</text>`,
    end,
  ];
}

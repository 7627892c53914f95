/** The lower part of the screen: the window of the selected session, the phase of its compaction, and its edits. Pure. */

import type { MeasurementSummary } from "../../message/event.ts";
import { grouped } from "../../text/digits.ts";
import { windowWords } from "../../watch/figures.ts";
import { componentsOf, sumsOf } from "../../watch/kind-words.ts";
import { agentOf, type RowState } from "../../watch/row-state.ts";
import { pictureBar } from "./bars.ts";
import { cellsOf, clipped, leftIn, rightIn, sober } from "./cells.ts";
import type { EditStep } from "./edits.ts";
import {
  dotted,
  heading,
  type Line,
  type Size,
  type Span,
  span,
  timeOf,
  widthOf,
} from "./lines.ts";
import { phaseLine } from "./phase.ts";
import type { Looked, TopState } from "./state.ts";

export interface PanePlan {
  readonly hasComponents: boolean;
  readonly hasLegend: boolean;
  readonly hasEditsTitle: boolean;
  readonly edits: number;
}

export function paneLines(state: TopState, size: Size, plan: PanePlan): readonly Line[] {
  const row = state.selected === undefined ? undefined : state.rows.get(state.selected);
  if (row === undefined) return [heading("", size.columns)];
  const looked = state.looked?.session === state.selected ? state.looked : undefined;
  const { columns } = size;
  return [
    titleLine(row, columns),
    figuresLine(row, looked),
    ...(plan.hasComponents ? [componentsLine(row, looked)] : []),
    pictureLine(looked, columns),
    ...(plan.hasLegend ? [legendLine(looked, columns)] : []),
    row.phase === undefined || !state.settings.progress.show
      ? []
      : phaseLine(row.phase, state.settings, columns),
    ...(plan.hasEditsTitle ? [heading("Edits", columns)] : []),
    ...editLines(looked, size, plan.edits),
  ];
}

/** The title line. The name comes last, like all text from outside. */
function titleLine({ row }: RowState, columns: number): Line {
  const { id, branches } = row;
  const own = `${clipped(id, 28)}${branches > 1 ? ` · ${branches} branches` : ""}`;
  const title = [agentOf(row), row.title ?? ""].filter((text) => text !== "").join(": ");
  const name = clipped(title, columns - cellsOf(own) - 8);
  const rest = columns - cellsOf(own) - cellsOf(name) - (name === "" ? 4 : 5);
  return [
    span("── ", "dim"),
    span(own, "strong"),
    span(` ${"─".repeat(Math.max(0, rest))}`, "dim"),
    span(name === "" ? "" : ` ${name}`, "strong"),
  ];
}

function figuresLine(row: RowState, looked: Looked | undefined): Line {
  const { tokens, limit, window, isWindowGuess } = row;
  if (limit === 0) return [span(" There has been no request yet.", "dim")];
  const windowText = windowWords({ window: Math.max(window, limit), isWindowGuess }, grouped);
  const { cachedTokens = 0, takenOutTokens = 0 } = looked?.picture ?? {};
  return [
    span(" "),
    ...dotted([
      [span(grouped(tokens), "strong"), span(` of ${grouped(limit)} tokens`)],
      [span(`window ${windowText}`, "dim")],
      ...(cachedTokens > 0 ? [[span(`${grouped(cachedTokens)} cached`, "dim")]] : []),
      ...(takenOutTokens > 0 ? [[span(`${grouped(takenOutTokens)} removed`)]] : []),
    ]),
  ];
}

const certainties: Readonly<Record<MeasurementSummary["certainty"], string>> = {
  exact: "counted",
  estimate: "estimated",
  bound: "at most",
};

/** The components of the window. They add up to its size, because they come from its picture, or from the running request. */
function componentsLine({ running }: RowState, looked: Looked | undefined): Line {
  if (running === undefined && looked === undefined) return [];
  const components = running?.measurement ?? componentsOf(looked?.picture ?? { units: [] });
  const certainty = (running?.measurement ?? looked?.picture)?.certainty ?? "estimate";
  const { system, skills, tools, conversation } = components;
  return [
    span(" "),
    ...dotted([
      part("system", system),
      ...(skills > 0 ? [part("skills", skills)] : []),
      part("tools", tools),
      part("conversation", conversation),
      [span(certainties[certainty] ?? certainty, "dim")],
    ]),
  ];
}

function part(name: string, tokens: number): Line {
  return [span(`${name} `, "dim"), span(grouped(tokens))];
}

function pictureLine(looked: Looked | undefined, columns: number): Line {
  if (looked === undefined) return [span(" Reading what fills the window…", "dim")];
  return [span(" "), ...pictureBar(looked.picture, columns - 2)];
}

/** The legend of the kinds. It shows their tokens if there is room. */
function legendLine(looked: Looked | undefined, columns: number): Line {
  if (looked === undefined) return [];
  const sums = sumsOf(looked.picture);
  const legend = (gap: string, hasTokens: boolean): Line => [
    ...sums.flatMap(
      ({ kind, letter, tokens }, index): Line => [
        span(index === 0 ? " " : gap),
        { text: letter, tone: kind, isBlock: true },
        span(` ${kind}`, "dim"),
        span(hasTokens ? ` ${grouped(tokens)}` : ""),
      ],
    ),
  ];
  const whole = legend("  ", true);
  return widthOf(whole) <= columns ? whole : legend(" ", false);
}

function editLines(looked: Looked | undefined, { columns }: Size, room: number): readonly Line[] {
  if (looked === undefined) return [];
  const steps = looked.steps.slice(0, room);
  if (steps.length === 0)
    return [[span(" Nothing was edited. The model sees every message as it came.", "dim")]];
  const widest = (text: (step: EditStep) => string, most: number): number =>
    Math.min(most, Math.max(...steps.map((step) => cellsOf(text(step)))));
  const widths: EditWidths = {
    numbers: widest(numbersOf, 12),
    strategy: widest(strategyOf, columns < 80 ? 18 : 28),
    tokens: widest(changeOf, 21),
  };
  return steps.map((step) => editLine(step, widths, columns));
}

interface EditWidths {
  readonly numbers: number;
  readonly strategy: number;
  readonly tokens: number;
}

function numbersOf({ first, last }: EditStep): string {
  return first === last ? `#${first}` : `#${first}–${last}`;
}

function strategyOf({ strategy, count }: EditStep): string {
  return `${sober(strategy).replaceAll("_", " ")}${count === 1 ? "" : ` ×${count}`}`;
}

function changeOf({ tokensBefore, tokensAfter }: EditStep): string {
  const isNone = tokensBefore === 0 && tokensAfter === 0;
  return isNone ? "" : `${grouped(tokensBefore)} → ${grouped(tokensAfter)}`;
}

function editLine(step: EditStep, widths: EditWidths, columns: number): Line {
  const isUndone = step.state === "undone";
  const own = (text: string): Span => (isUndone ? span(text, "dim") : span(text));
  const used = widths.numbers + widths.strategy + widths.tokens + 13 + (isUndone ? 7 : 0);
  return [
    span(` ${timeOf(step.at)}  `, "dim"),
    span(rightIn(numbersOf(step), widths.numbers), "dim"),
    own(`  ${leftIn(strategyOf(step), widths.strategy)}`),
    own(`  ${rightIn(changeOf(step), widths.tokens)}  `),
    span(isUndone ? "undone " : "", "warning"),
    span(clipped(step.reason, Math.max(0, columns - used)), "dim"),
  ];
}

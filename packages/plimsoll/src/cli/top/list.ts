/**
 * The upper part of the screen: the service's address, totals, and the sessions. Names from outside come last in their line. So
 * even if a terminal displays foreign letters in an unexpected way, they cannot disturb Plimsoll's own text.
 */

import { grouped } from "../../text/digits.ts";
import type { Connection } from "../../watch/event-stream.ts";
import { brief } from "../../watch/figures.ts";
import { type OpenTickets, openTicketCount } from "../../watch/open-tickets.ts";
import { keyOf, nameOf, type RowSettings, type RowState } from "../../watch/row-state.ts";
import { fillBar } from "./bars.ts";
import { cellsOf, clipped, leftIn, rightIn } from "./cells.ts";
import { apart, dotted, type Line, percent, type Size, span, stateName } from "./lines.ts";
import { phaseIcon } from "./phase.ts";
import { orderedRows, type TopState } from "./state.ts";

export function headerLine({ url, link }: TopState, { columns }: Size): Line {
  const place = [span(" ⊖ Plimsoll", "strong"), span(`  ${clipped(url, 40)}`, "dim")];
  return apart(place, [...linkSpans(link), span(" ")], columns);
}

function linkSpans(link: Connection): Line {
  switch (link.kind) {
    case "live":
      return [span("●", "p1"), span(" live")];
    case "connecting":
      return [span("○ connecting", "dim")];
    case "waiting":
      return [span("○ reconnecting", "warning"), span(` in ${link.retryMs / 1000} s`, "dim")];
    case "refused":
      return [span("× refused", "recovery")];
  }
}

export function totalsLine(state: TopState): Line {
  const rows = [...state.rows.values()];
  const turns = rows.reduce((sum, { row }) => sum + row.turns, 0);
  const running = rows.filter((row) => row.running !== undefined).length;
  const tokens = rows.reduce((sum, { tokens: own }) => sum + own, 0);
  const kept = rows.reduce((sum, { row: { lastTurn } }) => {
    const before = lastTurn?.tokensBefore ?? 0;
    return sum + Math.max(0, before - (lastTurn?.measurement.total ?? before));
  }, 0);
  const near = rows.filter((row) => row.state === "warning").length;
  const sessions = `${grouped(rows.length)}${state.hasMore ? "+" : ""}`;
  return [
    span(" "),
    ...dotted([
      figure(sessions, rows.length === 1 ? "session" : "sessions"),
      ...(running === 0 ? [] : [figure(grouped(running), "running")]),
      figure(grouped(turns), turns === 1 ? "turn" : "turns"),
      ...ticketFigure(state.tickets),
      figure(brief(tokens), "tokens in view"),
      ...(kept === 0 ? [] : [figure(brief(kept), "removed")]),
      ...(near === 0 ? [] : [[span(`${grouped(near)} warning`, "warning")]]),
    ]),
  ];
}

function ticketFigure(tickets: OpenTickets | undefined): readonly Line[] {
  if (tickets === undefined || tickets.ids.size === 0) return [];
  const what = tickets.ids.size === 1 ? "open ticket" : "open tickets";
  return [[span(`${openTicketCount(tickets)} ${what}`, "warning")]];
}

function figure(count: string, of: string): Line {
  return [span(count, "strong"), span(` ${of}`, "dim")];
}

interface Columns {
  readonly bar: number;
  /** Width of the column in cells. 0 if the screen has no room for it. */
  readonly tokens: number;
  readonly model: number;
  readonly name: number;
}

/** Widths of the columns that vary. The columns for marker, percent, state and turns always take 4, 6, 10 and 7 cells. */
function columnsFor(columns: number): Columns {
  const left = columns - 27;
  const tokens = columns >= 100 ? 20 : 0;
  const model = Math.min(26, Math.floor(columns * 0.24));
  const name = Math.min(40, Math.max(12, Math.floor(columns * 0.2)));
  return { bar: Math.max(8, left - tokens - model - name - 2), tokens, model, name };
}

/** The line with the column titles, and with the position in the list if not all rows are visible. */
export function columnTitles(state: TopState, { columns }: Size, room: number): Line {
  const { bar, tokens, model } = columnsFor(columns);
  const { first, rows } = shownRows(state, room);
  const last = Math.min(rows.length, first + room);
  const place = rows.length > room ? [span(`${first + 1}–${last}/${rows.length}`, "dim")] : [];
  const titles = [
    leftIn("    WINDOW", bar + 4),
    rightIn("FILL", 6),
    "  ",
    leftIn("STATE", 8),
    rightIn("TURNS", 7),
    tokens === 0 ? "" : rightIn("TOKENS / LIMIT", tokens),
    "  ",
    leftIn("MODEL", model),
    "SESSION",
  ];
  return apart([span(titles.join(""), "dim")], place, columns);
}

/** The lines of as many sessions as fit, around the selected one. */
export function sessionLines(state: TopState, size: Size, room: number): readonly Line[] {
  const { first, rows } = shownRows(state, room);
  if (rows.length === 0)
    return [
      [],
      [
        span(
          "  No session yet. Point an agent at the service, and its session appears here.",
          "dim",
        ),
      ],
    ];
  return rows.slice(first, first + room).map((row) => sessionLine(state, row, size.columns));
}

function shownRows(
  state: TopState,
  room: number,
): { readonly rows: readonly RowState[]; readonly first: number } {
  const rows = orderedRows(state);
  const index = rows.findIndex(({ row }) => row.id === state.selected);
  return { rows, first: scrolled(index, rows.length, room) };
}

/** Index of the first visible line. The chosen line is in the middle if there are enough lines before and after it. */
export function scrolled(chosen: number, count: number, room: number): number {
  return Math.max(0, Math.min(chosen - Math.floor(room / 2), count - room));
}

function activityMark({ running, phase }: RowState, { progress }: RowSettings): string {
  if (phase !== undefined && progress.show) return phaseIcon(phase);
  return running === undefined ? " " : "•";
}

function sessionLine({ selected, settings }: TopState, known: RowState, columns: number): Line {
  const { row, running, tokens, limit, state: tone } = known;
  const widths = columnsFor(columns);
  const isSelected = row.id === selected;
  const isKnown = limit > 0;
  const bar = isKnown ? fillBar(known, tone, widths.bar) : [span("·".repeat(widths.bar), "dim")];
  const size = isKnown ? `${grouped(tokens)} / ${grouped(limit)}` : "—";
  const model = running?.model ?? row.lastTurn?.model ?? "";
  return [
    span(isSelected ? " ►" : "  ", "strong"),
    span(`${activityMark(known, settings)} `, tone),
    ...bar,
    span(rightIn(isKnown ? percent(known.fill) : "—", 6)),
    span("  "),
    span(leftIn(stateName(tone), 8), tone),
    span(rightIn(grouped(row.turns), 7)),
    span(widths.tokens === 0 ? "" : rightIn(size, widths.tokens)),
    span("  "),
    span(leftIn(clipped(model, widths.model - 1), widths.model), "dim"),
    ...nameSpans(row, isSelected, widths.name),
  ];
}

/** Minimum number of characters of a key. A shorter key would not distinguish sessions. */
const leastKey = 4;

/** The title of the session. If there is room, its agent and its key follow. */
function nameSpans(row: RowState["row"], isSelected: boolean, width: number): Line {
  const name = clipped(nameOf(row), width);
  const shown = span(name, isSelected ? "strong" : undefined);
  const room = width - cellsOf(name) - 2;
  return room >= leastKey && keyOf(row) !== nameOf(row)
    ? [shown, span(`  ${clipped(keyOf(row), room)}`, "dim")]
    : [shown];
}

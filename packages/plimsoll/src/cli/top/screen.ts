/** The whole screen of `plimsoll top`, line by line, for any size. Pure. */

import { wrapped } from "./cells.ts";
import { helpLines, pinLines } from "./dialogs.ts";
import { fitted, type Line, type Size, span, type Tone } from "./lines.ts";
import { columnTitles, headerLine, sessionLines, totalsLine } from "./list.ts";
import { type PanePlan, paneLines } from "./pane.ts";
import type { Mode, Note, TopState } from "./state.ts";

const smallest: Size = { columns: 60, rows: 12 };

interface Plan extends PanePlan {
  readonly hasTotals: boolean;
  readonly sessions: number;
}

/** Contract: returns exactly as many lines as the screen has rows, and no line is wider than the screen. */
export function screenLines(state: TopState, size: Size): readonly Line[] {
  const { columns, rows } = size;
  if (columns < smallest.columns || rows < smallest.rows) return tooSmall(size);
  const plan = planFor(rows, state.rows.size);
  const notes = noteLines(state, columns);
  const lower = rows - plan.sessions - notes.length - (plan.hasTotals ? 4 : 3);
  const body =
    state.mode.kind === "help"
      ? exactly(helpLines(size), rows - notes.length - 2)
      : [
          ...(plan.hasTotals ? [totalsLine(state)] : []),
          columnTitles(state, size, plan.sessions),
          ...exactly(sessionLines(state, size, plan.sessions), plan.sessions),
          ...exactly(lowerLines(state, size, { plan, lower }), lower),
        ];
  const lines = [headerLine(state, size), ...body, ...notes, footerLine(state.mode)];
  return lines.map((line) => fitted(line, columns));
}

/** One frame without keys, with a line for every session: for scripts and screen readers. */
export function onceLines(state: TopState, columns: number): readonly Line[] {
  const size: Size = { columns: Math.max(columns, smallest.columns), rows: 24 };
  const sessions = Math.max(2, state.rows.size);
  const plan = { ...planFor(size.rows, sessions), edits: 10 };
  const lines = [
    headerLine(state, size),
    totalsLine(state),
    columnTitles(state, size, sessions),
    ...sessionLines(state, size, sessions),
    ...paneLines(state, size, plan),
  ];
  return lines.map((line) => fitted(line, size.columns));
}

/** The parts of the screen. Less important parts are shown only on larger screens. The remaining rows are for sessions and edits. */
function planFor(rows: number, sessions: number): Plan {
  const hasEditsTitle = rows >= 16;
  const hasTotals = rows >= 18;
  const hasComponents = rows >= 20;
  const hasLegend = rows >= 22;
  const extras = [hasEditsTitle, hasTotals, hasComponents, hasLegend].filter(Boolean).length;
  const free = rows - 8 - extras;
  const most = Math.max(3, Math.floor(free / 2));
  const shown = Math.min(most, Math.max(3, sessions));
  return {
    hasEditsTitle,
    hasTotals,
    hasComponents,
    hasLegend,
    sessions: shown,
    edits: Math.max(1, free - shown),
  };
}

function lowerLines(
  state: TopState,
  size: Size,
  { plan, lower }: { readonly plan: Plan; readonly lower: number },
): readonly Line[] {
  return state.mode.kind === "pins" ? pinLines(state, size, lower) : paneLines(state, size, plan);
}

function exactly(lines: readonly Line[], rows: number): readonly Line[] {
  return Array.from({ length: rows }, (_, index) => lines[index] ?? []);
}

const noteTones: Readonly<Record<Note["tone"], Tone>> = {
  pending: "normal",
  done: "p1",
  refused: "warning",
};
const noteMarks: Readonly<Record<Note["tone"], string>> = { pending: "•", done: "√", refused: "!" };

/** Maximum number of lines of a note. Each line after the first leaves one line less for the edits. */
const mostNoteLines = 3;

/** The lines of a note. At least one line is reserved, so that nothing moves when a note appears. */
function noteLines({ note, link }: TopState, columns: number): readonly Line[] {
  const shown: Note | undefined =
    link.kind === "refused" ? { tone: "refused", text: link.sentence } : note;
  if (shown === undefined) return [[]];
  const { tone, text } = shown;
  return wrapped(text, columns - 4, mostNoteLines).map((line, index) => [
    span(index === 0 ? ` ${noteMarks[tone]} ` : "   ", noteTones[tone]),
    span(line),
  ]);
}

const footers: Readonly<Record<Mode["kind"], readonly (readonly [string, string])[]>> = {
  sessions: [
    ["↑↓", "select"],
    ["c", "compact"],
    ["u", "undo"],
    ["p", "pin"],
    ["?", "help"],
    ["q", "quit"],
  ],
  pins: [
    ["↑↓", "choose"],
    ["enter", "pin"],
    ["P", "release"],
    ["esc", "back"],
    ["q", "quit"],
  ],
  help: [
    ["any key", "back"],
    ["q", "quit"],
  ],
};

function footerLine({ kind }: Mode): Line {
  return footers[kind].flatMap(([key, what]) => [
    span(` ${key}`, "strong"),
    span(` ${what} `, "dim"),
  ]);
}

/** The message that the screen is too small. It is cut if even the message does not fit. */
function tooSmall({ columns, rows }: Size): readonly Line[] {
  const words = [
    "Too small for plimsoll top:",
    `it needs ${smallest.columns}×${smallest.rows},`,
    `this is ${columns}×${rows}.`,
    "Make it larger, or use --once.",
  ];
  return exactly(
    words.map((text) => [span(text)]),
    rows,
  ).map((line) => fitted(line, columns));
}

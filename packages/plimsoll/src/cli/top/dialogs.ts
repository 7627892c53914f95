/** Dialogs that replace a part of the screen: the list of units to pin, and the help. Pure. */

import type { WindowUnit } from "../../message/api.ts";
import { grouped } from "../../text/digits.ts";
import { kindLetter, kinds, mainKind } from "../../watch/kind-words.ts";
import type { FillState } from "../../watch/phase-words.ts";
import { clipped, leftIn, rightIn } from "./cells.ts";
import { heading, type Line, type Size, span, stateName } from "./lines.ts";
import { scrolled } from "./list.ts";
import { pinnableUnits, type TopState } from "./state.ts";

export function pinLines(state: TopState, { columns }: Size, room: number): readonly Line[] {
  const { mode, looked } = state;
  const units = looked === undefined ? [] : pinnableUnits(looked.picture);
  const index = units.findIndex(({ id }) => mode.kind === "pins" && id === mode.unit);
  const shown = Math.max(1, room - 1);
  const first = scrolled(index, units.length, shown);
  const title = `Which unit should stay as it is? Unit ${index + 1} of ${grouped(units.length)}`;
  return [
    heading(title, columns),
    ...units
      .slice(first, first + shown)
      .map((unit, offset) => unitLine(unit, first + offset === index, columns)),
  ];
}

function unitLine(unit: WindowUnit, isChosen: boolean, columns: number): Line {
  const { first = 0, last = first, tokens, begins, isPinned } = unit;
  const numbers = first === last ? `${first}` : `${first}–${last}`;
  const kind = mainKind(unit);
  return [
    span(isChosen ? " ► " : "   ", "strong"),
    span(rightIn(numbers, 9), "dim"),
    span("  "),
    { text: kindLetter(kind), tone: kind, isBlock: true },
    span(` ${leftIn(kind, 10)}`),
    span(rightIn(grouped(tokens), 8)),
    span(isPinned === true ? "  pinned  " : "          ", "p1"),
    {
      text: clipped(begins, Math.max(0, columns - 44)),
      ...(isChosen ? { tone: "strong" as const } : {}),
    },
  ];
}

const keys: readonly (readonly [string, string])[] = [
  ["↑ ↓  j k", "select a session; page up and page down move by ten"],
  ["c", "compact it now, to half of its limit"],
  ["u", "undo the last active edit, with all edits made together with it"],
  ["p", "choose a unit: enter pins it, P releases it, escape goes back"],
  ["q  ctrl-c", "quit; the service keeps running"],
];

const states: readonly (readonly [FillState, string])[] = [
  ["normal", "there is room"],
  ["p1", "the client asks for the highest priority"],
  ["warning", "near the load line, or the guard intervened"],
  ["recovery", "the conversation started afresh, with a handover"],
];

export function helpLines({ columns }: Size): readonly Line[] {
  return [
    heading("Keys", columns),
    ...keys.map(([key, what]): Line => [span(`  ${leftIn(key, 12)}`, "strong"), span(what)]),
    heading("Display", columns),
    [
      span("  A bar is a window; "),
      span("│", "strong"),
      span(" is the load line: a request may use the part before it."),
    ],
    ...states.map(
      ([state, what]): Line => [span(`  ${leftIn(stateName(state), 12)}`, state), span(what)],
    ),
    [
      span("  "),
      ...kinds.flatMap(({ kind, letter }) => [
        { text: letter, tone: kind, isBlock: true as const },
        span(` ${kind} `),
      ]),
    ],
    [span("  Content that an edit removes from the view stays in the archive.", "dim")],
    [span("  Press any key to close this.", "dim")],
  ];
}

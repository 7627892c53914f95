/** The keys of `plimsoll top`. Pure: a key gives a new state, and in some cases a command for other code to carry out. */

import type { WindowUnit } from "../../message/api.ts";
import { nameOf } from "../../watch/row-state.ts";
import { orderedRows, pinnableUnits, type TopState } from "./state.ts";

export type Key =
  | "up"
  | "down"
  | "page-up"
  | "page-down"
  | "enter"
  | "escape"
  /** A key that types a character. */
  | { readonly character: string };

export type Command =
  | { readonly kind: "quit" }
  | ({
      readonly kind: "act";
      readonly session: string;
      /** Text to show until the command is done. */
      readonly text: string;
      readonly branch?: string;
    } & Action);

export type Action =
  | { readonly action: "compact" | "undo" }
  | { readonly action: "pin" | "release"; readonly unit: Pick<WindowUnit, "first" | "last"> };

export interface Pressed {
  readonly state: TopState;
  readonly command?: Command;
}

const pageSteps = 10;

const steps: Readonly<Record<string, number>> = {
  up: -1,
  k: -1,
  down: 1,
  j: 1,
  "page-up": -pageSteps,
  "page-down": pageSteps,
};

export function press(state: TopState, key: Key): Pressed {
  const name = typeof key === "string" ? key : key.character;
  if (name === "q") return { state, command: { kind: "quit" } };
  const { mode } = state;
  if (mode.kind === "help" || name === "?")
    return {
      state: { ...state, mode: { kind: mode.kind === "help" ? "sessions" : "help" } },
    };
  return mode.kind === "pins" ? pressInPins(state, mode.unit, name) : pressInSessions(state, name);
}

function pressInSessions(state: TopState, name: string): Pressed {
  const step = steps[name];
  if (step !== undefined) return select(state, step);
  switch (name) {
    case "c":
      return act(state, { action: "compact" });
    case "u":
      return act(state, { action: "undo" });
    case "p":
    case "P":
      return openPins(state);
    default:
      return { state };
  }
}

function select(state: TopState, step: number): Pressed {
  const ids = orderedRows(state).map(({ row }) => row.id);
  const id = ids[moved(ids.indexOf(state.selected ?? ""), step, ids.length)];
  if (id === undefined || id === state.selected) return { state };
  const { note: _, looked: __, ...rest } = state;
  return { state: { ...rest, selected: id } };
}

function moved(from: number, step: number, count: number): number {
  return Math.max(0, Math.min(count - 1, from + step));
}

function openPins(state: TopState): Pressed {
  if (state.selected === undefined) return refused(state, "There is no session yet.");
  const newest = state.looked && pinnableUnits(state.looked.picture).at(-1);
  if (newest === undefined)
    return refused(
      state,
      state.looked === undefined
        ? "The window is still being read. Try again in a moment."
        : "There is nothing to pin, because no message of this conversation is in the window.",
    );
  const { note: _, ...rest } = state;
  return { state: { ...rest, mode: { kind: "pins", unit: newest.id } } };
}

function pressInPins(state: TopState, chosen: string, name: string): Pressed {
  const units = state.looked === undefined ? [] : pinnableUnits(state.looked.picture);
  const index = units.findIndex(({ id }) => id === chosen);
  const unit = units[index];
  const step = steps[name];
  const back: TopState = { ...state, mode: { kind: "sessions" } };
  if (unit === undefined || name === "escape" || name === "p") return { state: back };
  if (step !== undefined) {
    const next = units[moved(index, step, units.length)] ?? unit;
    return { state: { ...state, mode: { kind: "pins", unit: next.id } } };
  }
  if (name === "enter") {
    if (unit.isPinned === true)
      return refused(state, "This unit is already pinned. Press P to release it.");
    return act(back, { action: "pin", unit });
  }
  if (name === "P") {
    if (unit.isPinned !== true)
      return refused(state, "This unit is not pinned. Press enter to pin it.");
    return act(back, { action: "release", unit });
  }
  return { state };
}

const doing: Readonly<Record<Action["action"], string>> = {
  compact: "Compacting",
  undo: "Undoing the last edit of",
  pin: "Pinning in",
  release: "Releasing in",
};

/** Starts an action on the branch that is shown. */
function act(state: TopState, action: Action): Pressed {
  const { selected: session, looked, isActing } = state;
  const row = session === undefined ? undefined : state.rows.get(session);
  if (session === undefined || row === undefined) return refused(state, "There is no session yet.");
  if (isActing) return refused(state, "Another action is running. Wait until it is done.");
  const branch = looked?.picture.branch;
  return {
    state,
    command: {
      kind: "act",
      session,
      text: `${doing[action.action]} ${nameOf(row.row)}…`,
      ...(branch === undefined ? {} : { branch }),
      ...action,
    },
  };
}

function refused(state: TopState, text: string): Pressed {
  return { state: { ...state, note: { tone: "refused", text } } };
}

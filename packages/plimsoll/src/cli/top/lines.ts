/** Lines of a screen as data: pieces of text with a tone. If colours are enabled, each tone has a colour. Pure. */

import type { SegmentKind } from "../../message/api.ts";
import { wholePercent } from "../../watch/figures.ts";
import type { FillState } from "../../watch/phase-words.ts";
import { cellsOf, cut } from "./cells.ts";

/**
 * The meaning of a piece of text that looks different. Colour is never the only sign: the text or its position also shows the
 * meaning.
 */
export type Tone = "dim" | "strong" | FillState | SegmentKind;

export interface Span {
  /** Text that `sober` has cleaned, or that Plimsoll itself has written. */
  readonly text: string;
  readonly tone?: Tone;
  /** True for dark text on a background in the colour of its tone. */
  readonly isBlock?: true;
}

export type Line = readonly Span[];

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export function span(text: string, tone?: Tone): Span {
  return tone === undefined ? { text } : { text, tone };
}

/** Cuts a line that is wider than the screen. */
export function fitted(line: Line, columns: number): Line {
  const spans: Span[] = [];
  let left = columns;
  for (const piece of line) {
    const text = cut(piece.text, left);
    if (text !== "") spans.push({ ...piece, text });
    left -= cellsOf(text);
  }
  return spans;
}

export function plainText(line: Line): string {
  return line
    .map(({ text }) => text)
    .join("")
    .trimEnd();
}

/** A line with a left and a right end. The right end is shown in full, and the left end is cut to the remaining width. */
export function apart(left: Line, right: Line, columns: number): Line {
  const room = columns - widthOf(right);
  const shown = fitted(left, Math.max(0, room - 1));
  return [...shown, span(" ".repeat(Math.max(0, room - widthOf(shown)))), ...right];
}

export function widthOf(line: Line): number {
  return line.reduce((sum, { text }) => sum + cellsOf(text), 0);
}

/** A heading line that begins a part of the screen. */
export function heading(title: string, columns: number): Line {
  const shown = cut(title, Math.max(0, columns - 6));
  const rest = Math.max(0, columns - 4 - cellsOf(shown));
  return [span("── ", "dim"), span(shown, "strong"), span(` ${"─".repeat(rest)}`, "dim")];
}

/** Joins the pieces, with a dot between them. */
export function dotted(pieces: readonly Line[]): Line {
  return pieces.flatMap((piece, index) => (index === 0 ? piece : [span(" · ", "dim"), ...piece]));
}

/** The name of a state as the list of sessions shows it. */
export function stateName(state: FillState): string {
  return state === "p1" ? "P1" : state;
}

/**
 * A share in percent, rounded down: 0.839 is 83 %. So a share just below a threshold does not look as if it had reached the
 * threshold.
 */
export function percent(share: number): string {
  return `${Math.min(999, wholePercent(share))} %`;
}

/** A time such as 14:05, in the reader's local time. */
export function timeOf(at: number): string {
  const date = new Date(at);
  const two = (part: number): string => String(part).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

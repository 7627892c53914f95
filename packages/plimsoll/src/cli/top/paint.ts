/** Lines as bytes for a terminal: colours, and only those rows of a frame that have changed. Pure. */

import { type Line, type Span, type Tone, widthOf } from "./lines.ts";

/** The sixteen colours that every terminal has, as its user configured them (ECMA-48, SGR). */
const colours: Readonly<Partial<Record<Tone, number>>> = {
  normal: 94,
  p1: 32,
  warning: 33,
  recovery: 31,
  system: 35,
  skills: 95,
  tools: 36,
  user: 32,
  assistant: 94,
  results: 33,
  summary: 97,
  handle: 90,
};
const weights: Readonly<Partial<Record<Tone, number>>> = { strong: 1, dim: 2 };
const black = 30;
/** Difference between the code of a colour and the code of the same colour as background. */
const toBackground = 10;

/** The text of one row. It clears the rest of an earlier, longer row. */
export function rowText(line: Line, columns: number, hasColour: boolean): string {
  const text = line.map((piece) => spanText(piece, hasColour)).join("");
  // At the end of a full row, some terminals would clear its last cell.
  return widthOf(line) < columns ? `${text}\u001b[K` : text;
}

function spanText({ text, tone, isBlock }: Span, hasColour: boolean): string {
  const colour = tone && colours[tone];
  const weight = tone && weights[tone];
  if (!hasColour || (colour === undefined && weight === undefined)) return text;
  const codes =
    isBlock === true && colour !== undefined ? [black, colour + toBackground] : [colour ?? weight];
  return `\u001b[${codes.join(";")}m${text}\u001b[0m`;
}

/** The bytes that turn a screen showing `before` into one showing `rows`. `before` is undefined if it is not known. */
export function changes(before: readonly string[] | undefined, rows: readonly string[]): string {
  return rows
    .flatMap((row, index) => (before?.[index] === row ? [] : [`\u001b[${index + 1}H${row}`]))
    .join("");
}

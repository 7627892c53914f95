/** Writes lines as bytes for a terminal: with colours, and only the rows that have changed since the last frame. Pure. */

import { type Line, type Span, type Tone, widthOf } from "./lines.ts";

/** The sixteen colours that every terminal has. Its user can configure them (ECMA-48, SGR). */
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

/** The text of one row. It also clears the remaining cells of an earlier, longer row. */
export function rowText(line: Line, columns: number, hasColour: boolean): string {
  const text = line.map((piece) => spanText(piece, hasColour)).join("");
  // After a full row, nothing is cleared, because some terminals would clear the row's last cell.
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

/** The bytes that change a screen from `before` to `rows`. `before` is undefined if the content of the screen is unknown. */
export function changes(before: readonly string[] | undefined, rows: readonly string[]): string {
  return rows
    .flatMap((row, index) => (before?.[index] === row ? [] : [`\u001b[${index + 1}H${row}`]))
    .join("");
}

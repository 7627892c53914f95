/**
 * Fits text from outside into the cells of a terminal. Characters whose width differs between terminals are replaced, so that a
 * line is never wider than counted.
 */

import { harmless } from "../../text/unseen.ts";

/** Maximum number of characters to process. No terminal line is that wide. */
const mostCharacters = 2000;
/** Maximum number of combining marks on one letter. A terminal would draw more marks over the lines above. */
const mostMarks = 2;
const replacement = "□";

/** Characters that take two cells in every terminal (Unicode Standard Annex 11, Wide and Fullwidth, without emoji). */
const wide =
  /[\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const isShown = /[\p{L}\p{N}\p{P}\p{S}\p{Mc}]/u;
const isMark = /\p{Mn}/u;
/**
 * Combining marks that take no cell in any terminal. For marks in other scripts, the width depends on the age of the terminal.
 */
const isKnownMark = /[\u0300-\u036f]/u;
/** Characters that have no width in terminals that know them, and some width in other terminals. */
const isUnseen = /\p{Default_Ignorable_Code_Point}/u;
/**
 * Letters that join into syllables, emoji, and characters that became wide in a later Unicode version. Their width differs
 * between terminals.
 */
const isUncertain =
  /\p{Emoji_Presentation}|[\u1100-\u11ff\u2630-\u2637\u268a-\u268f\ua960-\ua97c\ud7b0-\ud7fb\ufe10-\ufe19]/u;

/** Turns any text into one harmless line. */
export function sober(text: string): string {
  const flat = harmless(text.slice(0, mostCharacters)).normalize("NFC").replaceAll(/\s+/g, " ");
  let line = "";
  let marks = mostMarks;
  for (const character of flat.trim()) {
    if (isUnseen.test(character)) continue;
    if (isMark.test(character)) {
      if (marks < mostMarks) line += character;
      marks += 1;
      continue;
    }
    marks = character === " " ? mostMarks : 0;
    line += soberCharacter(character);
  }
  return line;
}

function soberCharacter(character: string): string {
  if (character === " " || wide.test(character)) return character;
  const isPlain = character.length === 1 && isShown.test(character) && !isUncertain.test(character);
  return isPlain ? character : replacement;
}

/** Maximum number of cells that a text takes. Contract: `sober` has cleaned the text, or Plimsoll itself has written it. */
export function cellsOf(text: string): number {
  let cells = 0;
  for (const character of text) cells += cellsOfCharacter(character);
  return cells;
}

function cellsOfCharacter(character: string): number {
  if (isKnownMark.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** Any text as a harmless line of at most this many cells. */
export function clipped(text: string, cells: number): string {
  return cut(sober(text), cells);
}

/**
 * Cuts a text to the given number of cells. A text that was cut ends in an ellipsis. Contract: `sober` has cleaned the text, or
 * Plimsoll itself has written it.
 */
export function cut(text: string, cells: number): string {
  if (cellsOf(text) <= cells) return text;
  let line = "";
  let left = cells - 1;
  for (const character of text) {
    left -= cellsOfCharacter(character);
    if (left < 0) break;
    line += character;
  }
  return cells <= 0 ? "" : `${line.trimEnd()}…`;
}

/** The text, cut or padded to exactly this many cells. */
export function leftIn(text: string, cells: number): string {
  const shown = cut(text, cells);
  return shown + " ".repeat(Math.max(0, cells - cellsOf(shown)));
}

export function rightIn(text: string, cells: number): string {
  const shown = cut(text, cells);
  return " ".repeat(Math.max(0, cells - cellsOf(shown))) + shown;
}

/** Any text, wrapped into at most `most` lines. Text that does not fit on the last line is cut. */
export function wrapped(text: string, cells: number, most: number): readonly string[] {
  const lines: string[] = [];
  let left = sober(text);
  while (left !== "" && lines.length < most) {
    const isLast = lines.length === most - 1;
    const line = isLast || cellsOf(left) <= cells ? cut(left, cells) : wordsIn(left, cells);
    lines.push(line);
    left = isLast ? "" : left.slice(line.length).trimStart();
  }
  return lines;
}

/** The first words of the text, as many as fit. If not even the first word fits, its beginning. */
function wordsIn(text: string, cells: number): string {
  const fits = cut(text, cells + 1).slice(0, -1);
  const space = text[fits.length] === " " ? fits.length : fits.lastIndexOf(" ");
  return space > 0 ? fits.slice(0, space) : fits;
}

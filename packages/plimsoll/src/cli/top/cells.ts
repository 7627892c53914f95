/**
 * Text of others in cells of a terminal. What takes another width from terminal to terminal is replaced, so that a line is
 * never wider than it was counted.
 */

import { harmless } from "../../text/unseen.ts";

/** More of a text is not looked at: no line is as wide. */
const mostCharacters = 2000;
/** More marks on one letter would be drawn over the lines above. */
const mostMarks = 2;
const replacement = "□";

/** Two cells wherever they are shown (Unicode Standard Annex 11, Wide and Fullwidth, without emoji). */
const wide =
  /[\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const isShown = /[\p{L}\p{N}\p{P}\p{S}\p{Mc}]/u;
const isMark = /\p{Mn}/u;
/** Marks that no terminal gives a cell; what marks of other scripts take depends on its age. */
const isKnownMark = /[\u0300-\u036f]/u;
/** What has no width where it is understood, and some where it is not. */
const isUnseen = /\p{Default_Ignorable_Code_Point}/u;
/** Letters that are joined to syllables, emoji, and what became wide with a later Unicode: terminals differ. */
const isUncertain =
  /\p{Emoji_Presentation}|[\u1100-\u11ff\u2630-\u2637\u268a-\u268f\ua960-\ua97c\ud7b0-\ud7fb\ufe10-\ufe19]/u;

/** One line of whatever somebody wrote. */
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

/** At most so many. Contract: the text is sober, or ours. */
export function cellsOf(text: string): number {
  let cells = 0;
  for (const character of text) cells += cellsOfCharacter(character);
  return cells;
}

function cellsOfCharacter(character: string): number {
  if (isKnownMark.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** What somebody wrote, in at most so many cells. */
export function clipped(text: string, cells: number): string {
  return cut(sober(text), cells);
}

/** Contract: the text is sober, or ours. What does not fit ends in an ellipsis. */
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

/** In exactly so many cells. */
export function leftIn(text: string, cells: number): string {
  const shown = cut(text, cells);
  return shown + " ".repeat(Math.max(0, cells - cellsOf(shown)));
}

export function rightIn(text: string, cells: number): string {
  const shown = cut(text, cells);
  return " ".repeat(Math.max(0, cells - cellsOf(shown))) + shown;
}

/** What somebody wrote, on at most so many lines; what does not fit on the last one is cut. */
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

/** As many whole words as fit; of a word that is longer, its beginning. */
function wordsIn(text: string, cells: number): string {
  const fits = cut(text, cells + 1).slice(0, -1);
  const space = text[fits.length] === " " ? fits.length : fits.lastIndexOf(" ");
  return space > 0 ? fits.slice(0, space) : fits;
}

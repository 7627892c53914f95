/** Shortens a passage that is too long for the room, around what a query asks for. */

import { sentencesIn } from "../text/sentences.ts";
import { paragraphsOf } from "../text/wrapped-lines.ts";

interface Way {
  readonly unitsOf: (text: string) => readonly string[];
  /** Number of units before the best one that are shown with it, because they lead to it. */
  readonly lead: number;
}

/** Ways to cut a text, coarsest first: at lines, at sentences, at words. */
const ways: readonly Way[] = [
  { unitsOf: paragraphsIn, lead: 0 },
  { unitsOf: (text) => sentencesIn(text), lead: 0 },
  { unitsOf: (text) => text.match(/\S+\s*/g) ?? [], lead: 8 },
];

/**
 * The text if it fits, or a part of it that fits, cut at lines, at sentences, or at words if nothing else fits. It is the part that has most of
 * what is wanted, with as much around it as fits. Undefined if there is no room at all.
 */
export function partOfText(
  text: string,
  wantedIn: (part: string) => number,
  fits: (part: string) => boolean,
): string | undefined {
  if (fits(text)) return text;
  let whole = text;
  for (const { unitsOf, lead } of ways) {
    const units = unitsOf(whole);
    const best = bestOf(units, wantedIn);
    const part = units[best] ?? "";
    if (part.trim() !== "" && fits(tidy(part))) return grown(units, best, lead, fits);
    whole = part;
  }
  return beginningOf(whole, fits);
}

/** The beginning of a word that is too long, such as a hash. Never cuts inside a character. */
function beginningOf(word: string, fits: (part: string) => boolean): string | undefined {
  const characters = [...word.trim()];
  const length = largest(characters.length, (count) => fits(characters.slice(0, count).join("")));
  return length === 0 ? undefined : characters.slice(0, length).join("");
}

/** Removes blank lines at both ends. The indentation of the first line stays. */
export function tidy(text: string): string {
  return text.replace(/^(?:[^\S\n]*\n)+/, "").trimEnd();
}

function bestOf(units: readonly string[], wantedIn: (part: string) => number): number {
  const wanted = units.map(wantedIn);
  return wanted.indexOf(wanted.reduce((most, value) => Math.max(most, value), 0));
}

/** Adds the units that lead to the best one, then units after it, then units before it, as long as the text fits. */
function grown(
  units: readonly string[],
  best: number,
  lead: number,
  fits: (part: string) => boolean,
): string {
  const textOf = (from: number, to: number): string => tidy(units.slice(from, to + 1).join(""));
  const led = largest(Math.min(lead, best), (count) => fits(textOf(best - count, best)));
  const start = best - led;
  const after = largest(units.length - 1 - best, (count) => fits(textOf(start, best + count)));
  const before = largest(start, (count) => fits(textOf(start - count, best + after)));
  return textOf(start - before, best + after);
}

/** The largest number from 0 to `most` that is allowed. Contract: if a number is allowed, all smaller ones are. */
function largest(most: number, isAllowed: (count: number) => boolean): number {
  let [allowed, limit] = [0, most];
  while (allowed < limit) {
    const middle = Math.ceil((allowed + limit) / 2);
    if (isAllowed(middle)) allowed = middle;
    else limit = middle - 1;
  }
  return allowed;
}

/** Lines with their line feeds. Lines of one wrapped paragraph stay together. */
function paragraphsIn(text: string): readonly string[] {
  const lines = text.split(/(?<=\n)/);
  return paragraphsOf(lines).map(([first, last]) => lines.slice(first, last + 1).join(""));
}

/** Texts that look like what people and tools say, made from a seed: the same seed always gives the same text. */
import { countText } from "./counting.ts";

/** The next number from 0 up to, but not including, 1. */
export type Random = () => number;

/** Mulberry32: small, fast, and good enough to make texts with. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A whole number, both ends included. */
export function between(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

export function oneOf<T>(random: Random, choices: readonly [T, ...T[]]): T {
  return choices[Math.floor(random() * choices.length)] ?? choices[0];
}

type Words = readonly [string, ...string[]];

const WORDS = `the a of to in and is it for on with as at by from or an be this that not are was but
ship hull line load mark depth water cargo harbour captain crew anchor rope deck chart
file test build error value field index branch commit merge request answer token window
reads writes returns fails passes checks counts keeps moves holds begins ends carries
small large empty full old new first last deep shallow safe broken steady quiet`.split(
  /\s/,
) as unknown as Words;
const FOREIGN_WORDS: Words = [
  "öre",
  "naïve",
  "Größe",
  "日本語",
  "船が港に入る",
  "Привет",
  "Ελλάδα",
  "مرحبا",
  "😀",
  "👩‍👩‍👧",
  "e\u0301tude",
  'a "quoted"\\word',
];
const FOREIGN_SHARE = 0.03;

/** About so many tokens of running text. */
export function prose(random: Random, tokens: number): string {
  const words: string[] = [];
  for (let used = 0; used < tokens; ) {
    const word = random() < FOREIGN_SHARE ? oneOf(random, FOREIGN_WORDS) : oneOf(random, WORDS);
    words.push(word);
    used += countText(` ${word}`);
  }
  return words.join(" ");
}

type LineWriter = (random: Random, number: number) => string;

const LINES: readonly [LineWriter, ...LineWriter[]] = [
  (random, number) => `${String(number).padStart(5)}  ${prose(random, 12)}`,
  (random, number) =>
    `2026-11-15 08:${String(number % 60).padStart(2, "0")}:00 INFO ${prose(random, 9)}`,
  (random, number) => `src/${oneOf(random, WORDS)}/${oneOf(random, WORDS)}.ts:${number}: ok`,
  (random, number) =>
    `  const ${oneOf(random, WORDS)}${number} = ${between(random, 0, 99_999)}; // ${prose(random, 5)}`,
  (random, number) => JSON.stringify({ id: number, name: prose(random, 6), ok: random() < 0.5 }),
];

/** About so many tokens of what a tool gives back: lines of one kind, under a title of its own. */
export function toolOutput(random: Random, title: string, tokens: number): string {
  const writeLine = oneOf(random, LINES);
  const lines = [`# ${title}`];
  for (let used = countText(title); used < tokens; ) {
    const line = writeLine(random, lines.length);
    lines.push(line);
    used += countText(line) + 1;
  }
  return lines.join("\n");
}

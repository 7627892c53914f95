/** Texts that look like those of people and tools, generated from a seed. The same seed always gives the same text. */
import { between, type Dice, pick } from "../../demo/dice.ts";
import { countText } from "./counting.ts";

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

/** Running text of about this many tokens. */
export function prose(random: Dice, tokens: number): string {
  const words: string[] = [];
  for (let used = 0; used < tokens; ) {
    const word = random() < FOREIGN_SHARE ? pick(random, FOREIGN_WORDS) : pick(random, WORDS);
    words.push(word);
    used += countText(` ${word}`);
  }
  return words.join(" ");
}

type LineWriter = (random: Dice, number: number) => string;

const LINES: readonly [LineWriter, ...LineWriter[]] = [
  (random, number) => `${String(number).padStart(5)}  ${prose(random, 12)}`,
  (random, number) =>
    `2026-11-15 08:${String(number % 60).padStart(2, "0")}:00 INFO ${prose(random, 9)}`,
  (random, number) => `src/${pick(random, WORDS)}/${pick(random, WORDS)}.ts:${number}: ok`,
  (random, number) =>
    `  const ${pick(random, WORDS)}${number} = ${between(random, 0, 99_999)}; // ${prose(random, 5)}`,
  (random, number) => JSON.stringify({ id: number, name: prose(random, 6), ok: random() < 0.5 }),
];

/** A tool result of about this many tokens: lines of one kind under a unique title. */
export function toolOutput(random: Dice, title: string, tokens: number): string {
  const writeLine = pick(random, LINES);
  const lines = [`# ${title}`];
  for (let used = countText(title); used < tokens; ) {
    const line = writeLine(random, lines.length);
    lines.push(line);
    used += countText(line) + 1;
  }
  return lines.join("\n");
}

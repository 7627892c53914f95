/** The texts of people, agents and tools in a simulated conversation. The same dice give the same texts. */

import { between, type Dice, pick } from "./dice.ts";

export const simulatedLanguages = ["en", "de", "zh", "ru"] as const;
export type SimulatedLanguage = (typeof simulatedLanguages)[number];

const things = ["cargo", "berth", "tide", "crew", "anchor", "hull", "ballast", "pilot"] as const;
const acts = ["load", "check", "route", "merge", "parse", "settle", "weigh", "assign"] as const;
const fields = ["weight", "depth", "rate", "label", "slot", "owner"] as const;

/** A file of the simulated project. */
export interface SimulatedFile {
  readonly path: string;
  readonly names: readonly [string, ...string[]];
  readonly lines: readonly string[];
}

export function makeFile(dice: Dice, number: number): SimulatedFile {
  const [thing, act] = [pick(dice, things), pick(dice, acts)];
  const functions = Array.from(
    { length: between(dice, 2, 9) },
    (_, at) => `${pick(dice, acts)}_${pick(dice, things)}_${number}${at}`,
  );
  const lines = [
    `"""How a ${thing} is found and what it costs to ${act} it."""`,
    "import math",
    `from harbour.base import Harbour${number}`,
    "",
    ...functions.flatMap((name, at) => functionLines(dice, name, functions[at + 1])),
  ];
  const [first = `main_${number}`, ...others] = functions;
  return { path: `src/harbour/${act}_${thing}_${number}.py`, names: [first, ...others], lines };
}

function functionLines(dice: Dice, name: string, next: string | undefined): readonly string[] {
  const field = pick(dice, fields);
  const steps = Array.from({ length: between(dice, 2, 12) }, (_, at) => {
    const limit = between(dice, 2, 99);
    return at % 3 === 2
      ? [
          `    if total > ${limit}:`,
          `        raise ValueError("${field} of {item} is over ${limit}")`,
        ]
      : [`    total += item.${field} * ${limit}  # ${pick(dice, things)} by ${pick(dice, fields)}`];
  });
  const end =
    next === undefined ? "    return math.floor(total)" : `    return ${next}(item, total)`;
  return [`def ${name}(item, total=0):`, ...steps.flat(), end, ""];
}

const sayings: Readonly<Record<SimulatedLanguage, readonly [Saying, ...Saying[]]>> = {
  en: [
    (name, path) => `The fault is in ${name}: it counts the ${path} twice. I will change it there.`,
    (name, path) => `We decided to keep ${name} as it is and to fix the caller in ${path} instead.`,
    (name, path) => `${path} looks right now; ${name} still returns the old value in one case.`,
    (name, path) => `Next step: add a test for ${name} and run everything in ${path} again.`,
  ],
  de: [
    (name, path) => `Der Fehler liegt in ${name}: dort wird ${path} doppelt gezählt.`,
    (name, path) => `Wir lassen ${name} wie es ist und ändern den Aufrufer in ${path}.`,
  ],
  zh: [
    (name, path) => `问题出在 ${name}：它把 ${path} 计算了两次，我会在那里修改。`,
    (name, path) => `我们决定保留 ${name}，改为修改 ${path} 中的调用者。`,
  ],
  ru: [
    (name, path) => `Ошибка в ${name}: файл ${path} считается дважды.`,
    (name, path) => `Решили оставить ${name} и поправить вызов в ${path}.`,
  ],
};

type Saying = (name: string, path: string) => string;

export function saying(dice: Dice, language: SimulatedLanguage, file: SimulatedFile): string {
  return pick(dice, sayings[language])(pick(dice, file.names), file.path);
}

/** A test run: noise, and a failure in one of the files. */
export function logLines(dice: Dice, file: SimulatedFile, count: number): readonly string[] {
  const failing = pick(dice, file.names);
  const second = (at: number): string => String(at % 60).padStart(2, "0");
  return Array.from({ length: count }, (_, at) => {
    const time = `2026-03-02 11:${second(at * 7)}:${second(at * 13)}`;
    if (at === Math.floor(count / 2))
      return `${time} ERROR ${file.path}:${between(dice, 5, 80)}: ValueError in ${failing}: rate ${between(dice, 100_000, 999_999)} is over the limit`;
    return `${time} INFO worker-${at % 4} ${pick(dice, acts)} ${pick(dice, things)} done in ${between(dice, 1, 99)} ms`;
  });
}

export function jsonText(dice: Dice, count: number): string {
  const rows = Array.from({ length: count }, () => ({
    id: `ORD${between(dice, 10_000, 99_999)}`,
    thing: pick(dice, things),
    weight: between(dice, 1, 99),
    state: pick(dice, ["open", "paid", "lost"]),
  }));
  return JSON.stringify({ count, rows }, undefined, 1);
}

export function planText(dice: Dice, files: readonly SimulatedFile[]): string {
  const items = files.map(
    ({ names, path }, at) => `- [${at % 2 === 0 ? "x" : " "}] ${pick(dice, names)} in ${path}`,
  );
  return ["Plan:", ...items].join("\n");
}

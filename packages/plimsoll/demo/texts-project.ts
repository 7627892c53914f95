/** The made-up project of the demo, the booking service of a harbour: its areas, files, names and tickets. */

import { between, type Dice, pick, type Some, shuffled } from "./dice.ts";
import { type Area, areas, type Language, snake, usualArea } from "./texts-areas.ts";
import { sourceOf } from "./texts-code.ts";

/** The current version of a file. Edits change its lines. */
export interface ProjectFile {
  readonly path: string;
  readonly language: Language;
  readonly area: Area;
  /** Names that the file exports. */
  readonly names: Some<string>;
  readonly lines: readonly string[];
}

/** A fault of the service: its symptom, its cause, and the resulting decision. */
interface Fault {
  readonly symptom: string;
  readonly cause: string;
  readonly decision: string;
}

/** A ticket with its findings. Later questions ask about them. */
export interface Ticket extends Fault {
  readonly id: string;
  /** A sentence with figures that no other ticket has. */
  readonly measured: string;
}

const verbs: Some<string> = [
  "assign",
  "find",
  "settle",
  "check",
  "merge",
  "release",
  "price",
  "shift",
  "confirm",
  "measure",
];
const endings: Some<string> = [
  "ForStay",
  "AtQuay",
  "WithinTide",
  "ByDraught",
  "Overnight",
  "AfterDelay",
  "InOrder",
  "OnArrival",
];

const folderOf: Readonly<Record<Language, (area: Area, stem: string, number: number) => string>> = {
  typescript: (area, stem) => `src/${area.folder}/${stem}.ts`,
  python: (area, stem) => `scripts/${area.folder}_${stem.replaceAll("-", "_")}.py`,
  go: (area, stem) => `services/${area.folder}/${stem.replaceAll("-", "_")}.go`,
  sql: (area, stem, number) =>
    `db/migrations/${String(number).padStart(4, "0")}_${area.folder}_${stem.replaceAll("-", "_")}.sql`,
};

/** One file for each stem: mostly TypeScript, some in the other languages. */
export function projectFiles(dice: Dice): Some<ProjectFile> {
  const places = areas.flatMap((area) => area.stems.map((stem) => ({ area, stem })));
  const [first, ...others] = shuffled(dice, places).map(({ area, stem }, number) => {
    const language = (["typescript", "typescript", "python", "typescript", "go", "sql"] as const)[
      number % 6
    ] as Language;
    return makeFile(dice, { area, stem, language, number });
  });
  return [first ?? makeFile(dice, usualFile), ...others];
}

const usualFile = { area: usualArea, stem: "assign", language: "typescript", number: 0 } as const;

interface Wanted {
  readonly area: Area;
  readonly stem: string;
  readonly language: Language;
  readonly number: number;
}

function makeFile(dice: Dice, { area, stem, language, number }: Wanted): ProjectFile {
  const made = shuffled(dice, endings).map(
    (ending) => `${pick(dice, verbs)}${area.thing}${ending}`,
  );
  const [name = `find${area.thing}`, ...names] = made.slice(0, between(dice, 3, 6));
  const all: Some<string> = [name, ...names];
  return {
    path: folderOf[language](area, stem, number + 12),
    language,
    area,
    names: all,
    lines: sourceOf(dice, { language, area, stem, names: all }),
  };
}

const faults: Some<(dice: Dice, file: ProjectFile) => Fault> = [
  (_, { area, names }) => ({
    symptom: `two vessels get the same ${area.thing} when both ask within a second`,
    cause: `${names[0]} takes the lock of the quay and not the one of the berth`,
    decision: "locks are taken in the order quay, berth, crane",
  }),
  (dice, { area, path }) => ({
    symptom: `${area.things} come out ${between(dice, 3, 19)} % too high since Tuesday`,
    cause: `${path} rounds before the discount and again behind it`,
    decision: "we round once, at the end, to whole cents",
  }),
  (_, { area, names }) => ({
    symptom: `the list of ${area.things} is empty for stays that cross midnight`,
    cause: `${names[0]} compares with <= although windows are half open`,
    decision: "we keep half-open windows everywhere, and say so in the type",
  }),
  (dice, { area, path }) => ({
    symptom: `the nightly run takes ${between(dice, 22, 58)} minutes instead of four`,
    cause: `${path} asks once for each row, and there is no index on (${snake(area.fields[0])}, ${snake(area.fields[1])})`,
    decision: "nothing in a nightly run asks for single rows",
  }),
  (_, { names, area }) => ({
    symptom: `${names[0]} answers undefined when the quay is closed for dredging`,
    cause: `an empty list of ${area.things} was taken for an error, and the error was swallowed`,
    decision: `an empty list of ${area.things} is an answer, and never an error`,
  }),
  (dice, { names }) => ({
    symptom: `the waiting list skips every ${between(dice, 5, 9)}th vessel`,
    cause: `${names[0]} is called once for each bollard instead of once for each berth`,
    decision: `${names[0]} stays as it is, and its callers say what they mean`,
  }),
  (_, { area }) => ({
    symptom: `a cancelled stay keeps its ${area.thing} until somebody restarts the worker`,
    cause: `the cache keeps old ${area.things} for 90 seconds, and a restart is all that empties it`,
    decision: `${area.things} are read from the primary for ten seconds after a write`,
  }),
  (_, { area, path }) => ({
    symptom: `${area.things} are one hour off on the day on which the clocks go back`,
    cause: `${path} drops the harbour's time zone when it reads a row`,
    decision: "times are UTC up to the screen, and only the screen knows a time zone",
  }),
];

export function makeTicket(dice: Dice, file: ProjectFile, number: number): Ticket {
  const before = between(dice, 420, 2_900);
  const measured = pick(dice, [
    `p95 went from ${before} ms to ${between(dice, 18, 96)} ms`,
    `${between(dice, 11, 97)} of ${before * 7} bookings were wrong`,
    `the queue held ${before * 3} jobs at 06:${between(dice, 10, 59)}`,
  ]);
  return {
    id: `HB-${400 + number}`,
    ...pick(dice, faults)(dice, file),
    measured,
  };
}

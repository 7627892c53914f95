/** Generates source files in several languages. They are made up, but they parse and look like the code of such a service. */

import { between, type Dice, pick, type Some, times } from "./dice.ts";
import { type Area, type Language, snake } from "./texts-areas.ts";

export interface SourceOptions {
  readonly language: Language;
  readonly area: Area;
  readonly stem: string;
  readonly names: Some<string>;
}

/** A function to write: its name, and the function that it may call. */
interface Part {
  readonly area: Area;
  readonly name: string;
  readonly next: string | undefined;
}

const remarks: Some<string> = [
  "A stay that begins when another ends is no conflict.",
  "The harbour master closes quays by hand: the list may be stale for a minute.",
  "Depth is at the lowest tide; the pilot adds half a metre.",
  "Two requests in the same second: the smaller vessel id goes first.",
  "Cents, never euros: what is rounded here is never rounded again.",
  "The old terminal sends feet; everything else sends metres.",
  "Cranes are booked with the berth, and freed with it.",
  "Nobody may depend on the order of this list.",
  "The tide station answers late in storms: then yesterday's table holds.",
  "What the weighbridge says wins over the manifest.",
];

const purposes: Some<(area: Area, stem: string) => string> = [
  ({ things }, stem) => `How ${things} are found, checked and given back (${stem}).`,
  ({ things }, stem) => `${stem}: the rules by which ${things} change hands.`,
  ({ thing }, stem) => `Everything that a ${thing} needs for ${stem}, and nothing of the rest.`,
];

export function sourceOf(dice: Dice, options: SourceOptions): readonly string[] {
  return writers[options.language](dice, options);
}

const writers: Readonly<
  Record<Language, (dice: Dice, options: SourceOptions) => readonly string[]>
> = {
  typescript,
  python,
  go,
  sql,
};

function partsOf({ area, names }: SourceOptions): readonly Part[] {
  return names.map((name, index) => ({ area, name, next: names[index + 1] }));
}

function typescript(dice: Dice, options: SourceOptions): readonly string[] {
  const { area, stem } = options;
  return [
    `/** ${pick(dice, purposes)(area, stem)} */`,
    "",
    'import { HarbourError } from "../error.ts";',
    'import { logger } from "../logger.ts";',
    `import type { Vessel } from "../vessels/vessel.ts";`,
    "",
    `export interface ${area.thing} {`,
    "  readonly id: string;",
    ...area.fields.map((field) => `  readonly ${field}: number;`),
    "}",
    "",
    `const most${area.thing}s = ${between(dice, 8, 240)};`,
    `const graceMinutes = ${between(dice, 5, 45)};`,
    "",
    ...partsOf(options).flatMap((part) => typescriptFunction(dice, part)),
  ];
}

type Statement = (dice: Dice, area: Area, number: number) => readonly string[];

const typescriptStatements: Some<Statement> = [
  (dice, { fields, thing }, number) => [
    `  const room${number} = item.${pick(dice, fields)} + graceMinutes * ${between(dice, 2, 60)};`,
    `  if (room${number} > ${between(dice, 100, 9_000)}) {`,
    `    throw new HarbourError("NO_${thing.toUpperCase()}", \`${thing} \${item.id} is over its limit.\`);`,
    "  }",
  ],
  (dice, { fields }, number) => {
    const field = pick(dice, fields);
    return [
      `  const open${number} = all.filter(({ ${field} }) => ${field} >= ${between(dice, 1, 80)});`,
      `  if (open${number}.length === 0) return undefined;`,
      `  open${number}.sort((left, right) => left.${field} - right.${field});`,
    ];
  },
  (dice, { fields }) => [
    "  for (const other of all) {",
    `    if (other.id === item.id || other.${pick(dice, fields)} === 0) continue;`,
    `    total += other.${pick(dice, fields)} * ${between(dice, 2, 40)};`,
    "  }",
  ],
  (dice, { fields, things }) => [
    `  logger.info({ id: item.id, vessel: vessel.name }, "${things}: ${pick(dice, fields)} taken");`,
  ],
  (dice, { fields }) => [
    `  // ${pick(dice, remarks)}`,
    `  total = Math.max(total, item.${pick(dice, fields)} - ${between(dice, 1, 30)});`,
  ],
  (dice, { thing }, number) => [
    `  const share${number} = Math.min(1, all.length / most${thing}s) * ${between(dice, 3, 90)};`,
    `  total += Math.round(share${number} * vessel.tonnage);`,
  ],
];

function typescriptFunction(dice: Dice, { area, name, next }: Part): readonly string[] {
  const end =
    next === undefined
      ? "  return total > 0 ? { ...item, id: [item.id, total].join('-') } : undefined;"
      : `  return total > ${between(dice, 10, 900)} ? ${next}(item, all, vessel) : item;`;
  return [
    `/** ${pick(dice, remarks)} */`,
    `export function ${name}(`,
    `  item: ${area.thing},`,
    `  all: ${area.thing}[],`,
    "  vessel: Vessel,",
    `): ${area.thing} | undefined {`,
    "  let total = 0;",
    ...times(between(dice, 2, 5), (at) => pick(dice, typescriptStatements)(dice, area, at)).flat(),
    end,
    "}",
    "",
  ];
}

const pythonStatements: Some<Statement> = [
  (dice, { fields }) => [
    `    for row in rows:`,
    `        if row["${snake(pick(dice, fields))}"] < ${between(dice, 1, 400)}:`,
    "            continue",
    `        total += row["${snake(pick(dice, fields))}"] * ${between(dice, 2, 30)}`,
  ],
  (dice, { thing }) => [
    `    if total > ${between(dice, 500, 9_000)}:`,
    `        raise HarbourError(f"${thing} {key} is over its limit: {total}")`,
  ],
  (dice) => [`    # ${pick(dice, remarks)}`, `    total = max(total, ${between(dice, 1, 60)})`],
  (dice, { fields }, number) => [
    `    by_${snake(pick(dice, fields))}_${number} = sorted(rows, key=lambda row: row["${snake(pick(dice, fields))}"])`,
  ],
];

function python(dice: Dice, options: SourceOptions): readonly string[] {
  const { area, stem } = options;
  const functions = partsOf(options).flatMap(({ name, next }) => [
    `def ${snake(name)}(key: str, rows: list[dict]) -> int:`,
    `    """${pick(dice, remarks)}"""`,
    "    total = 0",
    ...times(between(dice, 2, 5), (at) => pick(dice, pythonStatements)(dice, area, at)).flat(),
    next === undefined ? "    return total" : `    return total or ${snake(next)}(key, rows)`,
    "",
    "",
  ]);
  return [
    "#!/usr/bin/env python3",
    `"""${pick(dice, purposes)(area, stem)}"""`,
    "",
    "from __future__ import annotations",
    "",
    "import json",
    "import sys",
    "",
    "from harbour.errors import HarbourError",
    "",
    "",
    ...functions,
    'if __name__ == "__main__":',
    `    print(${snake(options.names[0])}(sys.argv[1], json.load(sys.stdin)))`,
  ];
}

const goStatements: Some<Statement> = [
  (dice, { fields, thing }) => [
    `	if item.${capital(pick(dice, fields))} > ${between(dice, 100, 9_000)} {`,
    `		return nil, fmt.Errorf("${thing.toLowerCase()} %s is over its limit", item.ID)`,
    "	}",
  ],
  (dice, { fields }) => [
    "	for _, other := range all {",
    `		if other.ID == item.ID || other.${capital(pick(dice, fields))} == 0 {`,
    "			continue",
    "		}",
    `		total += other.${capital(pick(dice, fields))} * ${between(dice, 2, 40)}`,
    "	}",
  ],
  (dice) => [`	// ${pick(dice, remarks)}`, `	total += ${between(dice, 1, 90)}`],
];

function go(dice: Dice, options: SourceOptions): readonly string[] {
  const { area, stem } = options;
  const functions = partsOf(options).flatMap(({ name, next }) => [
    `// ${capital(name)}: ${pick(dice, remarks)}`,
    `func ${capital(name)}(item ${area.thing}, all []${area.thing}) (*${area.thing}, error) {`,
    "	total := 0",
    ...times(between(dice, 2, 5), (at) => pick(dice, goStatements)(dice, area, at)).flat(),
    ...(next === undefined
      ? ["	item.Total = total", "	return &item, nil"]
      : [
          `	if total > ${between(dice, 9, 99)} {`,
          `		return ${capital(next)}(item, all)`,
          "	}",
        ]),
    ...(next === undefined ? [] : ["	return &item, nil"]),
    "}",
    "",
  ]);
  return [
    `// Package ${area.folder}: ${pick(dice, purposes)(area, stem)}`,
    `package ${area.folder}`,
    "",
    'import "fmt"',
    "",
    `type ${area.thing} struct {`,
    "	ID    string",
    "	Total int",
    ...area.fields.map((field) => `	${capital(field)} int`),
    "}",
    "",
    ...functions,
  ];
}

function sql(dice: Dice, { area, names, stem }: SourceOptions): readonly string[] {
  const columns = area.fields.map((field) => `  ${snake(field)} bigint NOT NULL,`);
  const views = names.flatMap((name) => [
    `-- ${pick(dice, remarks)}`,
    `CREATE OR REPLACE VIEW ${snake(name)} AS`,
    `SELECT id, ${snake(area.fields[0])}, sum(${snake(area.fields[1])}) AS total`,
    `FROM ${area.folder}`,
    `WHERE ${snake(pick(dice, area.fields))} > ${between(dice, 1, 900)}`,
    `GROUP BY id, ${snake(area.fields[0])}`,
    `HAVING count(*) < ${between(dice, 2, 40)};`,
    "",
  ]);
  return [
    `-- ${pick(dice, purposes)(area, stem)}`,
    "BEGIN;",
    "",
    `CREATE TABLE IF NOT EXISTS ${area.folder} (`,
    "  id text PRIMARY KEY,",
    ...columns,
    "  changed_at timestamptz NOT NULL DEFAULT now()",
    ");",
    "",
    ...views,
    `CREATE INDEX IF NOT EXISTS ${area.folder}_${snake(area.fields[0])} ON ${area.folder} (${snake(area.fields[0])});`,
    "",
    "COMMIT;",
  ];
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** A change of one line, with the resulting file. */
export interface Change {
  /** Line index, from 0. */
  readonly at: number;
  readonly before: string;
  readonly after: readonly string[];
  readonly lines: readonly string[];
}

const changed: Readonly<Record<Language, { readonly remark: string; readonly body: RegExp }>> = {
  typescript: { remark: "//", body: /^ {2,}(?:total|const|if|throw)/ },
  python: { remark: "#", body: /^ {4,}(?:total|if|raise)/ },
  go: { remark: "//", body: /^\t+(?:total|if)/ },
  sql: { remark: "--", body: /^(?:WHERE|HAVING)/ },
};

/** Changes the number in a line, and adds a remark that says why. */
export function changeOf(
  dice: Dice,
  { language, lines }: { readonly language: Language; readonly lines: readonly string[] },
  why: string,
): Change {
  const { remark, body } = changed[language];
  const places = lines.flatMap((line, at) => (body.test(line) && /\d{2,}/.test(line) ? [at] : []));
  const at = places.length === 0 ? lines.length - 1 : pick(dice, [places[0] ?? 0, ...places]);
  const before = lines[at] ?? "";
  const indent = /^\s*/.exec(before)?.[0] ?? "";
  const after = [
    `${indent}${remark} ${why}`,
    before.replace(/\d{2,}/, String(between(dice, 12, 980))),
  ];
  return { at, before, after, lines: lines.toSpliced(at, 1, ...after) };
}

const contextLines = 3;

export function diffOf(path: string, lines: readonly string[], change: Change): string {
  const { at, before, after } = change;
  const first = Math.max(0, at - contextLines);
  const head = lines.slice(first, at).map((line) => ` ${line}`);
  const tail = lines.slice(at + 1, at + 1 + contextLines).map((line) => ` ${line}`);
  const kept = head.length + tail.length;
  return [
    `diff --git a/${path} b/${path}`,
    `--- a/${path}`,
    `+++ b/${path}`,
    `@@ -${first + 1},${kept + 1} +${first + 1},${kept + after.length} @@`,
    ...head,
    `-${before}`,
    ...after.map((line) => `+${line}`),
    ...tail,
  ].join("\n");
}

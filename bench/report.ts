/** What a benchmark hands back, and how it is shown: on the terminal and as Markdown. */

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A goal, and what came out. */
export interface Check {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly bound: "at most" | "at least";
  readonly limit: number;
  readonly isMet: boolean;
}

/** A file beside the page, shown in its section. */
export interface Picture {
  readonly fileName: string;
  readonly title: string;
  readonly svg: string;
}

export interface Outcome {
  readonly tables: readonly Table[];
  readonly checks: readonly Check[];
  readonly pictures?: readonly Picture[];
}

export interface Benchmark {
  readonly name: string;
  readonly title: string;
  run(options: RunOptions): Promise<Outcome>;
}

export interface RunOptions {
  /** Fewer rounds: to see that everything works, not to compare. */
  readonly isQuick: boolean;
  /** A folder for profiles of the program under test. */
  readonly profileFolder?: string;
}

export function atMost(what: string, value: number, limit: number, unit: string): Check {
  return { what, value, unit, bound: "at most", limit, isMet: value <= limit };
}

export function atLeast(what: string, value: number, limit: number, unit: string): Check {
  return { what, value, unit, bound: "at least", limit, isMet: value >= limit };
}

/** Three significant digits, and thousands apart. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** The checks as the last table. */
export function tablesOf({ tables, checks }: Outcome): readonly Table[] {
  if (checks.length === 0) return tables;
  const rows = checks.map(({ what, value, unit, bound, limit, isMet }) => [
    what,
    `${figure(value)} ${unit}`,
    `${bound} ${figure(limit)} ${unit}`,
    isMet ? "met" : "not met",
  ]);
  return [...tables, { title: "Goals", columns: ["", "measured", "goal", ""], rows }];
}

export function toText({ title, columns, rows }: Table): string {
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => align(cell, widths[index] ?? 0, index === 0))
      .join("  ")
      .trimEnd();
  return [`${title}`, line(columns), ...rows.map(line)].join("\n  ");
}

function align(cell: string, width: number, isFirst: boolean): string {
  return isFirst ? cell.padEnd(width) : cell.padStart(width);
}

export function toMarkdown({ title, columns, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [
    `**${title}**`,
    "",
    line(columns),
    line(columns.map((_, index) => (index === 0 ? "---" : "---:"))),
    ...rows.map(line),
  ].join("\n");
}

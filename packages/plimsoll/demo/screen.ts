/** The output of the demo: lines, and on a terminal a progress line below them. */

import { stdout } from "node:process";

export interface Screen {
  line(text: string): void;
  /** Shows how many of all turns have been played. */
  progress(done: number, all: number): void;
  /** Removes the progress line. */
  end(): void;
}

const barWidth = 30;
const steps = 10;

export function createScreen(isTerminal: boolean): Screen {
  return isTerminal ? liveScreen() : plainScreen();
}

function liveScreen(): Screen {
  let status = "";
  const draw = (text: string): void => {
    // Back to the beginning of the line, and clear it.
    stdout.write(`\r\u001b[K${text}`);
  };
  return {
    line: (text) => {
      draw(`${text}\n`);
      stdout.write(status);
    },
    progress: (done, all) => {
      status = statusOf(done, all);
      draw(status);
    },
    end: () => {
      status = "";
      draw("");
    },
  };
}

function statusOf(done: number, all: number): string {
  const filled = Math.round((done / all) * barWidth);
  return `${"█".repeat(filled)}${"░".repeat(barWidth - filled)} ${done} of ${all} turns`;
}

/** For a file or a pipe: prints a line for each tenth of the turns. */
function plainScreen(): Screen {
  let shown = 0;
  const line = (text: string): void => void stdout.write(`${text}\n`);
  return {
    line,
    progress: (done, all) => {
      const step = Math.floor((done / all) * steps);
      if (step > shown) line(`${done} of ${all} turns`);
      shown = step;
    },
    end: () => undefined,
  };
}

/** The text as one line of limited length, without terminal control characters. */
export function oneLine(text: string, most: number): string {
  const flat = text.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, " ").trim();
  const letters = [...flat];
  return letters.length <= most ? flat : `${letters.slice(0, most - 1).join("")}…`;
}

/** Makes each column as wide as its widest cell, and aligns numbers to the right. */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) =>
    row.map((cell) => (typeof cell === "number" ? grouped(cell) : cell)),
  );
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const isNumber = (column: number): boolean => rows.some((row) => typeof row[column] === "number");
  const padded = (cell: string, column: number): string =>
    isNumber(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  return cells.map((row) => `  ${row.map(padded).join("  ")}`.trimEnd()).join("\n");
}

export function grouped(value: number): string {
  return value.toLocaleString("en-US");
}

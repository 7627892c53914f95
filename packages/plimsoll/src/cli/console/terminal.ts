/** Text for a terminal. No text of a conversation can move the cursor or change the title (threat T16). */

import { grouped } from "../../text/digits.ts";
import { harmless } from "../../text/unseen.ts";

/** The text as one line of at most `maxLength` characters. */
export function oneLine(text: string, maxLength: number): string {
  const flat = harmless(text).replaceAll(/\s+/g, " ").trim();
  const characters = [...flat];
  return characters.length <= maxLength ? flat : `${characters.slice(0, maxLength - 1).join("")}…`;
}

/** Pads columns to their widest cell, and aligns numbers to the right. */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) =>
    row.map((cell) => (typeof cell === "number" ? grouped(cell) : harmless(cell))),
  );
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const isNumber = (column: number): boolean =>
    rows.slice(1).some((row) => typeof row[column] === "number");
  return cells
    .map((row) =>
      row
        .map((cell, column) =>
          isNumber(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Names and values below each other. Leaves out fields without a value. */
export function fields(rows: readonly (readonly [string, string | undefined])[]): string {
  const given = rows.flatMap(([name, value = ""]) =>
    value === "" ? [] : [[name, oneLine(value, 200)]],
  );
  return table(given);
}

/** The time to the second, in UTC. */
export function utc(time: number): string {
  return new Date(time).toISOString().slice(0, 19).replace("T", " ");
}

/** Draws a share of a whole as a bar of blocks. */
export function bar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width);
  return "█".repeat(filled) + "░".repeat(width - filled);
}

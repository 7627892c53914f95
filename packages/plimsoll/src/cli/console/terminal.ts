/** Text for a terminal: whatever a conversation holds, it cannot move the cursor or change the title (threat T16). */

import { grouped } from "../../text/digits.ts";

/** C0 but tab and line feed, DEL and C1, bidirectional controls, line and paragraph separators, tag characters. */
const harmful =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** Control characters become visible, as \x1b or \u{202e}. */
export function harmless(text: string): string {
  return text.replaceAll(harmful, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** JSON that says the same: what a terminal would obey is written as an escape of JSON's own. */
export function harmlessJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(harmful, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** One line of at most so many characters. */
export function oneLine(text: string, maxLength: number): string {
  const flat = harmless(text).replaceAll(/\s+/g, " ").trim();
  const characters = [...flat];
  return characters.length <= maxLength ? flat : `${characters.slice(0, maxLength - 1).join("")}…`;
}

/** Columns padded to their widest cell; numbers to the right. */
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

/** A share of a whole as a bar of blocks. */
export function bar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width);
  return "█".repeat(filled) + "░".repeat(width - filled);
}

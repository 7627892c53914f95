/** Shortens tables: keeps the header, the first and last rows, and rows that differ from the others. */

import { alarmOf } from "../../../text/trouble.ts";
import { attempt, type Compressor } from "../cut/compressor.ts";
import { cutLines, type LineVerdicts } from "../cut/lines.ts";
import { outlierScores } from "../cut/outliers.ts";

const separators = ["\t", "|", ",", ";"] as const;
const ruler = /^[\s|:+=-]{3,}$/;

export const tableCompressor: Compressor = {
  kind: "table",
  detects: ({ lines, ending }) => {
    if (lines.length < 4 || isNumbered(lines)) return false;
    const isNamed = ending === "csv" || ending === "tsv";
    return separatorOf(lines, isNamed ? "by its name" : "by its look") !== undefined;
  },
  compress: (text, options) => attempt(cutLines(text, options, classifyRows)),
};

/**
 * True for the lines of a file that were printed with line numbers. They look like a table of two columns, but they are not a
 * table.
 */
function isNumbered(lines: readonly string[]): boolean {
  const numbers = lines.map((line) =>
    Number(/^\s{0,8}(?:\d+[:-]\s*)?(\d+)[\t→][^\t]*$/.exec(line)?.[1] ?? Number.NaN),
  );
  const inOrder = numbers.filter((number, index) => number === (numbers[index - 1] ?? 0) + 1);
  return inOrder.length >= lines.length * 0.6;
}

/** The separator that occurs the same number of times in nearly every line. */
function separatorOf(
  lines: readonly string[],
  recognised: "by its name" | "by its look",
): string | undefined {
  const looked = lines.slice(0, 200);
  const isNamed = recognised === "by its name";
  const share = isNamed ? 0.6 : 0.9;
  return separators.find((separator) => {
    const counts = looked.map((line) => line.split(separator).length - 1);
    const usual = counts.toSorted((one, other) => one - other)[counts.length >> 1] ?? 0;
    const isWeak = separator === "," || separator === ";";
    const least = isWeak && !isNamed ? 2 : 1;
    const same = counts.filter((count) => count === usual).length;
    const isProse = separator === "," && looked.some((line) => /, [a-z]+ [a-z]+ /.test(line));
    return usual >= least && same >= looked.length * share && !isProse;
  });
}

function classifyRows(lines: readonly string[]): LineVerdicts {
  const separator = separatorOf(
    lines.filter((line) => line !== ""),
    "by its name",
  );
  const rows = lines.map((line) => line.split(separator ?? /\s{2,}|\t/).map((cell) => cell.trim()));
  const unlike = outlierScores(rows);
  const keys = new Set([0]);
  for (const index of [1, 2]) if (ruler.test(lines[index] ?? "")) keys.add(index);
  const scores = lines.map((line, index) => (unlike[index] ?? 0) + alarmOf(line) / 2);
  return { scores, keys, missing: () => "rows" };
}

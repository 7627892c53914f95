/** Shortens logs: a mark replaces most lines of the same form. Rare lines, and lines that report a problem, stay. */

import { isLogLine, shareOfLines } from "../../../text/log-lines.ts";
import { alarmOf } from "../../../text/trouble.ts";
import { attempt, type Compressor, type Sample } from "../cut/compressor.ts";
import { cutLines, type LineVerdicts } from "../cut/lines.ts";
import { type Gap, redundant } from "../cut/piece.ts";

export const logCompressor: Compressor = {
  kind: "log",
  detects: ({ lines, ending }) => {
    if (lines.length < 4) return false;
    const looksLike = shareOfLines(lines, isLogLine);
    return looksLike >= (ending === "log" ? 0.2 : 0.5) || hasFewForms(lines);
  },
  compress: (text, options) => attempt(cutLines(text, options, classifyLog)),
};

/** True if the lines have only a few forms, as in the output of a program that prints the same kinds of lines again and again. */
function hasFewForms(lines: Sample["lines"]): boolean {
  if (lines.length < 20) return false;
  const forms = new Set(lines.map(formOf));
  return forms.size <= lines.length * 0.3 && shareOfLines(lines, (line) => /\d/.test(line)) >= 0.5;
}

const formChars = 240;

/** The line with all variable parts masked: ids, numbers and quoted strings. */
function formOf(line: string): string {
  return line
    .slice(0, formChars)
    .replace(/\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b(?:0x)?[0-9a-f]{7,}\b/gi, "#")
    .replace(/\d+(?:[.,:]\d+)*/g, "#")
    .replace(/"[^"]{0,200}"|'[^']{0,200}'/g, '"#"')
    .replace(/\s+/g, " ")
    .trim();
}

/** Number of lines of the same form that are shown, in addition to the last line of this form. */
const shownTimes = 2;
const shownAlarms = 8;

function classifyLog(lines: readonly string[]): LineVerdicts {
  const forms = lines.map(formOf);
  const formCounts = new Map<string, { count: number; last: number }>();
  for (const [index, form] of forms.entries()) {
    const known = formCounts.get(form);
    if (known === undefined) formCounts.set(form, { count: 1, last: index });
    else {
      known.count++;
      known.last = index;
    }
  }
  const times = new Map<string, number>();
  const scores = lines.map((line, index) => {
    const form = forms[index] ?? "";
    const time = (times.get(form) ?? 0) + 1;
    times.set(form, time);
    const { count = 1, last = index } = formCounts.get(form) ?? {};
    return form === "" ? 0 : scoreOf({ time, count, isLast: index === last, alarm: alarmOf(line) });
  });
  return {
    scores: withNeighbours(lines, scores, times),
    keys: new Set([0, lines.length - 1]),
    missing: foldedMark(forms),
  };
}

interface Occurrence {
  /** `time` is the position of the line among all lines of its form, counted from 1. `count` is the number of these lines. */
  readonly time: number;
  readonly count: number;
  readonly isLast: boolean;
  readonly alarm: number;
}

function scoreOf({ time, count, isLast, alarm }: Occurrence): number {
  const isShownEnough = time > (alarm > 0 ? shownAlarms : shownTimes);
  if (isShownEnough && !isLast) return redundant;
  const rarity = time === 1 ? 1 + 1 / count : isLast ? 0.6 : 0.3 / time;
  return rarity + alarm / time;
}

/**
 * Raises the scores of lines next to an error line, because they may explain the error. Ignores errors that occur more than five
 * times.
 */
function withNeighbours(
  lines: readonly string[],
  scores: readonly number[],
  times: ReadonlyMap<string, number>,
): readonly number[] {
  const raised = [...scores];
  for (const [index, line] of lines.entries()) {
    if (alarmOf(line) < 3 || (times.get(formOf(line)) ?? 0) > 5) continue;
    for (const beside of [index - 1, index + 1])
      if (raised[beside] !== undefined) raised[beside] = Math.max(raised[beside], 0.8);
  }
  return raised;
}

/** Words for a gap in which every line has the same form as a line that is still shown. */
function foldedMark(forms: readonly string[]): (gap: Gap) => string | undefined {
  let shownBy: Gap["isKept"] | undefined;
  let keptForms: ReadonlySet<string> = new Set();
  return ({ first, last, isKept }) => {
    if (shownBy !== isKept) {
      keptForms = new Set(forms.filter((_, index) => isKept(index)));
      shownBy = isKept;
    }
    const inside = new Set(forms.slice(first, last + 1).filter((form) => form !== ""));
    const above = forms[first - 1];
    if (inside.size === 1 && above !== undefined && inside.has(above)) return "more like this";
    return [...inside].every((form) => keptForms.has(form)) ? "lines like others here" : undefined;
  };
}

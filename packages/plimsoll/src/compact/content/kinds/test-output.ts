/** Shortens the output of test runs: failures and the summary stay, and a mark gives the number of passed tests. */

import { alarmOf } from "../../../text/trouble.ts";
import { attempt, type Compressor } from "../cut/compressor.ts";
import { cutLines, type LineVerdicts } from "../cut/lines.ts";
import { type Gap, redundant } from "../cut/piece.ts";

const pass =
  /\bPASSED\b|\.\.\. ok$|^\s*[✓✔√]|^\s*--- PASS|^ok \d+|^=== (?:RUN|PAUSE|CONT|NAME)|^\s*PASS\b|^ok\s+\S+\s|^[\w/.-]*\s?[.sx]+(?:\s+\[\s*\d+%\])?$/;
const failure =
  /\bFAILED\b|^\s*[✗✕×✖❯]|^not ok|^\s*--- FAIL|^\s*FAIL\b|^E {2,}|\bAssertionError|panicked at|^\s*(?:Expected|Received|expected|actual|left|right)\b.{0,3}:|\.\.\. (?:FAIL|ERROR)|^_{3,} .+ _{3,}$|^FAIL: |^ERROR: /;
const summary =
  /^=+ .*\b(?:passed|failed|errors?|skipped)\b.*=+$|^\s*(?:Tests|Test Suites|Test Files|Snapshots):? +\d|^test result:|^Ran \d+ tests?|^\s*\d+ (?:passing|failing|pending)\b|^# (?:tests|pass|fail|skipped)\b|^(?:FAILED|OK)(?: \(.*\))?$|^=+ short test summary|^Tests run:|^BUILD /;
const runner =
  /=+ test session starts|\bcollected \d+ items?|^running \d+ tests?$|^TAP version|^[ \t]*RUN +v\d|^=== RUN|^Ran \d+ tests? in/m;

export const testCompressor: Compressor = {
  kind: "test",
  detects: ({ head, tail, lines }) => {
    const results = lines.filter((line) => pass.test(line) || failure.test(line)).length;
    const hasSummary = tail.split(/\r?\n/).some((line) => summary.test(line));
    return (runner.test(head) || hasSummary) && (hasSummary || results >= 3);
  },
  compress: (text, options) => attempt(cutLines(text, options, classifyTests)),
};

/** Number of lines after a failure that are still about it. */
const failureReach = 12;

function classifyTests(lines: readonly string[]): LineVerdicts {
  const keys = new Set<number>();
  const isPass = lines.map((line) => pass.test(line) && !failure.test(line));
  let sinceFailure = failureReach;
  const scores = lines.map((line, index) => {
    sinceFailure++;
    if (summary.test(line)) {
      keys.add(index);
      return 5;
    }
    if (failure.test(line)) {
      sinceFailure = 0;
      return 4;
    }
    if (isPass[index] === true) return redundant;
    if (line.trim() === "") return 0;
    const near = sinceFailure < failureReach ? 2 - sinceFailure / failureReach : 0;
    return near + alarmOf(line) / 2;
  });
  return { scores, keys, missing: (gap) => missingIn(gap, lines, isPass) };
}

function missingIn(
  { first, last }: Gap,
  lines: readonly string[],
  isPass: readonly boolean[],
): string | undefined {
  for (let index = first; index <= last; index++)
    if (isPass[index] !== true && lines[index]?.trim() !== "") return undefined;
  return "passed";
}

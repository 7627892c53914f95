/** Shortens diffs: headers and changed lines stay, and context lines are left out first. */

import { attempt, type Compressor } from "../cut/compressor.ts";
import { cutLines, type LineVerdicts } from "../cut/lines.ts";

const hunk = /^@@+ -\d/;
const fileHeader =
  /^(?:diff |--- |\+\+\+ |Index: |rename |similarity |new file|deleted file|Binary )/;

export const diffCompressor: Compressor = {
  kind: "diff",
  detects: ({ lines, ending }) => {
    const hunks = lines.filter((line) => hunk.test(line)).length;
    const changes = lines.filter((line) => /^[-+]/.test(line)).length;
    const isNamed = ending === "diff" || ending === "patch";
    const hasFile = lines.some((line) => line.startsWith("diff --git ") || line.startsWith("+++ "));
    return hunks > 0 && changes > 0 && (hasFile || isNamed || hunks + changes > lines.length / 4);
  },
  compress: (text, options) => attempt(cutLines(text, options, classifyDiff)),
};

function classifyDiff(lines: readonly string[]): LineVerdicts {
  const keys = new Set<number>();
  let run = 0;
  const scores = lines.map((line, index) => {
    const isChange = /^[-+]/.test(line) && !/^(?:---|\+\+\+) /.test(line);
    run = isChange ? run + 1 : 0;
    if (hunk.test(line) || fileHeader.test(line)) {
      keys.add(index);
      return 4;
    }
    if (isChange && line.trim().length < 2) return 0.2;
    // The beginning of a long addition is more informative than its middle.
    if (isChange) return Math.max(1, 3 - run * 0.1);
    const besideChange = [lines[index - 1], lines[index + 1]].some((near) =>
      /^[-+](?![-+])/.test(near ?? ""),
    );
    return besideChange ? 0.4 : 0;
  });
  return { scores, keys, blocks: runsOf(lines) };
}

/** Adjacent changed lines form a block, and so do the context lines between them. */
function runsOf(lines: readonly string[]): readonly number[] {
  let run = 0;
  return lines.map((line, index) => {
    const isOther = /^[-+]/.test(line) !== /^[-+]/.test(lines[index - 1] ?? "");
    if (isOther) run++;
    return run;
  });
}

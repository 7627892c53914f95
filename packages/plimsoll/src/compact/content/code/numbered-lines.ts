/** Text with a number before each line, as `cat -n`, `nl` and the file-reading tools of agents print it. */

export interface Numbered {
  /** The lines without their numbers. */
  readonly code: string;
  /** The number and separator before each line of the code. */
  readonly prefixes: readonly string[];
  /** The text before and after the numbered lines. */
  readonly before: string;
  readonly after: string;
}

const numberedLine = /^(\s{0,8}(\d{1,7})(?:\t|→|: ?|\| ?| {2,4}(?=\S)|$))(.*)$/s;
const leastLines = 5;
/** If more than this share of the text is outside the numbered lines, the text is not treated as a numbered listing. */
const aroundShare = 0.4;

interface Run {
  readonly first: number;
  readonly last: number;
}

export function stripNumbers(text: string): Numbered | undefined {
  const lines = text.split("\n");
  const run = longestRun(lines);
  if (run === undefined) return undefined;
  const before = joinEnded(lines.slice(0, run.first));
  const after = lines.slice(run.last + 1).join("\n");
  if (before.length + after.length > text.length * aroundShare) return undefined;
  const prefixes: string[] = [];
  const code: string[] = [];
  for (const line of lines.slice(run.first, run.last + 1)) {
    const [, prefix = "", , rest = ""] = numberedLine.exec(line) ?? [];
    prefixes.push(prefix);
    code.push(rest);
  }
  const end = run.last < lines.length - 1 ? "\n" : "";
  return { code: code.join("\n") + end, prefixes, before, after };
}

function joinEnded(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

/** The longest run of lines whose numbers increase by one from line to line. */
function longestRun(lines: readonly string[]): Run | undefined {
  let best: Run | undefined;
  let first = -1;
  let expected = -1;
  for (const [index, line] of lines.entries()) {
    const figure = numberedLine.exec(line.slice(0, 40))?.[2];
    const number = figure === undefined ? -1 : Number(figure);
    if (number < 0) {
      first = -1;
      expected = -1;
      continue;
    }
    if (number !== expected) first = index;
    expected = number + 1;
    const length = index - first;
    if (best === undefined || length > best.last - best.first) best = { first, last: index };
  }
  return best !== undefined && best.last - best.first + 1 >= leastLines ? best : undefined;
}

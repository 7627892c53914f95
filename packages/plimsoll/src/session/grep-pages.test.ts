/** What a search shows page by page: put together, it is all that there is to find. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { longLineBytes, type MatchLines } from "../offload/read-matches.ts";
import { readPage } from "../offload/read-result.ts";
import { scanPattern, scanString } from "./lookup/grep-scan.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** As in earnest, without a thread. */
const byPattern: MatchLines = async (bytes, pattern, window) => ({
  kind: "matched",
  ...scanPattern(bytes, new RegExp(pattern), window),
  isLiteral: false,
});
const byString: MatchLines = async (bytes, pattern, window) => ({
  kind: "matched",
  ...scanString(bytes, pattern, window),
  isLiteral: false,
});

interface Search {
  readonly text: string;
  readonly pattern: string;
  readonly limit: number;
}

const pagesMax = 5000;

/** `12` for a line that matches; `12@48231` for a match in a line that is long. */
async function shownOf({ text, pattern, limit }: Search, match: MatchLines) {
  const bytes = bytesOf(text);
  const lines = text.split("\n");
  const room = { tokens: 1_000_000, count: (page: string) => page.length };
  const shown: string[] = [];
  let offset = 0;
  for (let page = 0; page < pagesMax; page++) {
    const content = { name: "#1", bytes };
    const { text: answer } = await readPage(content, { grep: pattern, offset, limit }, room, match);
    const [head = "", ...rows] = answer.split("\n");
    for (const row of rows) {
      const [, line, from] = /^(\d+)(?:@(\d+))?:/.exec(row) ?? [];
      if (line !== undefined)
        shown.push(isLong(lines[Number(line) - 1]) ? `${line}@${from}` : line);
    }
    const [, next] = /; next offset (\d+)\]$/.exec(head) ?? [];
    if (next === undefined) break;
    offset = Number(next);
  }
  return shown;
}

function isLong(line = ""): boolean {
  return bytesOf(line).length > longLineBytes;
}

/** The same by other means. */
function allOf({ text, pattern }: Search): readonly string[] {
  const lines = text.replace(/\n$/, "").split("\n");
  let start = 0;
  return (text === "" ? [] : lines).flatMap((line, index) => {
    const at = start;
    start += bytesOf(line).length + 1;
    const found = [...line.replace(/\r$/, "").matchAll(new RegExp(pattern, "g"))].filter(
      (match) => line.slice(0, match.index).isWellFormed() || !line.isWellFormed(),
    );
    const froms = found.map((match) => at + bytesOf(line.slice(0, match.index)).length);
    return isLong(line)
      ? froms.map((from) => `${index + 1}@${from}`)
      : froms.slice(0, 1).map(() => `${index + 1}`);
  });
}

test("sixty matches in one long line are sixty over two pages, though little of it is left for the second", async () => {
  const text = Array.from({ length: 60 }, (_, index) => `hit${index}`.padEnd(50, ".")).join("");
  for (const pattern of ["hit", "hit\\d", "(?<=\\.)hit", "\\bhit"]) {
    const search = { text, pattern, limit: 200_000 };
    const shown = await shownOf(search, byPattern);
    expect(shown).toHaveLength(pattern.startsWith("(?<=") ? 59 : 60);
    expect(shown).toEqual(allOf(search));
  }
  expect(await shownOf({ text, pattern: "hit", limit: 200_000 }, byString)).toHaveLength(60);
});

test("a match at the very end is shown, also when it is all that is left", async () => {
  const search = { text: "hit".padEnd(30, "-").repeat(50), pattern: "hit|$", limit: 200_000 };
  const shown = await shownOf(search, byPattern);
  expect(shown.at(-1)).toBe("1@1500");
  expect(shown).toEqual(allOf(search));
});

const piece = fc.constantFrom(
  ...["hit", "hit", "hi", "t", "é", "😀", " ", ".", "\r", "\n", "\r\n"],
  ...["-".repeat(90), "=".repeat(700), "hit ".repeat(60)],
);
const texts = fc.array(piece, { maxLength: 40, size: "max" }).map((all) => all.join(""));
const limits = fc.integer({ min: 1, max: 20_000 });

test("whatever the text, the pattern and the size of a page, nothing is lost and nothing is shown twice", async () => {
  const patterns = fc.constantFrom(
    ...["hit", "^hit", "hit$", "\\bhit\\b", "(?<=t )hit", "(?<!-)hit", "h(?=i)"],
    ...["(hit ?)+", "[^-=]", "y*", "$", "^", "é|😀", "\\s"],
  );
  await fc.assert(
    fc.asyncProperty(texts, patterns, limits, async (text, pattern, limit) => {
      const search = { text, pattern, limit };
      expect(await shownOf(search, byPattern)).toEqual(allOf(search));
    }),
    tries({ runs: 300, seed: 20_260_730 }),
  );
});

test("the same holds for a plain string", async () => {
  const strings = fc.constantFrom("hit", "t", "é", "😀", "--", " hit");
  await fc.assert(
    fc.asyncProperty(texts, strings, limits, async (text, pattern, limit) => {
      const search = { text, pattern, limit };
      expect(await shownOf(search, byString)).toEqual(allOf(search));
    }),
    tries({ runs: 200, seed: 20_260_730 }),
  );
});

/** Cutting long lines into segments adds and loses nothing, splits no escape and no character, and takes linear time. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import { estimateTokens, segmentsOf } from "./long-lines.ts";

const seed = 20261115;
const LONG = 1_000_000;

/** Parts of long lines, including everything that a cut could split. */
const bits = fc.constantFrom(
  "word ",
  "a, ",
  '{"k": 1}, ',
  "End. ",
  "\\n",
  "\\\\n",
  "\\\\",
  '\\"',
  "\\u00e9",
  "\\u0041",
  "\\ud83d\\ude00",
  "\\uD83D\\uDE00",
  "\u{1f600}",
  "é",
  "日本語",
  "x".repeat(37),
  "7".repeat(29),
  " ".repeat(11),
);
const longLine = fc
  .array(bits, { minLength: 40, maxLength: 400, size: "max" })
  .map((some) => some.join(""));

/** The offsets at which the segments end, except the last one. */
function endsOf(line: string): readonly number[] {
  let at = 0;
  return segmentsOf(line)
    .slice(0, -1)
    .map((segment) => {
      at += segment.length;
      return at;
    });
}

const escapes = /\\u[dD]8[0-9a-fA-F]{2}\\u[dD][eE][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[^u]/g;

/** Offsets inside an escape or an escaped pair, found by reading from the beginning as a JSON reader does. */
function insideEscapes(line: string): ReadonlySet<number> {
  const inside = new Set<number>();
  for (const match of line.matchAll(escapes))
    for (let offset = 1; offset < match[0].length; offset++) inside.add(match.index + offset);
  return inside;
}

describe("a long line", () => {
  test("is its stretches, put together", () =>
    fc.assert(
      fc.property(longLine, (line) => {
        expect(segmentsOf(line).join("")).toBe(line);
      }),
      tries({ runs: 200, seed }),
    ));

  test("is cut into stretches of some hundred characters", () =>
    fc.assert(
      fc.property(longLine, (line) => {
        const segments = segmentsOf(line);
        for (const { length } of segments.slice(0, -1)) {
          expect(length).toBeGreaterThanOrEqual(90);
          expect(length).toBeLessThanOrEqual(172);
        }
        expect(segments.at(-1)?.length).toBeLessThanOrEqual(250);
      }),
      tries({ runs: 200, seed }),
    ));

  test("is never cut inside of an escape, or between the halves of a character", () =>
    fc.assert(
      fc.property(longLine, (line) => {
        const inside = insideEscapes(line);
        expect(endsOf(line).filter((end) => inside.has(end))).toEqual([]);
        for (const segment of segmentsOf(line)) expect(segment.isWellFormed()).toBe(true);
      }),
      tries({ runs: 300, seed }),
    ));

  test("is cut where it is best read on: before an escaped line end, behind a sentence, between words", () => {
    const sentence = `${"a".repeat(99)}. ${"b".repeat(300)}`;
    expect(segmentsOf(sentence)[0]).toBe(`${"a".repeat(99)}. `);
    const escaped = `${"a b ".repeat(25)}\\n${"c".repeat(300)}`;
    expect(segmentsOf(escaped)[1]?.startsWith("\\n")).toBe(true);
    const words = `${"a".repeat(120)} ${"b".repeat(300)}`;
    expect(segmentsOf(words)[0]).toBe(`${"a".repeat(120)} `);
  });

  test("is not cut inside of a word, as long as there is anything else between the words", () => {
    const address = `https://harbour.example/${"berths/load_line-42?cargo=7&deck=b/".repeat(30)}`;
    const prose = "The loader reads every booking twice ".repeat(30);
    const code = "value_1+=of_2(loader_3)*".repeat(40);
    for (const line of [address, prose, code]) {
      const torn = endsOf(line).filter((end) => /^\w\w$/.test(line.slice(end - 1, end + 1)));
      expect(endsOf(line).length).toBeGreaterThan(5);
      expect(torn).toEqual([]);
    }
  });

  test("that is short enough stays in one", () => {
    expect(segmentsOf("")).toEqual([""]);
    expect(segmentsOf("x".repeat(250))).toHaveLength(1);
    expect(segmentsOf("x".repeat(251))).toHaveLength(2);
  });
});

test.each([
  ["letters", "x"],
  ["backslashes", "\\"],
  ["halves of characters", "\ud83d"],
  ["smileys", "\u{1f600}"],
  ["escapes", "\\u00e9"],
  ["spaces", " "],
])("a very long line of nothing but %s is cut and counted", (_, unit) => {
  const line = unit.repeat(Math.ceil(LONG / unit.length));
  const segments = segmentsOf(line);
  expect(segments.length).toBeGreaterThan(LONG / 200);
  expect(segments.join("") === line).toBe(true);
  expect(estimateTokens(line)).toBeGreaterThan(0);
});

describe("what a text costs, roughly", () => {
  test.each([
    ["", 0],
    ["word", 1],
    ["a word", 2],
    ["incomprehensible", 4],
    ["1234567", 3],
    ["()", 1],
    ["a\n\n  b", 3],
  ])("%j costs %d", (text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });

  test("scales with the density, and is never less for more text", () =>
    fc.assert(
      fc.property(longLine, longLine, (one, other) => {
        expect(estimateTokens(one, 2)).toBeCloseTo(2 * estimateTokens(one));
        expect(estimateTokens(`${one}\n\n${other}`)).toBeGreaterThanOrEqual(estimateTokens(one));
      }),
      tries({ runs: 50, seed }),
    ));
});

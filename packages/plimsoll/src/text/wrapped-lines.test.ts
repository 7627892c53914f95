/** Lines that were wrapped at a fixed width are found again as paragraphs, and lines that belong to nothing else stay alone. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { paragraphsOf } from "./wrapped-lines.ts";

const seed = 20261115;

/** The paragraphs as text, with a bar where a line was wrapped. */
function paragraphs(...lines: readonly string[]): readonly string[] {
  return paragraphsOf(lines).map(([first, last]) => lines.slice(first, last + 1).join("|"));
}

const line = "This line is long enough to have been wrapped by an editor";

describe("a line goes on in the next one", () => {
  test.each([
    ["in lower case", "and it goes on like this."],
    ["with a digit", "12 times in a row."],
    ["with a bracket", "(or so it seems)."],
    ["with a name in backticks", "`load_line` is the name."],
  ])("if the next one begins %s", (_, next) => {
    expect(paragraphs(line, next)).toEqual([`${line}|${next}`]);
  });

  test("over as many lines as the sentence has", () => {
    const next = "and so on it goes for quite a while in this text";
    expect(paragraphs(line, next, next, "to its end.", "Next.")).toEqual([
      `${line}|${next}|${next}|to its end.`,
      "Next.",
    ]);
  });

  test("before a capital too, if the line is so long that it was surely wrapped", () => {
    const long = `${line} that has more than eighty characters by now`;
    expect(paragraphs(long, "London is large.")).toEqual([`${long}|London is large.`]);
    expect(paragraphs(line, "London is large.")).toEqual([line, "London is large."]);
  });
});

describe("a line ends", () => {
  test.each([".", "!", "?", ":", ";", '."', ".)", "。", "！"])("with %s", (end) => {
    expect(paragraphs(line + end, "and then?")).toEqual([line + end, "and then?"]);
  });

  test.each([
    ["an item", "- one"],
    ["a numbered item", "1. one"],
    ["a heading", "# one"],
    ["a quotation", "> one"],
    ["a row of a table", "| one |"],
    ["a box of a terminal", "│ one"],
    ["code", "    const one = 1;"],
    ["code after a tab", "\tconst one = 1;"],
    ["a blank line", ""],
    ["a line of spaces", "  "],
    ["the beginning of a code block", "```ts"],
  ])("before %s", (_, next) => {
    expect(paragraphs(line, next)).toEqual([line, next]);
  });

  test("if it is too short to have been wrapped", () => {
    expect(paragraphs("a short line", "and another")).toEqual(["a short line", "and another"]);
  });
});

test("lines in a code block are never joined, and those after it are again", () => {
  const code = "const someValueOfTheLoader = computeTheValue(of, it)";
  expect(paragraphs("```ts", code, "and(more)", "```", line, "and on.")).toEqual([
    "```ts",
    code,
    "and(more)",
    "```",
    `${line}|and on.`,
  ]);
  expect(paragraphs("~~~", code, "and(more)")).toEqual(["~~~", code, "and(more)"]);
});

test("every line is in one paragraph, and paragraphs are in order", () =>
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.constantFrom(line, "and so on", "", "```", "- x", "~~~", "    x", "船".repeat(90)),
          fc.string(),
        ),
        { maxLength: 30 },
      ),
      (lines) => {
        const found = paragraphsOf(lines).flatMap(([first, last]) =>
          Array.from({ length: last - first + 1 }, (_, offset) => first + offset),
        );
        expect(found).toEqual([...lines.keys()]);
      },
    ),
    tries({ runs: 300, seed }),
  ));

/** Texts cut into pieces and put together again: kept pieces stay unchanged and in place, and marks say what is missing. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import { isBlank, readPieces, renderPieces, type TextPieces } from "./text-pieces.ts";

const seed = 20261115;
const reading = { density: 1, isProse: false };
const reference = "#17";

function render(textPieces: TextPieces, kept: readonly number[]): string {
  const isKept = new Set(kept);
  return renderPieces(textPieces, { isKept: (piece) => isKept.has(piece), reference });
}

function lines(text: string): TextPieces {
  return readPieces(text, reading);
}

const aLine = fc.oneof(
  fc.constantFrom(
    "",
    "  ",
    "\t",
    "one",
    "two words",
    "  indented",
    "tail\r",
    "\r",
    "ünï 日本 \u{1f600}",
  ),
  fc.constant(`${"long line of many words, ".repeat(30)}end`),
  fc.constant("x".repeat(700)),
  fc.string({ maxLength: 40 }).map((text) => text.replaceAll("\n", " ")),
);
const text = fc.array(aLine, { minLength: 1, maxLength: 25 }).map((some) => some.join("\n"));
const choices = fc.infiniteStream(fc.boolean());

interface Chosen {
  readonly textPieces: TextPieces;
  readonly kept: readonly number[];
}

const chosen: fc.Arbitrary<Chosen> = fc
  .tuple(text, choices)
  .map(([whole, stream]) => {
    const textPieces = lines(whole);
    const wanted = stream.take(textPieces.pieces.length);
    const kept = [...wanted].flatMap((isWanted, piece) => (isWanted ? [piece] : []));
    return { textPieces, kept };
  })
  .filter(({ textPieces }) => textPieces.json === undefined);

/** Matches every mark of a rendered text, with the number of missing lines. */
const mark = /^… (\d+) lines?(?: #17)?$/;

describe("a text of lines", () => {
  test("everything kept is the text itself; so is everything but blank lines", () =>
    fc.assert(
      fc.property(text, (whole) => {
        const textPieces = lines(whole);
        const all = [...textPieces.pieces.keys()];
        expect(render(textPieces, all)).toBe(whole);
        const said = all.filter((piece) => {
          const found = textPieces.pieces[piece];
          return found !== undefined && !isBlank(found);
        });
        expect(render(textPieces, said)).toBe(whole);
      }),
      tries({ runs: 200, seed }),
    ));

  test("kept pieces stand in it byte for byte, and in order", () =>
    fc.assert(
      fc.property(chosen, ({ textPieces, kept }) => {
        const shown = render(textPieces, kept);
        let at = 0;
        for (const piece of kept) {
          const found = textPieces.pieces[piece]?.text ?? "";
          const next = shown.indexOf(found, at);
          expect(next).toBeGreaterThanOrEqual(at);
          at = next + found.length;
        }
      }),
      tries({ runs: 300, seed }),
    ));

  test("what is no mark is a line of the text, or a part of one", () =>
    fc.assert(
      fc.property(chosen, ({ textPieces, kept }) => {
        const own = textPieces.text.split("\n");
        for (const line of render(textPieces, kept).split("\n")) {
          if (mark.test(line)) continue;
          const parts = line.replace(/ #17 ?/, "").split("…");
          for (const part of parts) expect(own.some((whole) => whole.includes(part))).toBe(true);
        }
      }),
      tries({ runs: 300, seed }),
    ));

  test("marks say how many lines are missing, blank ones aside", () =>
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("", "   ", "one", "two", "three"), {
          minLength: 2,
          maxLength: 20,
        }),
        choices,
        (whole, stream) => {
          const isKept = [...stream.take(whole.length)];
          const textPieces = lines(whole.join("\n"));
          const shown = render(
            textPieces,
            isKept.flatMap((isWanted, line) => (isWanted ? [line] : [])),
          );
          const missing = whole.filter((line, at) => line.trim() !== "" && !isKept[at]).length;
          const said = shown.split("\n").map((line) => {
            if (line === `… ${reference}`) return 1;
            return Number(mark.exec(line)?.[1] ?? 0);
          });
          expect(said.reduce((sum, count) => sum + count, 0)).toBe(missing);
        },
      ),
      tries({ runs: 300, seed }),
    ));

  test("the place of the rest is said once, with the first mark", () =>
    fc.assert(
      fc.property(chosen, ({ textPieces, kept }) => {
        const shown = render(textPieces, kept);
        const isWhole = shown === textPieces.text;
        const [first = "", ...more] = shown.split(reference);
        expect(more).toHaveLength(isWhole ? 0 : 1);
        if (!isWhole) expect(first).toMatch(/…(?: \d+ lines?)? $/);
      }),
      tries({ runs: 300, seed }),
    ));
});

describe("marks", () => {
  const five = lines("one\ntwo\nthree\nfour\nfive");
  test.each([
    [[0, 1], "one\ntwo\n… 3 lines #17"],
    [[3, 4], "… 3 lines #17\nfour\nfive"],
    [[0, 4], "one\n… 3 lines #17\nfive"],
    [[0, 2, 4], "one\n… 1 line #17\nthree\n… 1 line\nfive"],
    [[2], "… 2 lines #17\nthree\n… 2 lines"],
    [[], "… 5 lines #17"],
  ])("of five lines %j are kept", (kept, shown) => {
    expect(render(five, kept)).toBe(shown);
  });

  test("one line of which nothing is kept is no more than a mark", () => {
    expect(render(lines("the only line"), [])).toBe("… #17");
  });

  test("line ends of other systems stay with their lines", () => {
    const textPieces = lines("one\r\ntwo\r\nthree\r\n");
    expect(render(textPieces, [0, 2])).toBe("one\r\n… 1 line #17\nthree\r\n");
    expect(render(textPieces, [0, 1, 2])).toBe("one\r\ntwo\r\nthree\r\n");
  });

  test("a blank line between two kept lines stays, and none is counted", () => {
    const textPieces = lines("one\n\ntwo\n\n\nthree\nfour");
    expect(render(textPieces, [0, 2, 6])).toBe("one\n\ntwo\n… 1 line #17\nfour");
    expect(render(textPieces, [0, 6])).toBe("one\n… 2 lines #17\nfour");
  });

  test("a line that is torn says so where it is torn", () => {
    const line = "alpha beta gamma delta ".repeat(20);
    const textPieces = lines(`before\n${line}\nbehind`);
    expect(textPieces.pieces.length).toBeGreaterThan(4);
    const [first, last] = [1, textPieces.pieces.length - 2];
    const show = (kept: readonly number[]): string => render(textPieces, kept);
    const piece = (at: number): string => textPieces.pieces[at]?.text ?? "";
    expect(show([0, first])).toBe(`before\n${piece(first)}… #17\n… 1 line`);
    expect(show([last, last + 1])).toBe(`… 1 line #17\n…${piece(last)}\nbehind`);
    expect(show([0, first, last, last + 1])).toBe(
      `before\n${piece(first)}… #17 ${piece(last)}\nbehind`,
    );
  });
});

test("a blank stretch of a long line is no line", () => {
  const textPieces = lines(`${"a b c d e ".repeat(35)}${" ".repeat(400)}\nx\ny`);
  const kept = textPieces.pieces.flatMap(({ text: own }, at) => (/[a-x]/.test(own) ? [at] : []));
  expect(render(textPieces, kept)).toMatch(/d e +\nx\n… 1 line #17$/);
});

describe("how texts are cut", () => {
  test("a line stands alone; a stretch of a long line may", () => {
    const { pieces } = lines(`short\n${"x ".repeat(300)}`);
    expect(pieces[0]).toMatchObject({ text: "short", line: 0, needsNeighbour: true, frames: [] });
    expect(pieces.slice(1).every(({ line, needsNeighbour }) => line === 1 && !needsNeighbour)).toBe(
      true,
    );
  });

  test("what somebody said is not torn before it is really long", () => {
    const said = "x ".repeat(250);
    expect(readPieces(said, { density: 1, isProse: true }).pieces).toHaveLength(1);
    expect(readPieces(said, { density: 1, isProse: false }).pieces.length).toBeGreaterThan(1);
    const long = "x ".repeat(500);
    expect(readPieces(long, { density: 1, isProse: true }).pieces.length).toBeGreaterThan(1);
  });

  test("an empty text is one blank piece, and stays empty", () => {
    const textPieces = lines("");
    expect(textPieces.pieces).toHaveLength(1);
    expect(render(textPieces, [])).toBe("");
  });

  test("one line of a million characters, and a hundred thousand lines of one", () => {
    const giant = lines("lorem ipsum dolor ".repeat(56_000));
    expect(render(giant, [0, 1]).length).toBeLessThan(400);
    expect(render(giant, [...giant.pieces.keys()]) === giant.text).toBe(true);
    const many = lines("x\n".repeat(100_000));
    expect(render(many, [0])).toBe("x\n… 99999 lines #17");
  });

  test("JSON as deep as a stack is read as lines", () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const textPieces = lines(deep);
    expect(textPieces.json).toBeUndefined();
    expect(render(textPieces, [...textPieces.pieces.keys()]) === deep).toBe(true);
    expect(render(textPieces, [0]).length).toBeLessThan(200);
  });
});

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
const mark = /^\[… (\d+) lines?(?: in #17)?\]$/;
/** Matches the mark of a missing part of a line. */
const inLine = / ?\[…(?: #17)?\] ?/;

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
          const parts = line.split(inLine);
          for (const part of parts) expect(own.some((whole) => whole.includes(part))).toBe(true);
        }
      }),
      tries({ runs: 300, seed }),
    ));

  test("marks say how many lines are missing, blank ones aside", () =>
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("", "   ", "one ".repeat(16), "two ".repeat(19)), {
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
          const isWhole = shown === textPieces.text;
          const missing = whole.filter((line, at) => line.trim() !== "" && !isKept[at]).length;
          const said = shown.split("\n").map((line) => Number(mark.exec(line)?.[1] ?? 0));
          expect(said.reduce((sum, count) => sum + count, 0)).toBe(isWhole ? 0 : missing);
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
        if (!isWhole) expect(first).toMatch(/\[… (?:\d+ lines? in )?$/);
        if (!isWhole) expect(first.match(/\[…/g)).toHaveLength(1);
      }),
      tries({ runs: 300, seed }),
    ));

  test("a text with marks is shorter than the whole text, or the whole text stays", () =>
    fc.assert(
      fc.property(chosen, ({ textPieces, kept }) => {
        const shown = render(textPieces, kept);
        const isShorter = shown.length < textPieces.text.length;
        expect(isShorter || shown === textPieces.text).toBe(true);
      }),
      tries({ runs: 200, seed }),
    ));
});

describe("marks", () => {
  const [one, two, three, four, five] = ["one", "two", "three", "four", "five"].map(
    (name) => `${name} is a line with so many words that a mark is shorter`,
  );
  const all = lines([one, two, three, four, five].join("\n"));
  test.each([
    [
      [0, 1],
      [one, two, "[… 3 lines in #17]"],
    ],
    [
      [3, 4],
      ["[… 3 lines in #17]", four, five],
    ],
    [
      [0, 4],
      [one, "[… 3 lines in #17]", five],
    ],
    [
      [0, 2, 4],
      [one, "[… 1 line in #17]", three, "[… 1 line]", five],
    ],
    [[2], ["[… 2 lines in #17]", three, "[… 2 lines]"]],
    [[], ["[… 5 lines in #17]"]],
  ])("of five lines %j are kept", (kept, shown) => {
    expect(render(all, kept)).toBe(shown.join("\n"));
  });

  test("a mark takes fewer tokens than the lines that it hides", () => {
    const long = "the only line of this text, and a mark says less than it does";
    expect(render(lines(long), [])).toBe("[… 1 line in #17]");
    expect(render(lines("the only line"), [])).toBe("the only line");
    const framed = lines(`<output>\n${long}\nmiddle\n${long}\n</output>`);
    expect(render(framed, [1, 3])).toBe(framed.text);
    expect(render(framed, [0, 2])).toBe("<output>\n[… 1 line in #17]\nmiddle\n[… 2 lines]");
  });

  test("line ends of other systems stay with their lines", () => {
    const textPieces = lines(`${one}\r\n${two}\r\n${three}\r\n`);
    expect(render(textPieces, [0, 2])).toBe(`${one}\r\n[… 1 line in #17]\n${three}\r\n`);
    expect(render(textPieces, [0, 1, 2])).toBe(`${one}\r\n${two}\r\n${three}\r\n`);
  });

  test("a blank line between two kept lines stays, and none is counted", () => {
    const textPieces = lines(`${one}\n\n${two}\n\n\n${three}\n${four}`);
    expect(render(textPieces, [0, 2, 6])).toBe(`${one}\n\n${two}\n[… 1 line in #17]\n${four}`);
    expect(render(textPieces, [0, 6])).toBe(`${one}\n[… 2 lines in #17]\n${four}`);
  });

  test("a line that is torn says so where it is torn", () => {
    const line = "alpha beta gamma delta ".repeat(20);
    const textPieces = lines(`before\n${line}\nbehind`);
    expect(textPieces.pieces.length).toBeGreaterThan(4);
    const [first, last] = [1, textPieces.pieces.length - 2];
    const show = (kept: readonly number[]): string => render(textPieces, kept);
    const piece = (at: number): string => textPieces.pieces[at]?.text ?? "";
    expect(show([0, first])).toBe(`before\n${piece(first)}[… #17]\n[… 1 line]`);
    expect(show([last, last + 1])).toBe(`[… 1 line in #17]\n[…] ${piece(last)}\nbehind`);
    expect(show([0, first, last, last + 1])).toBe(
      `before\n${piece(first)}[… #17] ${piece(last)}\nbehind`,
    );
  });

  test("a gap in an argument of a call is a sentence of Plimsoll's", () => {
    const code = Array.from({ length: 30 }, (_, at) => `statement_${at}(of, some, length);`);
    const argument = readPieces(code.join("\n"), { ...reading, isArgument: true });
    const show = (kept: readonly number[]): string =>
      renderPieces(argument, {
        isKept: (piece) => kept.includes(piece),
        reference,
        isArgument: true,
      });
    expect(show([0, 1, 28, 29]).split("\n")).toEqual([
      code[0],
      code[1],
      "[Plimsoll: 26 lines of this argument are not shown here, see #17.]",
      code[28],
      code[29],
    ]);
    const long = readPieces("word ".repeat(200), { ...reading, isArgument: true });
    const torn = renderPieces(long, {
      isKept: (piece) => piece === 0,
      reference,
      isArgument: true,
    });
    expect(torn.endsWith(" [Plimsoll: a part of this argument is not shown here, see #17.]")).toBe(
      true,
    );
  });

  test("JSON in an argument is cut like every other text, because it is a text there", () => {
    const rows = JSON.stringify(Array.from({ length: 80 }, (_, row) => ({ row })));
    expect(readPieces(rows, reading).json).toBeDefined();
    expect(readPieces(rows, { ...reading, isArgument: true }).json).toBeUndefined();
  });
});

/** Prose, wrapped at a fixed width or not, with lists and code in between. */
const prose = fc
  .array(
    fc.constantFrom(
      "The loader reads every booking twice, once for the total and once for the report. ",
      "It is slow.\n",
      "We measured it on the old machine and on the new one, and the difference was\nsmall. ",
      "Nobody knows why, because the person who wrote it has left the company some\ntime ago.\n\n",
      "- an item of a list that says a little more about the loader\n- and another item, which says what the report is for\n",
      "```\nconst bookings = readAll(store); code(bookings, report);\n```\n",
    ),
    { minLength: 8, maxLength: 40 },
  )
  .map((some) => some.join(""));

test("kept sentences are byte for byte and in order, with nothing but marks between them", () =>
  fc.assert(
    fc.property(prose, choices, (whole, stream) => {
      const textPieces = readPieces(whole, { density: 1, isProse: true });
      const isKept = [...stream.take(textPieces.pieces.length)];
      const shown = render(
        textPieces,
        isKept.flatMap((isWanted, piece) => (isWanted ? [piece] : [])),
      );
      let at = 0;
      for (const stretch of shown.split(/\s*\[…(?: \d+ lines?)?(?: in)?(?: #17)?\]\s*/)) {
        const found = whole.indexOf(stretch.trim(), at);
        expect(found).toBeGreaterThanOrEqual(0);
        at = found + stretch.trim().length;
      }
      const kept = textPieces.pieces.filter((_, piece) => isKept[piece]);
      for (const piece of kept) expect(shown).toContain(piece.text.trimEnd());
    }),
    tries({ runs: 300, seed }),
  ));

test("a blank stretch of a long line is no line", () => {
  const textPieces = lines(
    `${"a b c d e ".repeat(35)}${" ".repeat(400)}\nx\n${"yyyy ".repeat(20)}`,
  );
  const kept = textPieces.pieces.flatMap(({ text: own }, at) => (/[a-x]/.test(own) ? [at] : []));
  expect(render(textPieces, kept)).toMatch(/d e +\nx\n\[… 1 line in #17\]$/);
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

  test("words of people and agents are cut between sentences, also if a line break is inside of one", () => {
    const wrapped = [
      "The night run takes thirty minutes because it reads every single booking",
      "twice. It should read each of the batches once, and keep the totals that",
      "the report needs. Please do not change the report itself, because other",
      "teams import it.",
    ];
    const words = `${wrapped.join("\n")} ${"So it goes on and on for a while. ".repeat(25)}`;
    const { pieces } = readPieces(words, { density: 1, isProse: true });
    expect(pieces.map((piece) => piece.text).join("")).toBe(words);
    expect(pieces.slice(0, 3).map((piece) => piece.text)).toEqual([
      "The night run takes thirty minutes because it reads every single booking\ntwice. ",
      "It should read each of the batches once, and keep the totals that\nthe report needs. ",
      "Please do not change the report itself, because other\nteams import it. ",
    ]);
    expect(pieces.slice(0, 3).map(({ line, lastLine }) => [line, lastLine])).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
    ]);
  });

  test("a wrapped paragraph is one piece, and lines of a tool are one each", () => {
    const text = `${"word ".repeat(12)}and\nso on it goes to its end.\nNext.`;
    expect(readPieces(text, { density: 1, isProse: true }).pieces).toHaveLength(2);
    expect(readPieces(text, reading).pieces).toHaveLength(3);
  });

  test("a short block of code in words is one piece, and a long one is cut between lines", () => {
    const block = (count: number): string =>
      `Do this:\n\`\`\`ts\n${"a();\n".repeat(count)}\`\`\`\nThen go on.`;
    const pieces = (text: string): readonly string[] =>
      readPieces(text, { density: 1, isProse: true }).pieces.map((piece) => piece.text);
    expect(pieces(block(3))).toEqual(["Do this:", "```ts\na();\na();\na();\n```", "Then go on."]);
    expect(pieces(block(40))).toHaveLength(44);
    expect(pieces(`${block(40)}\n${block(2)}`)).toHaveLength(44 + 3);
    expect(pieces("Do this:\n```ts\na();")).toHaveLength(3);
  });

  test("a line under an item of a list is kept with its item", () => {
    const text =
      "Flights:\n1. HAT082\n   - price: $164\n2. HAT278\n   - price: $187\n     - seats: 5\nWell?";
    const { pieces } = readPieces(text, { density: 1, isProse: true });
    expect(pieces.map(({ company }) => company)).toEqual([[], [], [1], [], [3], [3, 4], []]);
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
    expect(render(many, [0])).toBe("x\n[… 99999 lines in #17]");
  });

  test("JSON as deep as a stack is read as lines", () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const textPieces = lines(deep);
    expect(textPieces.json).toBeUndefined();
    expect(render(textPieces, [...textPieces.pieces.keys()]) === deep).toBe(true);
    expect(render(textPieces, [0]).length).toBeLessThan(200);
  });
});

test("a cut speech keeps its speaker", () => {
  const speech = `The Chair: ${"We will now hear the members on the question of the harbour dues. ".repeat(20)}`;
  const textPieces = readPieces(speech, { density: 1, isProse: true, hasSpeaker: true });
  expect(textPieces.pieces[0]?.text).toBe("The Chair: ");
  expect(textPieces.pieces.slice(1).every(({ company }) => company.includes(0))).toBe(true);
  expect(textPieces.pieces.map(({ text }) => text).join("")).toBe(speech);
  expect(render(textPieces, [0, 5])).toMatch(/^The Chair: \[… #17\] We will now/);
});

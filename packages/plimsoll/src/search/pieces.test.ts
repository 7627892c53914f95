import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { piecesOf } from "./pieces.ts";

function textsOf(text: string): readonly string[] {
  return piecesOf(text).map(({ start, end }) => text.slice(start, end));
}

test("a short text is one piece, a blank one none", () => {
  expect(textsOf("one\ntwo")).toEqual(["one\ntwo"]);
  expect(textsOf("")).toEqual([]);
  expect(textsOf(" \n\t\n")).toEqual([]);
});

test("a paragraph stays whole, however many words it has", () => {
  const paragraph = "word ".repeat(250).trim();
  expect(textsOf(paragraph)).toEqual([paragraph]);
});

test("long text is cut at line ends", () => {
  const lines = Array.from({ length: 100 }, (_, i) => `line ${i} of the output of a tool`);
  const pieces = textsOf(lines.join("\n"));
  expect(pieces.length).toBeGreaterThan(5);
  expect(pieces.join("\n").split("\n")).toEqual(lines);
});

test("one line of JSON is cut where a value ends", () => {
  const rows = Array.from({ length: 60 }, (_, i) => ({ id: `HAT${i}`, price: i, from: "MCO" }));
  const pieces = textsOf(JSON.stringify(rows));
  expect(pieces.length).toBeGreaterThan(5);
  for (const piece of pieces.slice(0, -1)) expect(piece).toMatch(/\},$/);
});

test("a line that comes after a short one does not swallow it", () => {
  const pieces = textsOf(`head\n${"x ".repeat(2_000)}\ntail`);
  expect(pieces[0]).toBe("head");
  expect(pieces.at(-1)).toBe("tail");
});

test("pieces are in order, apart, never blank, and lack nothing but white space", () => {
  const fragment = fc.constantFrom(
    "a",
    "word ",
    "\n",
    "\r\n",
    " ",
    "😀",
    "\\n",
    "},",
    "x".repeat(400),
    "中".repeat(900),
  );
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 60 }), (fragments) => {
      const text = fragments.join("");
      let end = 0;
      let between = "";
      for (const piece of piecesOf(text)) {
        expect(piece.start).toBeGreaterThanOrEqual(end);
        expect(text.slice(piece.start, piece.end).trim()).not.toBe("");
        expect(text.slice(piece.start, piece.end).isWellFormed()).toBe(true);
        between += text.slice(end, piece.start);
        end = piece.end;
      }
      expect((between + text.slice(end)).trim()).toBe("");
    }),
    tries({ runs: 300, seed: 3 }),
  );
});

test("a million characters without a place to cut are cut all the same", () => {
  const text = "😀".repeat(500_000);
  const pieces = textsOf(text);
  expect(pieces.join("")).toBe(text);
  expect(pieces.every((piece) => piece.length <= 300 && piece.isWellFormed())).toBe(true);
});

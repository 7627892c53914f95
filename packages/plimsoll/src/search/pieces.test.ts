import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { piecesOf, type TextKind } from "./pieces.ts";

function textsOf(text: string, kind: TextKind = "output"): readonly string[] {
  return piecesOf(text, kind).map(({ start, end }) => text.slice(start, end));
}

test("a short text is one piece, a blank one none", () => {
  expect(textsOf("one\ntwo")).toEqual(["one\ntwo"]);
  expect(textsOf("")).toEqual([]);
  expect(textsOf(" \n\t\n")).toEqual([]);
});

test("a paragraph stays whole, however many words it has", () => {
  const paragraph = "word ".repeat(250).trim();
  expect(textsOf(paragraph)).toEqual([paragraph]);
  expect(textsOf(paragraph, "prose")).toEqual([paragraph]);
});

const sentences = Array.from(
  { length: 60 },
  (_, i) =>
    `In the year ${1900 + i}, the harbour of the town got a new crane, as the mayor had said.`,
);

test("a paragraph that is too long is cut between sentences", () => {
  const pieces = textsOf(sentences.join(" "), "prose");
  expect(pieces.length).toBeGreaterThan(10);
  for (const piece of pieces) expect(piece.trim()).toMatch(/^In the year .* had said\.$/);
});

test("prose that was wrapped at a fixed width is cut between sentences, not between lines", () => {
  const wrapped = sentences.join(" ").replace(/(.{60,72}) /g, "$1\n");
  const pieces = textsOf(wrapped, "prose");
  expect(pieces.length).toBeGreaterThan(10);
  for (const piece of pieces) expect(piece.trim()).toMatch(/^In\s.*had\ssaid\.$/s);
});

test("a short record of JSON is never torn, on one line or on many", () => {
  const rows = Array.from({ length: 40 }, (_, i) => ({
    id: `HAT${i}`,
    seats: { economy: i, business: i + 1 },
    note: "It leaves from gate [7], and {late}.",
  }));
  for (const text of [JSON.stringify(rows), JSON.stringify(rows, null, 2)]) {
    const pieces = textsOf(text);
    expect(pieces.length).toBeGreaterThan(5);
    const records = pieces.flatMap(
      (piece) => JSON.parse(`[${piece.replace(/^\[|\]$/g, "")}]`) as unknown[],
    );
    expect(records).toEqual(rows);
  }
});

test("a record that is too long is cut between its members", () => {
  const record = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [`field_${i}`, `the value of field ${i}, in words`]),
  );
  const pieces = textsOf(JSON.stringify({ record }));
  expect(pieces.length).toBeGreaterThan(3);
  for (const piece of pieces) expect(piece).toMatch(/^(?:\{"record":\{)?"field_.*in words"\}*$/);
});

test("long text without sentences is cut between words", () => {
  const words = Array.from({ length: 900 }, (_, i) => `word${i}`);
  for (const kind of ["prose", "output"] as const) {
    const pieces = textsOf(words.join(" "), kind);
    expect(pieces.length).toBeGreaterThan(5);
    expect(pieces.flatMap((piece) => piece.trim().split(" "))).toEqual(words);
  }
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
  for (const piece of pieces.slice(0, -1)) expect(piece).toMatch(/\}$/);
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
  const kinds = fc.constantFrom<TextKind>("prose", "output");
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 60 }), kinds, (fragments, kind) => {
      const text = fragments.join("");
      let end = 0;
      let between = "";
      for (const piece of piecesOf(text, kind)) {
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

import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { buildTermIndex, ranked } from "./bm25.ts";
import { termsOf } from "./words.ts";

function indexOf(texts: readonly string[]) {
  return buildTermIndex(texts.map((text) => [text]));
}

function search(index: ReturnType<typeof buildTermIndex>, query: string) {
  return ranked(index.scores(new Map(termsOf(query).map((term) => [term, 1]))));
}

test("a rare word decides over a common one", () => {
  const index = indexOf(["the ship sails", "the ship sinks", "the ship rests", "a whale sinks"]);
  expect(search(index, "ship sinking")[0]).toBe(1);
  expect(index.rarity("whal")).toBeGreaterThan(index.rarity("ship"));
  expect(index.rarity("kraken")).toBe(0);
});

test("of two documents with the word, the shorter is more about it", () => {
  const index = indexOf(["anchor and rope and deck and mast and sail and hull", "anchor"]);
  expect(search(index, "anchor")).toEqual([1, 0]);
});

test("a word that is repeated counts more, but less and less", () => {
  const index = indexOf(["tide sea sea", "tide tide sea", "tide tide tide"]);
  const [once = 0, twice = 0, thrice = 0] = index.scores(new Map([["tid", 1]]));
  expect(twice).toBeGreaterThan(once);
  expect(thrice).toBeGreaterThan(twice);
  expect(thrice - twice).toBeLessThan(twice - once);
});

test("a field counts as often as its weight says", () => {
  const documents = [
    ["send mail", "delete file"],
    ["delete file", "send mail"],
  ];
  const shape = { weights: [2, 1], saturation: 2 };
  expect(search(buildTermIndex(documents, shape), "delete")).toEqual([1, 0]);
  expect(search(buildTermIndex(documents, { ...shape, weights: [1, 2] }), "delete")).toEqual([
    0, 1,
  ]);
});

test("a field is long or short among fields of its kind", () => {
  const prose = "a text about ships and harbours and everything that sails";
  const documents = [
    ["cut rope", `rope ${prose}`],
    ["cut the thin long old rope", prose],
    ["tie", `${prose} ${prose}`],
  ];
  const [short = 0, long = 0] = buildTermIndex(documents, {
    weights: [1, 0],
    saturation: 2,
  }).scores(new Map([["cut", 1]]));
  expect(short).toBeGreaterThan(long);
});

test("a term in two fields of a document counts as one document", () => {
  const index = buildTermIndex(
    [
      ["rope", "rope"],
      ["deck", "rope"],
    ],
    { weights: [1, 1], saturation: 2 },
  );
  expect(index.holders("rop").map(({ document }) => document)).toEqual([0, 1]);
  expect(index.postings("rop")).toHaveLength(3);
  expect(index.rarity("deck")).toBeGreaterThan(index.rarity("rop"));
});

test("equal documents stand in the order in which they came", () => {
  const index = indexOf(["two anchors", "other", "two anchors", "two anchors"]);
  expect(search(index, "two anchors")).toEqual([0, 2, 3]);
  expect(ranked(index.scores(new Map([["anchor", 1]])), 2)).toEqual([0, 2]);
});

test("an empty index, an empty query and empty documents are no trouble", () => {
  expect(search(buildTermIndex([]), "anything")).toEqual([]);
  const index = indexOf(["", "…", "word"]);
  expect(search(index, "")).toEqual([]);
  expect(search(index, "word")).toEqual([2]);
});

test("scores are finite, never negative, and the same for the same question", () => {
  const words = fc.array(fc.constantFrom("load", "deck", "ship", "sea", "sail"), { maxLength: 8 });
  fc.assert(
    fc.property(fc.array(words, { maxLength: 12 }), words, (documents, query) => {
      const index = indexOf(documents.map((document) => document.join(" ")));
      const weights = new Map(query.map((term) => [term, 1]));
      const scores = index.scores(weights);
      expect(index.scores(weights)).toEqual(scores);
      for (const [document, score] of scores.entries()) {
        expect(score >= 0 && Number.isFinite(score)).toBe(true);
        const isShared = query.some((term) => documents[document]?.includes(term));
        expect(score > 0).toBe(isShared);
      }
    }),
    tries({ runs: 200, seed: 2 }),
  );
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { sentencesIn } from "./sentences.ts";

it.each([
  ["One is here. Two is there! Three?", ["One is here. ", "Two is there! ", "Three?"]],
  [
    "The version is 1.2.3 and src/a.ts is small. Yes.",
    ["The version is 1.2.3 and src/a.ts is small. ", "Yes."],
  ],
  ["Some files, e.g. this one, stay.", ["Some files, e.g. this one, stay."]],
  ['He said "no". "Why" was not asked.', ['He said "no". ', '"Why" was not asked.']],
  ["船が港に入る。貨物を降ろす！終わり", ["船が港に入る。", "貨物を降ろす！", "終わり"]],
  ["Größe zählt. Ölstand auch.", ["Größe zählt. ", "Ölstand auch."]],
])("ends %j where a reader would", (text, sentences) => {
  expect(sentencesIn(text)).toEqual(sentences);
});

it("does not end a sentence where its line was wrapped", () => {
  expect(sentencesIn("A line that\nwas wrapped here.\nAnother one\n")).toEqual([
    "A line that\nwas wrapped here.\n",
    "Another one\n",
  ]);
});

it("ends a sentence with its line where the next line begins anew", () => {
  expect(sentencesIn("Load list  \nCargo: wool\nowner: unknown:\nlast")).toEqual([
    "Load list  \n",
    "Cargo: wool\nowner: unknown:\n",
    "last",
  ]);
});

it("takes any word for the beginning of a sentence where people do not write capitals", () => {
  const text = "find a route. book a hotel? v1.2 is fine";
  expect(sentencesIn(text)).toEqual([text]);
  expect(sentencesIn(text, "any")).toEqual(["find a route. ", "book a hotel? ", "v1.2 is fine"]);
});

it("loses nothing of any text", () => {
  const some = fc.array(
    fc.constantFrom(". ", "\n", "! A", "。", "x", " ", "\ud800", "😀", "a.b", ": \n\n"),
  );
  fc.assert(
    fc.property(some, fc.constantFrom("capital" as const, "any" as const), (parts, next) => {
      const text = parts.join("");
      const sentences = sentencesIn(text, next);
      expect(sentences.join("")).toBe(text);
      expect(sentences).not.toContain("");
    }),
  );
});

it.each(["Thank you, Mr. Smith is here.", "See e.g. The Times.", "Dr. Who came. "])(
  "does not end a sentence after a title or another abbreviation: %j",
  (text) => {
    expect(sentencesIn(text)).toHaveLength(1);
  },
);

import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { plainWords, stem, tellingWords, termsOf } from "./words.ts";

test("identifiers are found by their parts and as a whole", () => {
  expect(termsOf("parseHTMLBody")).toEqual(["parsehtmlbody", "pars", "html", "body"]);
  expect(termsOf("max_retry_count")).toEqual(["max_retry_count", "max", "retry", "count"]);
  expect(termsOf("data-table")).toEqual(["data-table", "data", "tabl"]);
});

test("a path is found by the path, its file, and the words in it", () => {
  const terms = termsOf("see src/wire/openai_chat.ts:12");
  for (const term of ["src/wire/openai_chat.ts:12", "wir", "openai_chat", "openai", "chat", "12"]) {
    expect(terms).toContain(term);
  }
});

test("numbers, dates and ids are kept", () => {
  expect(termsOf("HAT028 on 2024-05-21 for 140")).toEqual(
    expect.arrayContaining(["hat028", "2024-05-21", "2024", "140"]),
  );
});

test.each([
  ["walks", "walked", "walking", "walk"],
  ["stops", "stopped", "stopping", "stop"],
  ["makes", "making", "make"],
  ["tries", "tried", "try"],
  ["passes", "passed", "passing", "pass"],
  ["boxes", "boxed", "box"],
])("forms of one word meet: %s, %s, …", (...forms) => {
  expect(new Set(forms.filter((form) => form !== "tried").map(stem)).size).toBe(1);
});

test("short words and those that only end like a form stay as they are", () => {
  for (const word of ["bus", "this", "ring", "bed", "class", "fly", "us"]) {
    expect(stem(word)).toBe(word);
  }
});

test("stop words say nothing", () => {
  expect(termsOf("What is it that you have there?")).toEqual([]);
  expect(plainWords("What is the LoadLine of it?")).toEqual(["load", "line"]);
});

test("scripts without spaces are found by pairs of characters", () => {
  expect(termsOf("東京都庁")).toEqual(["東京", "京都", "都庁"]);
  expect(termsOf("日")).toEqual(["日"]);
  expect(termsOf("Plimsoll線とは")).toEqual(expect.arrayContaining(["線と", "とは", "plimsoll"]));
});

test("letters with accents and other alphabets are words; width and composition do not matter", () => {
  expect(termsOf("Überprüfung Привет café")).toEqual(["überprüfung", "привет", "café"]);
  expect(termsOf("cafe\u0301 ＡＢＣ")).toEqual(termsOf("café ABC"));
});

test("data in long runs makes no terms", () => {
  expect(termsOf("Q".repeat(10_000))).toEqual([]);
});

test("any text has terms, the same every time, none of them blank or endless", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      const terms = termsOf(text);
      expect(termsOf(text)).toEqual(terms);
      for (const term of terms) {
        expect(term.trim()).not.toBe("");
        expect(term.length).toBeLessThanOrEqual(128);
      }
    }),
    tries({ runs: 200, seed: 1 }),
  );
});

test("the words that tell one turn from another are long and distinct, and no common ones", () => {
  expect(
    tellingWords("We anchored the ships today; anchoring ships takes time, I think. Größe!"),
  ).toEqual(["anchor", "ships", "takes", "größe"]);
});

test("a search may ask for words that are too common to tell turns apart", () => {
  expect(tellingWords("find something")).toEqual([]);
  expect(termsOf("find something")).toEqual(["find", "someth"]);
});

import { expect, test } from "vitest";
import { cutText, markWords, sizeWords, wordsOf } from "./text-pieces.ts";

const marked = (text: string, query: string): string =>
  markWords(text, wordsOf(query))
    .map((piece) => (piece.isHit ? `[${piece.text}]` : piece.text))
    .join("");

test("a long text is cut, and says how much is left", () => {
  expect(cutText("abcdef", 4)).toEqual({ text: "abcd", left: 2 });
  expect(cutText("abc", 4)).toEqual({ text: "abc", left: 0 });
});

test("a character of two halves is not torn apart", () => {
  expect(cutText("ab😀cd", 3)).toEqual({ text: "ab", left: 4 });
  expect(cutText("ab😀cd", 4)).toEqual({ text: "ab😀", left: 2 });
});

test.each([
  [65_536, "64 K"],
  [3_250_585, "3.1 M"],
  [999, "999"],
  [1536, "1.5 K"],
  [40_000_000, "38 M"],
])("%i characters are told as %s", (chars, words) => {
  expect(sizeWords(chars)).toBe(words);
});

test("the words of a query are marked wherever they stand, whatever their case", () => {
  expect(marked("Retry the retry_policy", "RETRY")).toBe("[Retry] the [retry]_policy");
});

test("hits that touch or overlap are one", () => {
  expect(marked("foobar", "foo bar")).toBe("[foobar]");
  expect(marked("abcabc", "abca")).toBe("[abca]bc");
});

test("signs that mean something in regular expressions or markup are only signs", () => {
  expect(marked("a <b>(.*)+$</b>", "<b> .*")).toBe("a [<b>]([.*])+$</b>");
  expect(marked("nothing", "")).toBe("nothing");
});

test("letters that grow in lower case do not shift the marks", () => {
  expect(marked("İİİ path here", "path")).toBe("İİİ [path] here");
});

test("a hostile text of one letter a million times is marked within its bound, and nothing of it is lost", () => {
  const text = "aa".repeat(500_000);
  const pieces = markWords(text, ["aa", "a a"]);
  expect(pieces.reduce((sum, piece) => sum + piece.text.length, 0)).toBe(text.length);
});

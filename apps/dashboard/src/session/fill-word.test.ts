import { expect, test } from "vitest";
import { share } from "../format.ts";
import { fillWord } from "./fill-word.ts";

test("a window is near its limit from the threshold of the settings on, and full at the limit", () => {
  const at = (threshold: number): readonly string[] =>
    [0.5, 0.6, 0.96, 1, 1.2].map((filled) => fillWord(filled, threshold).word);
  expect(at(0.6)).toEqual(["Normal", "Near the limit", "Near the limit", "Full", "Full"]);
  expect(at(0.97)).toEqual(["Normal", "Normal", "Normal", "Full", "Full"]);
});

test("the share that stands beside the word is on the same side of the threshold", () => {
  const beside = (filled: number): string => `${share(filled)} ${fillWord(filled, 0.8).word}`;
  expect([0.7951, 0.7999, 0.8].map(beside)).toEqual([
    "79% Normal",
    "79% Normal",
    "80% Near the limit",
  ]);
});

import { expect, test } from "vitest";
import { grouped } from "../text/digits.ts";
import { brief, wholePercent, windowWords } from "./figures.ts";

test("counts are exact up to a million", () => {
  expect([0, 999, 12_345, 999_999, 1_000_049, 81_204_112, 3_400_000_000].map(brief)).toEqual([
    "0",
    "999",
    "12,345",
    "999,999",
    "1.0M",
    "81.2M",
    "3.4B",
  ]);
});

test("a share just below a threshold does not look as if it had reached it", () => {
  expect([0, 0.29, 0.57, 0.7999, 0.8, 0.9999, 1, 1.2].map(wholePercent)).toEqual([
    0, 29, 57, 79, 80, 99, 100, 120,
  ]);
});

test("a window whose size nobody has told is said to be a guess", () => {
  expect(windowWords({ window: 200_000 }, grouped)).toBe("200,000");
  expect(windowWords({ window: 131_072, isWindowGuess: true }, grouped)).toBe("131,072 (a guess)");
});

import { expect, test } from "vitest";
import { brief } from "./figures.ts";

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

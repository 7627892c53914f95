import { expect, it } from "vitest";
import { grouped } from "./digits.ts";

it.each([
  [0, "0"],
  [999, "999"],
  [1000, "1,000"],
  [48_231, "48,231"],
  [1_234_567_890, "1,234,567,890"],
  [-1234, "-1,234"],
  [1234.5678, "1,235"],
])("writes %d as %s", (count, text) => {
  expect(grouped(count)).toBe(text);
});

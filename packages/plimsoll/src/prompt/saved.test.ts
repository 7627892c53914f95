import { expect, test } from "vitest";
import { savedTokensOf } from "./saved.ts";

test.each([
  ["what was left out of a request that fits counts", 900, 400, 1000, 500],
  ["what no window takes counts as nothing", 9000, 400, 1000, 600],
  ["a request that Plimsoll made longer saves nothing", 400, 410, 1000, 0],
  ["without a window the whole request counts", 9000, 400, undefined, 8600],
] as const)("%s", (_, tokensBefore, tokensAfter, window, saved) => {
  expect(savedTokensOf({ tokensBefore, tokensAfter, window })).toBe(saved);
});

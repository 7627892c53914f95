import { expect, test } from "vitest";
import { savedTokensOf } from "./saved.ts";

test("what was left out of a request that fits counts", () => {
  expect(savedTokensOf({ tokensBefore: 900, tokensAfter: 400, window: 1000 })).toBe(500);
});

test("what no window takes counts as nothing", () => {
  expect(savedTokensOf({ tokensBefore: 9000, tokensAfter: 400, window: 1000 })).toBe(600);
});

test("a request that Plimsoll made longer saves nothing", () => {
  expect(savedTokensOf({ tokensBefore: 400, tokensAfter: 410, window: 1000 })).toBe(0);
});

test("without a known window the whole request counts", () => {
  expect(savedTokensOf({ tokensBefore: 9000, tokensAfter: 400 })).toBe(8600);
});

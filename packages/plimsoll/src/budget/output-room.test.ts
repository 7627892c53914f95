import fc from "fast-check";
import { expect, test } from "vitest";
import { findModel } from "./catalogue.ts";
import { resolveLimit } from "./limit.ts";
import { fitOutput as roomFor } from "./output-room.ts";

const limitOf = (contextWindow: number, requestMaxOutput: number) =>
  resolveLimit({ model: { contextWindow }, facts: findModel("x", "y"), requestMaxOutput });

const fitOutput = (
  requested: Parameters<typeof roomFor>[0],
  limit: ReturnType<typeof limitOf>,
  tokens: number,
  least = 0,
) => roomFor(requested, limit, { tokens, least, most: tokens, isGuess: false });

test("an answer may be as long as its client wishes while the window holds both", () => {
  const limit = limitOf(65_536, 32_000);
  expect(fitOutput({ maxTokens: 32_000 }, limit, 33_369)).toEqual({ maxTokens: 32_000 });
});

test("otherwise it gets what is left beside the buffer, or three quarters of it", () => {
  const requested = { maxTokens: 32_000 };
  const limit = limitOf(65_536, 32_000);
  expect(fitOutput(requested, limit, 34_000, 34_000)).toEqual({ maxTokens: 23_524 });
  expect(fitOutput(requested, limit, 60_000, 59_000)).toEqual({ maxTokens: 3927 });
  expect(fitOutput(requested, limit, 64_000, 63_500)).toEqual({ maxTokens: 1024 });
});

test("an answer that just fits is shorter where new words may take as many tokens as the worst before", () => {
  const limit = limitOf(8192, 2048);
  const input = { tokens: 5800, least: 5000, most: 6300, isGuess: false };
  expect(roomFor({ maxTokens: 2048 }, limit, input)).toEqual({ maxTokens: 1860 });
  expect(roomFor({ maxTokens: 1500 }, limit, input)).toEqual({ maxTokens: 1500 });
});

test("on a guess it is as long as the reserve, unless it is known that there is less room", () => {
  const requested = { maxTokens: 32_000 };
  const limit = limitOf(65_536, 32_000);
  const guess = (tokens: number, least: number) =>
    roomFor(requested, limit, { tokens, least, most: tokens, isGuess: true });
  expect(guess(60_000, 24_000)).toEqual({ maxTokens: 16_384 });
  expect(guess(80_000, 60_000)).toEqual({ maxTokens: 5536 });
  expect(fitOutput(requested, limit, 50_000, 24_000)).toEqual({ maxTokens: 11_464 });
});

test("where the count leaves a little less than the shortest useful answer, that is asked for", () => {
  expect(fitOutput({ maxTokens: 32_000 }, limitOf(8192, 32_000), 7143, 6920)).toEqual({
    maxTokens: 1024,
  });
});

test("where the count leaves no room for an answer, the lowest plausible one does", () => {
  expect(fitOutput({ maxTokens: 32_000 }, limitOf(65_536, 32_000), 65_000, 63_000)).toEqual({
    maxTokens: 2536,
  });
});

test("less than sixteen tokens are never asked for", () => {
  const limit = limitOf(65_536, 32_000);
  expect(fitOutput({ maxTokens: 32_000 }, limit, 65_530, 65_530)).toEqual({ maxTokens: 16 });
});

test("more than the window is never asked for", () => {
  expect(fitOutput({ maxTokens: 64_000 }, limitOf(60_000, 64_000), 10_000).maxTokens).toBe(42_450);
});

test("a thinking budget is halved first, and the answer stays longer than it", () => {
  const requested = { maxTokens: 32_000, thinkingTokens: 31_999 };
  expect(fitOutput(requested, limitOf(60_000, 32_000), 40_000)).toEqual({
    maxTokens: 14_850,
    thinkingTokens: 7999,
  });
  expect(fitOutput({ maxTokens: 4000, thinkingTokens: 3000 }, limitOf(8192, 4000), 8000)).toEqual({
    maxTokens: 2048,
    thinkingTokens: 1500,
  });
  expect(fitOutput({ maxTokens: 2000, thinkingTokens: 1999 }, limitOf(4096, 2000), 4000)).toEqual({
    maxTokens: 1025,
    thinkingTokens: 1024,
  });
});

test("a thinking budget over the length of the answer is left as it is, and the answer is not made longer", () => {
  const requested = { maxTokens: 1000, thinkingTokens: 4000 };
  expect(fitOutput(requested, limitOf(4096, 1000), 3500)).toEqual({
    maxTokens: 1000,
    thinkingTokens: 4000,
  });
});

test("whatever is asked for, what goes out is no more than that, and valid", () => {
  const size = fc.integer({ min: 1025, max: 300_000 });
  fc.assert(
    fc.property(size, size, size, fc.boolean(), (window, maxTokens, input, thinks) => {
      const requested = { maxTokens, ...(thinks ? { thinkingTokens: maxTokens - 1 } : {}) };
      const sent = fitOutput(requested, limitOf(window, maxTokens), input);
      expect(sent.maxTokens).toBeLessThanOrEqual(maxTokens);
      expect(sent.maxTokens).toBeGreaterThan(sent.thinkingTokens ?? 0);
      if (thinks) expect(sent.thinkingTokens).toBeGreaterThanOrEqual(1024);
    }),
  );
});

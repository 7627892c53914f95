import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findModel } from "./catalogue.ts";
import { narrowLimit, resolveLimit } from "./limit.ts";

const unknown = findModel("acme", "rocket-1");

describe("the limit", () => {
  it("of the worked example is 103,424", () => {
    const model = {
      contextWindow: 128_000,
      contextWindowBufferTokens: 8_192,
      maxOutputTokens: 16_384,
    };
    expect(resolveLimit({ model, facts: unknown }).limit).toBe(103_424);
  });

  it("of an unknown model is its default window less buffer and a quarter", () => {
    expect(resolveLimit({ facts: unknown })).toEqual({
      window: 131_072,
      named: Number.POSITIVE_INFINITY,
      buffer: 8_192,
      maxOutput: 32_768,
      reserve: 32_768,
      limit: 90_112,
      windowSource: "fallback",
    });
  });

  it("takes each figure from the nearest level that has it", () => {
    const levels = {
      model: { maxOutputTokens: 1 },
      provider: { contextWindow: 50_000, maxOutputTokens: 2 },
      defaults: { contextWindow: 60_000, contextWindowBufferTokens: 3, maxOutputTokens: 4 },
      facts: findModel("openai", "gpt-4o"),
    };
    expect(resolveLimit(levels)).toEqual({
      window: 50_000,
      named: 50_000,
      buffer: 3,
      maxOutput: 1,
      longest: 1,
      reserve: 1,
      limit: 49_996,
      windowSource: "provider",
    });
    expect(resolveLimit({ ...levels, requestMaxOutput: 9 }).maxOutput).toBe(9);
    expect(resolveLimit({ ...levels, model: { contextWindow: 10 } }).windowSource).toBe("model");
    const withoutProvider = { ...levels, provider: {} };
    expect(resolveLimit({ ...withoutProvider, facts: unknown }).windowSource).toBe("defaults");
    expect(resolveLimit(withoutProvider).windowSource).toBe("catalogue");
    expect(resolveLimit({ facts: levels.facts }).windowSource).toBe("catalogue");
  });

  it("reserves what the model can answer, but no more than a quarter of the window", () => {
    expect(resolveLimit({ facts: findModel("openai", "gpt-4o") }).reserve).toBe(16_384);
    expect(resolveLimit({ facts: findModel("openai", "gpt-5") }).reserve).toBe(100_000);
  });

  it("reserves what a client allows for an answer, but no more than a quarter of the window", () => {
    const asked = { model: { contextWindow: 65_536 }, facts: unknown, requestMaxOutput: 32_000 };
    expect(resolveLimit(asked)).toMatchObject({
      maxOutput: 32_000,
      reserve: 16_384,
      limit: 40_960,
    });
    expect(resolveLimit({ ...asked, requestMaxOutput: 4_000 }).reserve).toBe(4_000);
  });

  it("leaves most of a small window when nothing is configured", () => {
    expect(resolveLimit({ facts: findModel("openai", "gpt-4") })).toMatchObject({
      window: 8_192,
      buffer: 1_024,
      reserve: 2_048,
      limit: 5_120,
    });
  });

  it("contextWindowBufferTokens … 8,192 is subtracted as it is if the configuration names it, also from a small window", () => {
    const facts = findModel("openai", "gpt-4");
    const defaults = { contextWindowBufferTokens: 8_192 };
    expect(resolveLimit({ facts, defaults })).toMatchObject({ buffer: 8_192, limit: 0 });
  });

  it("is never negative", () => {
    const size = fc.nat({ max: 2_000_000 });
    fc.assert(
      fc.property(size, size, size, (contextWindow, contextWindowBufferTokens, maxOutputTokens) => {
        const model = { contextWindow, contextWindowBufferTokens, maxOutputTokens };
        const { limit } = resolveLimit({ model, facts: unknown });
        expect(limit).toBe(
          Math.max(0, contextWindow - contextWindowBufferTokens - maxOutputTokens),
        );
      }),
    );
  });
});

describe("a smaller window that the provider names", () => {
  const model = { contextWindow: 64_000, contextWindowBufferTokens: 8_192, maxOutputTokens: 1_000 };

  it("leaves a configured buffer as it is with strict_limit", () => {
    const limit = resolveLimit({ model, facts: unknown, isStrict: true });
    expect(narrowLimit(limit, 16_000, "named")).toMatchObject({ buffer: 8_192, limit: 6_808 });
  });

  it.each([
    ["without strict_limit", { model, facts: unknown }],
    [
      "if nobody configured it",
      { model: { contextWindow: 64_000 }, facts: unknown, isStrict: true },
    ],
  ])("makes the buffer smaller %s", (_, input) => {
    expect(narrowLimit(resolveLimit(input), 16_000, "named").buffer).toBe(2_000);
  });
});

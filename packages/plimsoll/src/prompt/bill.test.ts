import { describe, expect, it } from "vitest";
import { billedOf, costOf } from "./bill.ts";
import { priceListOf } from "./prices.ts";

const sonnet = priceListOf("anthropic", "claude-sonnet-4-5");
const million = 1_000_000;

describe("a bill", () => {
  it("has each kind of token at its own price", () => {
    const tokens = { fresh: million, cacheRead: million, cacheWrite: million, output: million };
    expect(costOf(tokens, sonnet)).toBeCloseTo(3 + 0.3 + 3.75 + 15);
    expect(costOf({ ...tokens, cacheWriteLong: million }, sonnet)).toBeCloseTo(22.05 + 6);
  });

  it("is unknown without prices, or when one part has none", () => {
    const tokens = { fresh: 1, cacheRead: 0, cacheWrite: 0, output: 0 };
    expect(costOf(tokens, priceListOf("acme", "rocket-1"))).toBeUndefined();
    const gpt = priceListOf("openai", "gpt-4.1");
    expect(costOf({ ...tokens, cacheWriteLong: 5 }, gpt)).toBeUndefined();
    expect(costOf({ ...tokens, cacheWriteLong: 0 }, gpt)).toBeDefined();
  });

  it("splits the input without overlap", () => {
    const usage = {
      inputTokens: 100,
      outputTokens: 7,
      cacheReadTokens: 60,
      cacheWriteTokens: 30,
    };
    expect(billedOf(usage)).toEqual({ fresh: 10, cacheRead: 60, cacheWrite: 30, output: 7 });
  });

  it("takes what a provider does not report as fresh", () => {
    expect(billedOf({ inputTokens: 100, outputTokens: 7 })).toEqual({
      fresh: 100,
      cacheRead: 0,
      cacheWrite: 0,
      output: 7,
    });
  });

  it("never bills more input than was read, whatever a provider reports", () => {
    const odd = { inputTokens: 50, outputTokens: 0, cacheReadTokens: 60, cacheWriteTokens: 10 };
    expect(billedOf(odd)).toEqual({ fresh: 0, cacheRead: 50, cacheWrite: 0, output: 0 });
  });
});

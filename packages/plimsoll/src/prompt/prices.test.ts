import { describe, expect, it } from "vitest";
import { priceRows } from "./price-rows.ts";
import { priceListOf } from "./prices.ts";

describe("prices of models", () => {
  it.each([
    ["claude-sonnet-4-5-20250929", 3, 0.3, 3.75, 15],
    ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", 3, 0.3, 3.75, 15],
    ["claude-opus-4-20250514", 15, 1.5, 18.75, 75],
    ["claude-opus-4-7@20260416", 5, 0.5, 6.25, 25],
    ["claude-opus-5-20260724", 5, 0.5, 6.25, 25],
    ["claude-opus-5-5", 4, 0.2, 5, 20],
    ["claude-sonnet-5", 2, 0.2, 2.5, 10],
    ["claude-fable-5", 10, 1, 12.5, 50],
    ["claude-fable-5-1", 10, 0.25, 12.5, 50],
    ["claude-3-haiku-20240307", 0.25, 0.03, 0.3, 1.25],
    ["claude-3-5-haiku-latest", 0.8, 0.08, 1, 4],
    ["openai/gpt-4.1", 2, 0.5, 2, 8],
    ["gpt-4.1-mini-2025-04-14", 0.4, 0.1, 0.4, 1.6],
    ["gpt-4o-2024-11-20", 2.5, 1.25, 2.5, 10],
    ["gpt-5-2025-08-07", 1.25, 0.125, 1.25, 10],
    ["gpt-5.1-codex-mini", 0.25, 0.025, 0.25, 2],
    ["gpt-5.2-2025-12-11", 1.75, 0.175, 1.75, 14],
    ["gpt-5.3-codex", 1.75, 0.175, 1.75, 14],
    ["gpt-5.4-mini", 0.75, 0.075, 0.75, 4.5],
    ["gpt-5.6", 4, 0.4, 5, 20],
    ["gpt-5.6-terra", 2, 0.2, 2.5, 12],
    ["o3-mini", 1.1, 0.55, 1.1, 4.4],
    ["o1-2024-12-17", 15, 7.5, 15, 60],
    ["models/gemini-2.5-pro", 1.25, 0.125, 1.25, 10],
    ["gemini-3.1-pro-preview", 2, 0.2, 2, 12],
    ["deepseek-v4-pro", 0.66, 0.022, 0.66, 1.98],
  ] as const)("of %s", (...[model, input, cacheRead, cacheWrite, output]) => {
    const { prices } = priceListOf("any", model);
    expect(prices).toMatchObject({ input, cacheRead, cacheWrite, output });
  });

  it("are unknown, never zero, where no source names them", () => {
    const models = ["rocket-1", "gpt-5-pro", "gpt-6-astra", "gemini-3.8-flash", "claude-next-9"];
    for (const model of models) expect(priceListOf("any", model).prices).toBeUndefined();
    const figures = priceRows.flatMap(({ list }) => Object.values(list.prices ?? {}));
    expect(figures.every((usd) => usd > 0)).toBe(true);
  });

  it("are unknown of a model on the user's own machine, whatever it is called", () => {
    const list = priceListOf("ollama", "deepseek-v4-flash");
    expect(list.prices).toBeUndefined();
    expect(list.cache).toEqual({ kind: "unknown" });
  });

  it("come with a source and a date each, and a read never costs more than a write", () => {
    for (const { match, list } of priceRows) {
      expect(list.source, String(match)).not.toBe("");
      expect(list.date, String(match)).toMatch(/^\d{4}-\d\d$/);
      if (list.prices === undefined) continue;
      expect(list.prices.cacheRead).toBeLessThan(list.prices.input);
      expect(list.prices.cacheWrite).toBeGreaterThanOrEqual(list.prices.input);
    }
  });
});

describe("caches of providers", () => {
  it("are known of a model without a price, by its provider", () => {
    expect(priceListOf("openai", "house-model").cache).toMatchObject({ kind: "automatic" });
    expect(priceListOf("anthropic", "house-model").cache).toMatchObject({
      kind: "marks",
      minTokens: 4_096,
    });
    expect(priceListOf("acme", "house-model").cache).toEqual({ kind: "unknown" });
  });

  it("have the larger minimum where sources differ", () => {
    const least = (model: string): unknown => priceListOf("any", model).cache;
    expect(least("claude-sonnet-4-6")).toMatchObject({ minTokens: 2_048 });
    expect(least("claude-opus-4-8")).toMatchObject({ minTokens: 4_096 });
    expect(least("claude-sonnet-4-5")).toMatchObject({ minTokens: 1_024 });
  });
});

describe("prices of the settings", () => {
  it("replace what they name, and nothing else", () => {
    const list = priceListOf("any", "claude-sonnet-4-5", { input: 1, cache_min_tokens: 500 });
    expect(list.prices).toEqual({
      input: 1,
      output: 15,
      cacheRead: 0.3,
      cacheWrite: 3.75,
      cacheWriteLong: 6,
    });
    expect(list.cache).toMatchObject({ minTokens: 500, ttlSeconds: 300 });
    expect(list.source).toContain("settings");
  });

  it("are none as long as one is missing", () => {
    expect(priceListOf("acme", "rocket-1", { input: 1, output: 2 }).prices).toBeUndefined();
    const whole = { input: 1, output: 2, cache_read: 0.1, cache_write: 1.5 };
    expect(priceListOf("acme", "rocket-1", whole).prices).toEqual({
      input: 1,
      output: 2,
      cacheRead: 0.1,
      cacheWrite: 1.5,
    });
  });

  it("bill what is written as input where writing has no price", () => {
    expect(priceListOf("any", "gpt-4.1", { input: 1 }).prices?.cacheWrite).toBe(1);
    const charged = priceListOf("any", "gpt-4.1", { input: 1, cache_write: 1.5 });
    expect(charged.prices?.cacheWrite).toBe(1.5);
    expect(charged.cache).toMatchObject({ hasWritePrice: true });
  });
});

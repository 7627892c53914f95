import { describe, expect, it } from "vitest";
import { findModel } from "./catalogue.ts";
import { loadTokenizer } from "./tokenizer.ts";

describe("the catalogue", () => {
  it.each([
    ["claude-3-opus-20240229", 200_000, 4_096],
    ["claude-3-5-sonnet-20241022", 200_000, 8_192],
    ["claude-3-7-sonnet-latest", 200_000, 64_000],
    ["claude-opus-4-20250514", 200_000, 32_000],
    ["claude-opus-4-1-20250805", 200_000, 32_000],
    ["claude-sonnet-4-20250514", 200_000, 64_000],
    ["claude-sonnet-4-5-20250929", 200_000, 64_000],
    ["claude-haiku-4-5", 200_000, 64_000],
    ["claude-opus-4-6", 1_000_000, 128_000],
    ["claude-opus-4-7", 1_000_000, 128_000],
    ["claude-opus-5-5", 1_000_000, 128_000],
    ["claude-sonnet-5", 1_000_000, 128_000],
    ["claude-fable-5-1", 1_000_000, 128_000],
    ["gpt-3.5-turbo", 16_385, 4_096],
    ["gpt-4", 8_192, 8_192],
    ["gpt-4-0613", 8_192, 8_192],
    ["gpt-4-1106-preview", 128_000, 4_096],
    ["gpt-4-turbo-2024-04-09", 128_000, 4_096],
    ["gpt-4o-2024-11-20", 128_000, 16_384],
    ["gpt-4.1-2025-04-14", 1_047_576, 32_768],
    ["gpt-4.1-mini", 1_047_576, 32_768],
    ["o3-mini", 200_000, 100_000],
    ["gpt-5-2025-08-07", 400_000, 128_000],
    ["gpt-5-mini", 400_000, 128_000],
    ["gpt-5.1-codex-mini", 400_000, 128_000],
    ["gpt-5.2-2025-12-11", 400_000, 128_000],
    ["gpt-5.2-chat-latest", 128_000, 16_384],
    ["gpt-5.4-2026-03-05", 1_050_000, 128_000],
    ["gpt-5.4-mini", 400_000, 128_000],
    ["gpt-5.6-cyber", 400_000, 128_000],
    ["gpt-6-astra", 1_050_000, 128_000],
    ["gpt-6-luna", 1_050_000, 128_000],
    ["gpt-6.1-sol", 1_050_000, 128_000],
    ["openai/gpt-6.1-terra", 1_050_000, 128_000],
    ["gpt-daybreak-blue-latest", 1_050_000, 128_000],
    ["gpt-daybreak-red-latest", 372_000, 128_000],
    ["gpt-oss-120b", 131_072, 131_072],
    ["gemini-1.5-pro-002", 2_097_152, 8_192],
    ["gemini-2.0-flash", 1_048_576, 8_192],
    ["gemini-2.5-pro", 1_048_576, 65_536],
    ["gemini-3.1-pro-preview", 1_048_576, 65_536],
    ["llama-3.3-70b-versatile", 131_072, 32_768],
    ["deepseek-chat", 128_000, 8_192],
  ])("knows %s", (model, contextWindow, maxOutputTokens) => {
    expect(findModel("any", model)).toMatchObject({ contextWindow, maxOutputTokens, known: true });
  });

  it.each([
    ["anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"],
    ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"],
    ["claude-opus-4-7@20260416", "claude-opus-4-7"],
    ["openai/gpt-4o", "gpt-4o"],
    ["models/gemini-2.5-pro", "gemini-2.5-pro"],
    ["GPT-4o", "gpt-4o"],
  ])("takes %s for what it is", (alias, model) => {
    expect(findModel("reseller", alias)).toEqual(findModel("reseller", model));
  });

  it("gives a Claude model the long window when its name asks for it", () => {
    expect(findModel("anthropic", "claude-sonnet-4-5[1m]").contextWindow).toBe(1_000_000);
    expect(findModel("openai", "gpt-4o[1m]").contextWindow).toBe(128_000);
  });

  it("says of an unknown model that it is unknown", () => {
    expect(findModel("acme", "rocket-1")).toMatchObject({
      provider: "acme",
      contextWindow: 131_072,
      maxOutputTokens: 32_768,
      tokenizer: "estimate",
      known: false,
    });
  });

  it("names only tokenizers that can be loaded, with the factor of the model", async () => {
    const models = [
      "claude-3-opus",
      "claude-opus-5",
      "gpt-4",
      "gpt-5",
      "gemini-3-pro",
      "qwen2.5-72b",
      "unknown",
    ];
    const text = "The load line of a ship. ".repeat(100);
    const plain = (await loadTokenizer("tiktoken:o200k_base")).count(text).tokens;
    for (const model of models) {
      const facts = findModel("any", model);
      const { tokens } = (await loadTokenizer(facts.tokenizer)).count(text);
      expect(tokens / plain).toBeGreaterThanOrEqual(facts.tokenFactor * 0.95);
      expect(tokens / plain).toBeLessThanOrEqual(facts.tokenFactor * 1.05);
    }
  });
});

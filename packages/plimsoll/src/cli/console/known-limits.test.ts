import { expect, test } from "vitest";
import type { Config } from "../../config/schema.ts";
import { knownLimits, usualLimits } from "./known-limits.ts";

test("without a configuration, the usual models have the budget of their window or price step", () => {
  expect(knownLimits({})).toEqual([
    "claude-opus-5-5: 200,000 tokens of a window of 1,000,000 (agent.context_budget: auto)",
    "claude-sonnet-5: 200,000 tokens of a window of 1,000,000 (agent.context_budget: auto)",
    "claude-haiku-4-5: 141,808 tokens of a window of 200,000",
    "gpt-6-sol: 272,000 tokens of a window of 1,050,000 (agent.context_budget: auto)",
    "gpt-5.1: 200,000 tokens of a window of 400,000 (agent.context_budget: auto)",
    "gemini-3-pro: 200,000 tokens of a window of 1,048,576 (agent.context_budget: auto)",
    "other models: unknown until the provider names the window; until then there is no limit",
  ]);
});

test.each<readonly [string, Config, readonly string[]]>([
  [
    "the window",
    { agent: { context_budget: "window" } },
    ["gemini-3-pro: 974,848 tokens of a window of 1,048,576"],
  ],
  [
    "a number",
    { agent: { context_budget: 90_000 } },
    ["gemini-3-pro: 90,000 tokens of a window of 1,048,576 (agent.context_budget)"],
  ],
  [
    "a limit for the model",
    { context_config: { per_llm: [{ type: "gemini", limit: 300_000 }] } },
    ["gemini-3-pro: 300,000 tokens of a window of 1,048,576 (context_config.per_llm)"],
  ],
  [
    "a smaller window",
    { providers: { gemini: { contextWindow: 60_000 } } },
    ["gemini-3-pro: 37,500 tokens of a window of 60,000"],
  ],
])("a configuration with %s", (_name, config, limits) => {
  expect(usualLimits(config, "gemini")).toEqual(limits);
});

test("a budget in tokens holds for models that nobody knows", () => {
  expect(knownLimits({ agent: { context_budget: 90_000 } }).at(-1)).toBe(
    "other models: 90,000 tokens of an unknown window (agent.context_budget)",
  );
});

test("the models and servers of the configuration are there too, known or not", () => {
  const baseUrl = "http://127.0.0.1:11434/v1";
  const config: Config = {
    providers: {
      ollama: { wire: "openai", baseUrl },
      vllm: { wire: "openai", baseUrl, models: { "qwen3-coder": {}, mine: {} } },
      big: { wire: "openai", baseUrl, contextWindow: 500_000 },
    },
  };
  expect(knownLimits(config).slice(6, -1)).toEqual([
    "ollama: unknown until the provider names the window; until then there is no limit",
    "vllm/qwen3-coder: 188,416 tokens of a window of 262,144",
    "vllm/mine: unknown until the provider names the window; until then there is no limit",
    "big: 200,000 tokens of a window of 500,000 (agent.context_budget: auto)",
  ]);
});

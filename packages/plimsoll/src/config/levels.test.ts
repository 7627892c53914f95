import { describe, expect, test } from "vitest";
import { arrivalBytesOf, settingOf } from "./levels.ts";
import type { Config } from "./schema.ts";

const config: Config = {
  defaults: { toolResponseMaxBytes: 1, reasoning: "minimal" },
  providers: {
    openai: {
      toolResponseMaxBytes: 2,
      reasoning: "low",
      models: { "gpt-4": { toolResponseMaxBytes: 3, reasoning: "medium" } },
    },
  },
  agents: { coder: { toolResponseMaxBytes: 4, reasoning: "high" } },
};

describe("reasoning, toolsAllowed, toolsDenied, toolResponseMaxBytes and the factor, per provider, model and agent", () => {
  test.each([
    ["an agent", { agent: "coder", provider: "openai", model: "gpt-4" }, 4, "high"],
    ["a model", { agent: "other", provider: "openai", model: "gpt-4" }, 3, "medium"],
    ["a provider", { provider: "openai", model: "gpt-5" }, 2, "low"],
    ["the defaults", { provider: "gemini", model: "gpt-4" }, 1, "minimal"],
    [
      "no inherited property",
      { agent: "constructor", provider: "toString", model: "x" },
      1,
      "minimal",
    ],
  ])("the first level that has the setting decides: %s", (_name, asker, bytes, effort) => {
    expect(settingOf(config, asker, "toolResponseMaxBytes")).toBe(bytes);
    expect(settingOf(config, asker, "reasoning")).toBe(effort);
  });

  test("a level may switch a setting to 0, and no level means that none decides", () => {
    const zero: Config = { ...config, agents: { coder: { toolResponseMaxBytes: 0 } } };
    const asker = { agent: "coder", provider: "openai", model: "gpt-4" };
    expect(settingOf(zero, asker, "toolResponseMaxBytes")).toBe(0);
    expect(settingOf({}, asker, "toolResponseMaxBytes")).toBeUndefined();
  });
});

describe("offload on arrival over 4,096 or 12,288 bytes", () => {
  const asker = { provider: "openai", model: "gpt-4" };
  test.each<[string, Config, number | undefined]>([
    ["nothing is set", {}, undefined],
    ["result_offload: on-arrival", { agent: { result_offload: "on-arrival" } }, 4096],
    [
      "with a threshold",
      { agent: { result_offload: "on-arrival", result_offload_threshold: 99 } },
      99,
    ],
    ["result_offload: answered", { agent: { result_offload: "answered" } }, undefined],
    ["toolResponseMaxBytes", { defaults: { toolResponseMaxBytes: 12_288 } }, 12_288],
  ])("%s", (_name, written, bytes) => {
    expect(arrivalBytesOf(written, asker)).toBe(bytes);
  });
});

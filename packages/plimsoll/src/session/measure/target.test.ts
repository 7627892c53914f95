import { expect, test } from "vitest";
import type { Config } from "../../config/schema.ts";
import type { WireName } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";
import { createTargets } from "./target.ts";

interface Asked {
  readonly config?: Config;
  readonly provider?: string;
  readonly wire?: WireName;
  readonly model: string;
}

function targetsOf({ config = {}, provider = "openai", wire = "openai-responses", model }: Asked) {
  return createTargets(config, () => 0).candidates(provider, wires[wire], { model });
}

function isNative(asked: Asked): boolean {
  return targetsOf(asked)[0].defersNatively;
}

test.each([
  ["gpt-5.4", true],
  ["gpt-5.4-2026-03-05", true],
  ["gpt-5.5-pro", true],
  ["gpt-5.10", true],
  ["gpt-6-mini", true],
  ["gpt-5.4-nano", false],
  ["gpt-5.1", false],
  ["gpt-5", false],
  ["gpt-5-mini", false],
  ["gpt-4.1", false],
  ["gpt-35-turbo", false],
  ["o3", false],
])("OpenAI's own servers hold tools back for models that can search: %s", (model, expected) => {
  expect(isNative({ model })).toBe(expected);
});

test("on Chat nothing is held back by the provider, whatever the settings say", () => {
  const config: Config = { providers: { openai: { native_tool_deferral: true } } };
  expect(isNative({ model: "gpt-5.4", wire: "openai-chat" })).toBe(false);
  expect(isNative({ model: "gpt-5.4", wire: "openai-chat", config })).toBe(false);
});

test("other servers of a wire are asked for it, and OpenAI's own can be left out", () => {
  const baseUrl = "http://127.0.0.1:1/v1";
  const elsewhere = (settings: object): Config => ({
    providers: { openai: { baseUrl, ...settings } },
  });
  expect(isNative({ model: "gpt-5.4", config: elsewhere({}) })).toBe(false);
  expect(isNative({ model: "own", config: elsewhere({ native_tool_deferral: true }) })).toBe(true);
  const off: Config = { providers: { openai: { native_tool_deferral: false } } };
  expect(isNative({ model: "gpt-5.4", config: off })).toBe(false);
  const provider = { provider: "anthropic", wire: "anthropic" } as const;
  expect(isNative({ ...provider, model: "claude-sonnet-4-6" })).toBe(true);
  expect(isNative({ ...provider, model: "claude-3-7-sonnet-latest" })).toBe(false);
});

test("a request that may go to several models is written for all of them", () => {
  const flags = (...names: readonly string[]): readonly boolean[] =>
    targetsOf({
      model: "gpt-5.4",
      config: { targets: { "gpt-5.4": names.map((name) => `openai/${name}`) } },
    }).map(({ defersNatively }) => defersNatively);
  expect(flags("gpt-5.5")).toEqual([true, true]);
  expect(flags("gpt-5.5", "gpt-5.1")).toEqual([false, false, false]);
});

/** The model that writes the story: what a user may write, and what follows from it. */

import { expect, test } from "vitest";
import { parseConfig } from "./config.ts";
import { type SummariserChoice, summariserChoice } from "./summariser.ts";

function choice(text: string): SummariserChoice | undefined {
  return summariserChoice(parseConfig(text, "c.yaml").summariser);
}

test("there is none by default", () => {
  expect(choice("{}")).toBeUndefined();
});

test.each([
  ["anthropic/claude-haiku-4-5", "ANTHROPIC_API_KEY"],
  ["openai/gpt-5.1", "OPENAI_API_KEY"],
  ["gemini/gemini-3-pro", "GEMINI_API_KEY"],
  ["ollama/hub/llama:8b", undefined],
])("%s names a provider and a model, with the key in %s", (name, apiKeyEnv) => {
  const [provider = "", ...model] = name.split("/");
  const { prices: _, ...named } = modelIn(choice(`summariser: ${name}`));
  expect(named).toEqual({
    kind: "model",
    provider,
    model: model.join("/"),
    ...(apiKeyEnv === undefined ? {} : { apiKeyEnv }),
    bounds: {},
  });
});

test("session is the model of the conversation, with the usual limits or the user's", () => {
  expect(choice("summariser: session")).toEqual({ kind: "session", bounds: {} });
  const text = "summariser: { provider: session, maxUsdPerDay: 3, maxCallsPerHour: 2 }";
  expect(choice(text)).toEqual({
    kind: "session",
    bounds: { maxUsdPerDay: 3, maxCallsPerHour: 2 },
  });
});

test("keys name any model; its key may be in any variable", () => {
  const text =
    "summariser: { provider: compatible, model: tiny, baseUrl: 'http://127.0.0.1:1/v1', apiKeyEnv: TINY }";
  expect(choice(text)).toMatchObject({ baseUrl: "http://127.0.0.1:1/v1", apiKeyEnv: "TINY" });
  expect(choice("summariser: { provider: openai, model: gpt-5.1 }")).toMatchObject({
    apiKeyEnv: "OPENAI_API_KEY",
  });
});

test.each(["openai", "compatible"])(
  "the key of a vendor is not sent to another server: %s",
  (provider) => {
    const text = `summariser: { provider: ${provider}, model: x, baseUrl: 'http://127.0.0.1:1/v1' }`;
    expect(choice(text)).not.toHaveProperty("apiKeyEnv");
  },
);

test("a limit in money needs no prices if the price of the model is known, and the user's prices win", () => {
  const known = "summariser: { provider: anthropic, model: claude-haiku-4-5, maxUsdPerDay: 1 }";
  const { prices } = modelIn(choice(known)).prices;
  expect(prices?.input).toBeGreaterThan(0);
  const own = `${known.slice(0, -1)}, inputUsdPerMTok: 7, outputUsdPerMTok: 8 }`;
  expect(modelIn(choice(own)).prices.prices).toEqual({
    input: 7,
    output: 8,
    cacheRead: 7,
    cacheWrite: 7,
  });
});

function modelIn(given: SummariserChoice | undefined): SummariserChoice & { kind: "model" } {
  if (given?.kind !== "model") throw new Error("It is no model.");
  return given;
}

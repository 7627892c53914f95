/** What the session's own model may cost: the price of its request in the worst case, and what the provider reports. */

import { describe, expect, test } from "vitest";
import type { PriceList } from "../../prompt/price-rows.ts";
import { anthropicWire } from "../../wire/anthropic/anthropic.ts";
import type { ModelSummary } from "./bounded-call.ts";
import {
  type AnsweredRequest,
  createSessionSummariser,
  type SessionSummariser,
  type SessionSummariserSettings,
} from "./session-summariser.ts";

const prices: PriceList = {
  prices: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6, cacheWriteLong: 10 },
  cache: { kind: "unknown" },
  source: "test",
  date: "",
  priceStep: 200_000,
};

interface Trial extends Partial<AnsweredRequest> {
  readonly mark?: object;
  readonly messages?: unknown;
}

function ask(
  summariser: SessionSummariser,
  { mark, messages, ...answered }: Trial = {},
): Promise<ModelSummary> {
  const content = [{ type: "text", text: "Hi.", ...(mark && { cache_control: mark }) }];
  const body = {
    model: "m",
    max_tokens: 1_000,
    messages: messages ?? [{ role: "user", content }],
  };
  return summariser.ask({
    answered: {
      wire: anthropicWire,
      body: new TextEncoder().encode(JSON.stringify(body)),
      tokens: 99_950,
      window: 200_000,
      ownTextPlacement: "inside",
      prices,
      askAgain: async () =>
        anthropicWire.answer.read({
          type: "message",
          role: "assistant",
          content: [{ type: "text", text: "## Answered" }],
          stop_reason: "end_turn",
          usage: { input_tokens: 1_000, cache_read_input_tokens: 100_000, output_tokens: 100 },
        }),
      ...answered,
    },
    text: "?",
    textTokens: 0,
    signal: new AbortController().signal,
  });
}

function summariser(settings: SessionSummariserSettings = {}): SessionSummariser {
  return createSessionSummariser(settings, () => 0);
}

describe("money", () => {
  test("the provider's report counts, with its cached tokens", async () => {
    const own = summariser();
    expect(await ask(own)).toMatchObject({ kind: "text" });
    expect(own.spentUsdToday()).toBeCloseTo(0.005 + 0.05 + 0.0025);
  });

  test.each<[string, object | undefined, number]>([
    ["without marks all of it may be fresh", undefined, 0.525],
    ["with marks all of it may be written", { type: "ephemeral" }, 0.625],
    ["with long marks that costs more", { type: "ephemeral", ttl: "1h" }, 1.025],
  ])("before the call the worst case must fit: %s", async (_, mark, usd) => {
    const trial = mark === undefined ? {} : { mark };
    const tight = await ask(summariser({ maxUsdPerDay: usd - 0.001 }), trial);
    expect(tight).toMatchObject({ kind: "failed", reason: expect.stringContaining("per day") });
    expect(await ask(summariser({ maxUsdPerDay: usd + 0.001 }), trial)).toMatchObject({
      kind: "text",
    });
  });

  test("above the price step the price is unknown, so the model is not asked", async () => {
    const trial = { tokens: 250_000, window: 1_000_000 };
    expect(await ask(summariser({ maxUsdPerDay: 1_000 }), trial)).toMatchObject({
      kind: "failed",
      reason: expect.stringContaining("no price is known"),
    });
  });

  test("the limits are 6 calls per hour and 1 US dollar per day", async () => {
    const own = summariser();
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(own, { tokens: 10 })));
    expect(answers.map(({ kind }) => kind)).toEqual([
      ...Array.from({ length: 6 }, () => "text"),
      "failed",
      "failed",
    ]);
    expect(await ask(summariser(), { mark: { type: "ephemeral", ttl: "1h" } })).toEqual({
      kind: "failed",
      reason: "the limit of 1 USD per day would be exceeded",
    });
  });
});

test("it never rejects, whatever the body is and whatever the upstream throws", async () => {
  expect(await ask(summariser(), { messages: "Hi." })).toMatchObject({ kind: "failed" });
  const askAgain = (): Promise<never> => Promise.reject(new Error("no way there"));
  expect(await ask(summariser(), { askAgain })).toEqual({ kind: "failed", reason: "no way there" });
});

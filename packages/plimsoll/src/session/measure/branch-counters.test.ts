import { expect, test } from "vitest";
import { observe, uncalibrated } from "../../budget/calibrate.ts";
import { inProviderTokens } from "../../budget/token-scale.ts";
import { countersAfter, scaleOf } from "./branch-counters.ts";

const turn = { measurement: { total: 1000, tools: 300 }, answerTokens: 200, target: "a/b" };

test("what a provider reports takes the place of estimates", () => {
  const usage = { inputTokens: 1400, outputTokens: 90, reasoningTokens: 40 };
  expect(countersAfter(turn)).toEqual({ current: 1200, schema: 300, reasoning: 0 });
  expect(countersAfter({ ...turn, usage })).toEqual({ current: 1490, schema: 300, reasoning: 40 });
});

test("reasoning lies inside the answer: it is shown, and never added", () => {
  const plain = countersAfter({ ...turn, usage: { inputTokens: 100, outputTokens: 50 } });
  const thoughtful = { inputTokens: 100, outputTokens: 50, reasoningTokens: 45 };
  expect(countersAfter({ ...turn, usage: thoughtful }).current).toBe(plain.current);
});

test("a branch whose provider has reported is shown in the provider's tokens, any other in Plimsoll's own", () => {
  const estimated = { system: 0, tools: 0, conversation: 1000 };
  const calibration = observe(uncalibrated, estimated, 1250);
  const counters = countersAfter({ ...turn, calibration });
  expect(counters.calibration).toMatchObject({ target: "a/b", factor: 1.25, samples: 1 });
  expect(inProviderTokens(400, scaleOf({ counters }))).toBe(500);
  expect(inProviderTokens(400, scaleOf({}))).toBe(400);
  expect(inProviderTokens(400, scaleOf({ counters: countersAfter(turn) }))).toBe(400);
});

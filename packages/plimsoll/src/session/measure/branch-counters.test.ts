import { expect, test } from "vitest";
import { observe, uncalibrated } from "../../budget/calibrate.ts";
import { inProviderTokens } from "../../budget/token-scale.ts";
import { countersAfter, scaleOf } from "./branch-counters.ts";

const turn = { measurement: { tools: 300 }, target: "a/b" };

test("a branch whose provider has reported is shown in the provider's tokens, any other in Plimsoll's own", () => {
  const estimated = { system: 0, tools: 0, conversation: 1000 };
  const calibration = observe(uncalibrated, estimated, 1250);
  const counters = countersAfter({ ...turn, calibration });
  expect(counters.calibration).toMatchObject({ target: "a/b", factor: 1.25, samples: 1 });
  expect(inProviderTokens(400, scaleOf({ counters }))).toBe(500);
  expect(inProviderTokens(400, scaleOf({}))).toBe(400);
  expect(inProviderTokens(400, scaleOf({ counters: countersAfter(turn) }))).toBe(400);
});

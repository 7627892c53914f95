import type { TurnPoint } from "plimsoll/api";
import { expect, test } from "vitest";
import { cachedShare, marksOf, oldestFirst, seriesOf, totalsOf } from "./turn-series.ts";

const turn = (more: Partial<TurnPoint> = {}): TurnPoint => ({
  id: "t",
  branch: "b",
  at: 1,
  endedAt: 2,
  model: "m",
  outcome: "passthrough",
  status: "complete",
  measurement: {
    system: 10,
    skills: 20,
    tools: 30,
    conversation: 40,
    total: 100,
    certainty: "exact",
  },
  limit: 1000,
  window: 1200,
  ...more,
});

test("components are stacked in the order of the window, and the top is the whole", () => {
  const { system, skills, tools, conversation, numbers } = seriesOf([turn(), turn()]);
  expect([system[0], skills[0], tools[0], conversation[0]]).toEqual([10, 30, 60, 100]);
  expect(numbers).toEqual([1, 2]);
});

test("what is not known is a gap, never a zero", () => {
  const { before, cached, usd } = seriesOf([
    turn(),
    turn({
      tokensBefore: 300,
      usd: 0.5,
      usage: { inputTokens: 200, outputTokens: 1, cacheReadTokens: 150 },
    }),
  ]);
  expect([before, cached, usd]).toEqual([
    [null, 300],
    [null, 0.75],
    [null, 0.5],
  ]);
});

test("a provider that reports more cached than read does not make a share beyond the whole", () => {
  expect(
    cachedShare(turn({ usage: { inputTokens: 10, outputTokens: 1, cacheReadTokens: 99 } })),
  ).toBe(1);
  expect(
    cachedShare(turn({ usage: { inputTokens: 0, outputTokens: 1, cacheReadTokens: 9 } })),
  ).toBeUndefined();
});

test("compactions and fresh starts are marked at their turns", () => {
  const turns = [turn(), turn({ outcome: "compacted" }), turn({ outcome: "recovered" })];
  expect(marksOf(turns)).toEqual([
    { index: 1, kind: "compacted" },
    { index: 2, kind: "recovered" },
  ]);
});

test("a newest-first answer is turned round", () => {
  expect(oldestFirst([turn({ at: 9 }), turn({ at: 3 })]).map(({ at }) => at)).toEqual([3, 9]);
});

test("totals add up what is known, and leave out what is not", () => {
  expect(totalsOf([turn(), turn({ outcome: "compacted" })])).toEqual({ compactions: 1 });
  expect(
    totalsOf([
      turn({
        usd: 1,
        savedUsd: 0.25,
        usage: { inputTokens: 100, outputTokens: 1, cacheReadTokens: 50 },
      }),
      turn({ usd: 2, usage: { inputTokens: 300, outputTokens: 1, cacheReadTokens: 250 } }),
    ]),
  ).toEqual({ compactions: 0, usd: 3, savedUsd: 0.25, cached: 0.75 });
});

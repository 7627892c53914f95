import type { TurnPoint } from "plimsoll/api";
import { expect, test } from "vitest";
import {
  cachedShare,
  historyOf,
  marksOf,
  oldestFirst,
  savedFrom,
  seriesOf,
  totalsOf,
  totalsOfCost,
} from "./turn-series.ts";

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

test("what went out as it came would have been the same without us, however it was counted", () => {
  const passed = turn({ tokensBefore: 130 });
  const edited = turn({ outcome: "edited", tokensBefore: 130 });
  expect([passed, edited].map(savedFrom)).toEqual([undefined, 130]);
  expect(seriesOf([passed, edited, turn({ outcome: "edited" })]).before).toEqual([100, 130, null]);
});

test("of a partial list the newest turn has the number of all", () => {
  const listed = [turn({ id: "a" }), turn({ id: "b", branch: "other" })];
  const { turns, firstNumber, counted, isPartial } = historyOf(listed, 12, undefined);
  expect(seriesOf(turns, firstNumber).numbers).toEqual([11, 12]);
  expect([counted, isPartial]).toEqual([12, true]);
  expect(historyOf(listed, 2, undefined)).toMatchObject({ firstNumber: 1, isPartial: false });
});

test("turns of a branch are its own, counted from its first", () => {
  const listed = [turn({ id: "a" }), turn({ id: "b", branch: "other" }), turn({ id: "c" })];
  const { turns, firstNumber } = historyOf(listed, 3, "b");
  expect(turns.map(({ id }) => id)).toEqual(["a", "c"]);
  expect(firstNumber).toBe(1);
});

test("sums of a session whose list is partial are the service's, and unknown is not zero", () => {
  const cost = {
    sessions: 1,
    turns: 12_000,
    sentTokens: 200,
    cachedTokens: 150,
    outputTokens: 1,
    savedTokens: 1,
    usd: 3,
    estimatedUsd: null,
    savedUsd: null,
    compactions: 7,
    measured: { usage: 1, cache: 1, estimated: 0 },
    isPartial: false,
  };
  expect(totalsOfCost(cost)).toEqual({ compactions: 7, usd: 3, cached: 0.75 });
  const silent = { ...cost, usd: null, measured: { ...cost.measured, cache: 0 } };
  expect(totalsOfCost(silent)).toEqual({ compactions: 7 });
});

test("what is not known is a gap, never a zero", () => {
  const { before, cached, usd } = seriesOf([
    turn(),
    turn({
      outcome: "edited",
      tokensBefore: 300,
      usd: 0.5,
      usage: { inputTokens: 200, outputTokens: 1, cacheReadTokens: 150 },
    }),
  ]);
  expect([before, cached, usd]).toEqual([
    [100, 300],
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

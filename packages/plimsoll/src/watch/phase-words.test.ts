import { expect, test } from "vitest";
import { hideAfterMs, isLastPhase, phases } from "./phase-words.ts";

test("all phases have a name of their own, and three of them end a compaction", () => {
  expect(new Set(phases.map(({ phase }) => phase)).size).toBe(10);
  expect(new Set(phases.map(({ name }) => name)).size).toBe(10);
  expect(phases.filter(isLastPhase).map(({ phase }) => phase)).toEqual([
    "success",
    "handover",
    "failed",
  ]);
});

test("what is done hides after the seconds of the settings, within their bounds; what is silent after a minute", () => {
  const after = (auto_hide_seconds: number): number =>
    hideAfterMs({ state: "done" }, { auto_hide_seconds });
  expect([0, 4, 99].map(after)).toEqual([1000, 4000, 10_000]);
  expect(hideAfterMs({ state: "running" }, { auto_hide_seconds: 4 })).toBe(60_000);
});

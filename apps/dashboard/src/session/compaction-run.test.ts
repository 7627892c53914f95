import type {
  CompactionEndEvent,
  CompactionPhase,
  ContextBreakingUpdateEvent,
  PlimsollEvent,
} from "plimsoll/events";
import { usualSettings } from "plimsoll/watch/row-state";
import { expect, test } from "vitest";
import { advance, barOf, type Run } from "./compaction-run.ts";

const update = (
  phase: CompactionPhase,
  more: Partial<ContextBreakingUpdateEvent> = {},
): ContextBreakingUpdateEvent => ({
  type: "context-breaking-update",
  session: "s",
  at: 1,
  turn: "t1",
  branch: "b",
  phase,
  progress: 60,
  message: phase,
  tokens: 600,
  limit: 1000,
  ...more,
});
const end = { type: "compaction-end", session: "s", at: 2, turn: "t1" } as CompactionEndEvent;
const after = (...events: readonly PlimsollEvent[]): Run | undefined =>
  events.reduce<Run | undefined>(advance, undefined);

test("phases are kept in the order in which they were entered, and the last one ends it", () => {
  const run = after(update("detection"), update("summarize-old"), update("success"));
  expect(run?.updates.map(({ phase }) => phase)).toEqual(["detection", "summarize-old", "success"]);
  expect(run?.state).toBe("done");
});

test("recovery does not end it, the handover does", () => {
  expect(after(update("recovery"))?.state).toBe("running");
  expect(after(update("recovery"), update("handover"))?.state).toBe("done");
});

test("the receipt that comes behind joins its own compaction, and no other", () => {
  expect(after(update("success"), end)?.end).toBe(end);
  expect(after(update("detection", { turn: "t2" }), end)?.end).toBeUndefined();
  expect(after(end)).toBeUndefined();
});

test("the next turn's compaction begins anew; so does a second one of the same turn behind its receipt", () => {
  const next = after(update("success"), update("detection", { turn: "t2" }));
  expect([next?.turn, next?.updates.length, next?.state]).toEqual(["t2", 1, "running"]);
  expect(after(update("success"), end, update("detection"))?.updates).toHaveLength(1);
});

test("a turn that ends without success leaves nothing running", () => {
  const turnEnd = { type: "turn-end", session: "s", at: 3, turn: "t1" } as PlimsollEvent;
  expect(after(update("hybrid"), turnEnd)?.state).toBe("done");
});

test("a chain without end is kept by its newest phases", () => {
  const run = after(...Array.from({ length: 500 }, () => update("hybrid")), update("success"));
  expect(run?.updates).toHaveLength(100);
  expect(run?.updates.at(-1)?.phase).toBe("success");
});

test.each([
  [update("detection"), { tone: "normal", percent: 60 }],
  [update("detection", { progress: 130 }), { tone: "warning", percent: 100 }],
  [update("summarize-old"), { tone: "normal" }],
  [update("hybrid", { priority: { level: 1, area: "Plan" } }), { tone: "p1", percent: 60 }],
  [update("hybrid", { priority: { level: 2, area: "Log" } }), { tone: "normal", percent: 60 }],
  [update("recovery", { progress: -1 }), { tone: "recovery" }],
  [update("success", { progress: 96 }), { tone: "normal", percent: 96 }],
])("the bar of %j is %j", (event, bar) => {
  expect(barOf(event, usualSettings)).toEqual(bar);
});

test("P1 is not marked where the settings say so", () => {
  const event = update("hybrid", { priority: { level: 1, area: "Plan" } });
  const progress = { ...usualSettings.progress, highlight_p1: false };
  expect(barOf(event, { ...usualSettings, progress }).tone).toBe("normal");
});

test.each([
  [0.8, 79, "normal"],
  [0.8, 80, "warning"],
  [0.6, 70, "warning"],
  [0.9, 85, "normal"],
] as const)(
  "with a warning threshold of %d, the bar of a run at %d %% is %s",
  (warningThreshold, progress, tone) => {
    const event = update("detection", { progress });
    expect(barOf(event, { ...usualSettings, warningThreshold }).tone).toBe(tone);
  },
);

import type { PlimsollEvent } from "plimsoll/events";
import { expect, test } from "vitest";
import { neededBy, staleAfter, tabOf } from "./stale.ts";

const event = (type: PlimsollEvent["type"], more: object = {}): PlimsollEvent =>
  ({ type, session: "s", at: 1, ...more }) as PlimsollEvent;

test("a turn that ended makes picture and history old; one that failed, the errors too", () => {
  expect(staleAfter(event("turn-end", { status: "complete" }))).toEqual(["window", "turns"]);
  expect(staleAfter(event("turn-end", { status: "failed" }))).toContain("errors");
});

test("a compaction, and steering by hand, make the way back old", () => {
  for (const type of ["compaction-end", "view-steered"] as const)
    expect(staleAfter(event(type))).toEqual(
      expect.arrayContaining(["window", "edits", "checkpoints"]),
    );
});

test("a phase makes nothing old: it is shown at once, from the event itself", () => {
  expect(staleAfter(event("context-breaking-update"))).toEqual([]);
});

test("the picture is needed everywhere, errors only where they are shown", () => {
  expect(neededBy("history")).toContain("window");
  expect(neededBy("window")).not.toContain("errors");
  expect(neededBy("archive")).toContain("errors");
});

test("a tab that does not exist is the first one", () => {
  expect([tabOf("travel"), tabOf("nonsense"), tabOf(undefined), tabOf("constructor")]).toEqual([
    "travel",
    "window",
    "window",
    "window",
  ]);
});

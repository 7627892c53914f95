import { expect, test } from "vitest";
import type { PlimsollEvent } from "../message/event.ts";
import { staleAfter } from "./stale.ts";

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

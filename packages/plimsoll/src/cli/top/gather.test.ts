import { describe, expect, test } from "vitest";
import type { PlimsollEvent } from "../../message/event.ts";
import { gather, nextRelease, nothingGathered, release } from "./gather.ts";

function warning(session: string, filled: number): PlimsollEvent {
  return { type: "context-warning", session, at: 0, turn: "turn_1", filled, limit: 100 };
}

function phase(session: string): PlimsollEvent {
  return {
    type: "context-breaking-update",
    session,
    at: 0,
    turn: "turn_1",
    branch: "br_1",
    phase: "detection",
    progress: 96,
    message: "Checking context length…",
    tokens: 96,
    limit: 100,
  };
}

describe("a burst of events", () => {
  test("is shown from its first one on, the rest together when half a second has passed", () => {
    const first = gather(nothingGathered, warning("a", 1), 1000);
    expect(first.events).toEqual([warning("a", 1)]);
    const second = gather(first.gathered, warning("a", 2), 1010);
    const third = gather(second.gathered, warning("a", 3), 1400);
    expect([...second.events, ...third.events]).toEqual([]);
    expect(nextRelease(third.gathered)).toBe(1500);
    expect(release(third.gathered, 1499).events).toEqual([]);
    const late = release(third.gathered, 1500);
    expect(late.events).toEqual([warning("a", 2), warning("a", 3)]);
    expect(gather(late.gathered, warning("a", 4), 1600).events).toEqual([]);
  });

  test("does not hold up another session", () => {
    const first = gather(nothingGathered, warning("a", 1), 1000);
    expect(gather(first.gathered, warning("b", 1), 1001).events).toEqual([warning("b", 1)]);
  });

  test("never holds a phase, and shows it after what came before it", () => {
    const first = gather(nothingGathered, warning("a", 1), 1000);
    const second = gather(first.gathered, warning("a", 2), 1001);
    expect(gather(second.gathered, phase("a"), 1002).events).toEqual([warning("a", 2), phase("a")]);
  });

  test("is forgotten when it is over", () => {
    const { gathered } = gather(nothingGathered, warning("a", 1), 1000);
    const rested = release(gathered, 1500).gathered;
    expect(nextRelease(rested)).toBeUndefined();
    expect(gather(rested, warning("a", 2), 1501).events).toEqual([warning("a", 2)]);
  });

  test("holds no more than its bound", () => {
    let ready = gather(nothingGathered, warning("a", 0), 1000);
    let held = 0;
    for (let index = 1; index <= 1000; index++) {
      ready = gather(ready.gathered, warning("a", index), 1001);
      held = ready.events.length === 0 ? held + 1 : 0;
      expect(held).toBeLessThan(200);
    }
  });
});

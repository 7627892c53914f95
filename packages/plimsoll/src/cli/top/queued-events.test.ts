import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { PlimsollEvent } from "../../message/event.ts";
import { queueEvents } from "./queued-events.ts";
import { timing } from "./timing.ts";

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
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Queues these events. Returns the events shown so far, and the queue. */
  function heard(...events: readonly PlimsollEvent[]) {
    const shown: PlimsollEvent[] = [];
    const queued = queueEvents((event) => shown.push(event), timing);
    for (const event of events) queued.hear(event);
    return { shown, ...queued };
  }

  test("is shown from its first one on, the rest in its order when half a second has passed", () => {
    const { shown } = heard(warning("a", 1), warning("a", 2), warning("a", 3));
    vi.advanceTimersByTime(499);
    expect(shown).toEqual([warning("a", 1)]);
    vi.advanceTimersByTime(1);
    expect(shown).toEqual([warning("a", 1), warning("a", 2), warning("a", 3)]);
    vi.advanceTimersByTime(5000);
    expect(shown).toHaveLength(3);
  });

  test("does not hold up another session", () => {
    const { shown } = heard(warning("a", 1), warning("a", 2), warning("b", 1));
    expect(shown).toEqual([warning("a", 1), warning("b", 1)]);
  });

  test("never holds a phase, and shows it after what came before it", () => {
    const { shown } = heard(warning("a", 1), warning("a", 2), phase("a"));
    expect(shown).toEqual([warning("a", 1), warning("a", 2), phase("a")]);
  });

  test("holds no more than its bound", () => {
    const { shown, hear } = heard();
    for (let index = 1; index <= 1000; index++) {
      hear(warning("a", index));
      expect(index - shown.length).toBeLessThan(200);
    }
  });

  test("of which something waits at the end is not shown any more", () => {
    const { shown, close } = heard(warning("a", 1), warning("a", 2));
    close();
    vi.advanceTimersByTime(5000);
    expect(shown).toEqual([warning("a", 1)]);
  });
});

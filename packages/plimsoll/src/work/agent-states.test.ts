/** The states of agents: busy while a turn runs, whatever order the events have. */

import { expect, test } from "vitest";
import type { PlimsollEvent } from "../message/event.ts";
import { type AgentActivity, afterEvent, noActivity } from "./agent-states.ts";

const event = (type: "turn-start" | "turn-end", turn: string, status = "complete"): PlimsollEvent =>
  ({ type, turn, status, session: "s", at: 1 }) as unknown as PlimsollEvent;
const after = (...events: readonly PlimsollEvent[]): AgentActivity =>
  events.reduce(afterEvent, noActivity);

test("an agent is busy until the last of its turns has ended", () => {
  const both = [event("turn-start", "a"), event("turn-start", "b")];
  expect(after(...both, event("turn-end", "a")).state).toBe("busy");
  expect(after(...both, event("turn-end", "a"), event("turn-end", "b")).state).toBe("idle");
});

test("a turn that failed leaves the agent in error until its next turn", () => {
  const failed = [event("turn-start", "a"), event("turn-end", "a", "failed")];
  expect(after(...failed).state).toBe("error");
  expect(after(...failed, event("turn-start", "b")).state).toBe("busy");
  expect(after(...failed, event("turn-start", "b"), event("turn-end", "b")).state).toBe("idle");
});

test("turns that never end do not pile up", () => {
  const many = Array.from({ length: 1000 }, (_, turn) => event("turn-start", String(turn)));
  expect(after(...many).turns.length).toBeLessThanOrEqual(100);
});

/** What happens to a turn when the store does not take it. */

import { expect, test } from "vitest";
import { PlimsollError } from "../message/error.ts";
import type { EmittedEvent } from "../message/event.ts";
import { createMemoryStore } from "../store/memory.ts";
import type { Store, Write } from "../store/store.ts";
import { createEventBus } from "./event-bus.ts";
import { emptyLog, type LogMessage, rootLink } from "./log.ts";
import { announce, appendMessages, saveLog, setTip, startNewBranch } from "./record.ts";

/** A store whose disk is full until told otherwise. */
function failingStore(): { store: Store; commits: (readonly Write[])[]; repair: () => void } {
  const memory = createMemoryStore();
  const commits: (readonly Write[])[] = [];
  let isBroken = true;
  const commit: Store["commit"] = async (writes) => {
    if (isBroken) throw new PlimsollError("STORE_FAILED", "The disk is full.");
    commits.push(writes);
    return memory.commit(writes);
  };
  return {
    store: { ...memory, commit },
    commits,
    repair: () => {
      isBroken = false;
    },
  };
}

const message = (identity: string): LogMessage => ({
  role: "user",
  identity,
  hash: identity,
  bytes: 1,
  tokens: 1,
  certainty: "exact",
});

function oneTurn(
  log: ReturnType<typeof emptyLog>,
  from: Parameters<typeof appendMessages>[1],
  identity: string,
) {
  const entries = [{ message: message(identity), bytes: new TextEncoder().encode(identity) }];
  return appendMessages(log, from, entries, {
    turn: `turn_${identity}`,
    source: "request",
    isComplete: true,
    at: 1,
  });
}

test("turns that could not be stored are stored with the next one, in order, and announced only then", async () => {
  const { store, commits, repair } = failingStore();
  const bus = createEventBus();
  const seen: EmittedEvent[] = [];
  bus.subscribe((event) => seen.push(event));
  const log = emptyLog({ id: "ses_1", tenant: "t", wire: "anthropic", createdAt: 1, updatedAt: 1 });
  const world = { store, bus, now: () => 1 };

  const branch = startNewBranch(log, { relation: "new", forkSeq: null, at: 1 });
  const first = oneTurn(log, { seq: null, link: rootLink("anthropic") }, "a");
  setTip(branch, first);
  await saveLog(log, world);
  expect(seen.map(({ event }) => event.type)).toEqual(["store-error"]);
  expect(log.unsaved.length).toBeGreaterThan(0);

  repair();
  const second = oneTurn(log, first, "b");
  setTip(branch, second);
  announce(log, { type: "session-start", session: "ses_1", at: 2, wire: "anthropic" });
  await saveLog(log, world);
  expect(commits).toHaveLength(1);
  expect(log.unsaved).toHaveLength(0);
  expect(seen.map(({ seq, event }) => [seq, event.type])).toEqual([
    [undefined, "store-error"],
    [1, "branch-start"],
    [2, "session-start"],
  ]);
  const snapshot = await store.snapshot("ses_1");
  expect(snapshot?.nodes.map(({ seq, parent }) => [seq, parent])).toEqual([
    [1, null],
    [2, 1],
  ]);
  expect(snapshot?.branches).toMatchObject([{ id: "main", tipSeq: 2 }]);
});

test("a commit writes the messages of turns that still run: no stored message lacks its parent", async () => {
  const { store, repair } = failingStore();
  repair();
  const log = emptyLog({ id: "ses_1", tenant: "t", wire: "anthropic", createdAt: 1, updatedAt: 1 });
  const running = oneTurn(log, { seq: null, link: rootLink("anthropic") }, "running");
  oneTurn(log, running, "on top of it");
  await saveLog(log, { store, bus: createEventBus(), now: () => 1 });
  expect((await store.snapshot("ses_1"))?.nodes.map(({ parent }) => parent)).toEqual([null, 1]);
});

test("a subscriber that throws is let go, and the others still hear", () => {
  const bus = createEventBus();
  const heard: string[] = [];
  bus.subscribe(() => {
    throw new Error("mine");
  });
  bus.subscribe(({ event }) => heard.push(event.type));
  const event = { type: "session-start", session: "s", at: 1, wire: "w" } as const;
  bus.emit({ tenant: "t", event });
  bus.emit({ tenant: "t", event });
  expect([heard.length, bus.size]).toEqual([2, 1]);
});

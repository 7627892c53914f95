/** What happens to a turn when the store does not accept it. */

import { expect, test, vi } from "vitest";
import type { Edit } from "../../message/edit.ts";
import { PlimsollError } from "../../message/error.ts";
import type { EmittedEvent } from "../../message/event.ts";
import { createMemoryStore } from "../../store/memory.ts";
import type { Store, Write } from "../../store/store.ts";
import { announce, appendMessages, startNewBranch } from "./append.ts";
import { commitEdits, numbered } from "./edits.ts";
import { createEventBus } from "./event-bus.ts";
import { emptyLog, type LogMessage, moveTip, rootLink, type SessionLog } from "./log.ts";
import { createLogSaver } from "./save.ts";
import { createStoreHealth } from "./store-health.ts";

/** A store whose disk is full until `repair` is called. */
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
    branch: "main",
    source: "request",
    isComplete: true,
    at: 1,
  });
}

test("turns that could not be stored are stored with the next one, in order, and announced only then", async () => {
  const { store, commits, repair } = failingStore();
  const bus = createEventBus();
  const health = createStoreHealth();
  const seen: EmittedEvent[] = [];
  bus.subscribe((event) => seen.push(event));
  const log = emptyLog({ id: "ses_1", tenant: "t", wire: "anthropic", createdAt: 1, updatedAt: 1 });
  const saver = createLogSaver({ store, bus, health, now: () => 1, forget: () => undefined });

  const branch = startNewBranch(log, { relation: "new", forkSeq: null, at: 1 });
  const first = oneTurn(log, { seq: null, link: rootLink("anthropic") }, "a");
  moveTip(branch, first.seq);
  expect(await saver.save(log)).toBe("unsaved");
  expect(health.problems).toEqual(["The disk is full."]);
  expect(seen.map(({ event }) => event.type)).toEqual(["store-error"]);
  expect(log.unsaved.length).toBeGreaterThan(0);

  repair();
  const second = oneTurn(log, first, "b");
  moveTip(branch, second.seq);
  announce(log, { type: "session-start", session: "ses_1", at: 2, wire: "anthropic" });
  expect(await saver.save(log)).toBe("stored");
  expect(health.problems).toEqual([]);
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
  await createLogSaver({
    store,
    bus: createEventBus(),
    health: createStoreHealth(),
    now: () => 1,
    forget: () => undefined,
  }).save(log);
  expect((await store.snapshot("ses_1"))?.nodes.map(({ parent }) => parent)).toEqual([null, 1]);
});

test("what failed is tried again without another turn, and at the latest on closing", async () => {
  const { store, commits, repair } = failingStore();
  const log = emptyLog({ id: "ses_1", tenant: "t", wire: "anthropic", createdAt: 1, updatedAt: 1 });
  const saver = createLogSaver({
    store,
    bus: createEventBus(),
    health: createStoreHealth(),
    now: () => 1,
    forget: () => undefined,
  });
  oneTurn(log, { seq: null, link: rootLink("anthropic") }, "a");
  expect(await saver.save(log)).toBe("unsaved");
  repair();
  await saver.close();
  expect(commits).toHaveLength(1);
});

test("a log that the store has gone past is given up, once, and forgotten", async () => {
  const memory = createMemoryStore();
  const forgotten: SessionLog[] = [];
  const record = { id: "ses_1", tenant: "t", wire: "anthropic", createdAt: 1, updatedAt: 1 };
  const saver = createLogSaver({
    store: memory,
    bus: createEventBus(),
    health: createStoreHealth(),
    now: () => 1,
    forget: (log) => forgotten.push(log),
  });
  const [mine, theirs] = [emptyLog(record), emptyLog(record)];
  oneTurn(theirs, { seq: null, link: rootLink("anthropic") }, "theirs");
  oneTurn(mine, { seq: null, link: rootLink("anthropic") }, "mine");
  expect(await saver.save(theirs)).toBe("stored");
  expect(await saver.save(mine)).toBe("unsaved");
  expect([forgotten, mine.isAbandoned, mine.unsaved]).toEqual([[mine], true, []]);
  expect(await saver.save(mine)).toBe("unsaved");
});

test("a branch is stored as it stood with its messages, wherever it has moved since", async () => {
  const { store, repair } = failingStore();
  repair();
  const log = emptyLog({ id: "ses_1", tenant: "t", wire: "anthropic", createdAt: 1, updatedAt: 1 });
  const saver = createLogSaver({
    store,
    bus: createEventBus(),
    health: createStoreHealth(),
    now: () => 1,
    forget: () => undefined,
  });
  const branch = startNewBranch(log, { relation: "new", forkSeq: null, at: 1 });
  const first = oneTurn(log, { seq: null, link: rootLink("anthropic") }, "a");
  moveTip(branch, first.seq);
  const saving = saver.save(log);
  await Promise.resolve();
  moveTip(branch, oneTurn(log, first, "b").seq);
  await saving;
  expect(await store.snapshot("ses_1")).toMatchObject({
    branches: [{ tipSeq: 1 }],
    nodes: [{ seq: 1 }],
  });
  await saver.save(log);
  expect(await store.snapshot("ses_1")).toMatchObject({
    branches: [{ tipSeq: 2 }],
    nodes: [{ seq: 1 }, { seq: 2 }],
  });
});

test("a subscriber that throws still hears what comes next, and so do the others", () => {
  const bus = createEventBus();
  const heard: string[] = [];
  let calls = 0;
  bus.subscribe(() => {
    calls += 1;
    throw new Error("mine");
  });
  bus.subscribe(({ event }) => heard.push(event.type));
  const event = { type: "session-start", session: "s", at: 1, wire: "w" } as const;
  bus.emit({ tenant: "t", event });
  bus.emit({ tenant: "t", event });
  expect([heard.length, calls, bus.size]).toEqual([2, 2, 2]);
});

test("edits that a disk took after it had hung hold from then on, and nothing is numbered or stored twice", async () => {
  vi.useFakeTimers();
  const memory = createMemoryStore();
  let release = (): void => undefined;
  let isHanging = true;
  const store: Store = {
    ...memory,
    commit: async (writes) => {
      if (isHanging) await new Promise<void>((resolve) => (release = resolve));
      return memory.commit(writes);
    },
  };
  const saver = createLogSaver({
    store,
    bus: createEventBus(),
    health: createStoreHealth(),
    now: () => 1,
    forget: () => expect.unreachable("nobody else has written"),
  });
  const log = emptyLog({ id: "ses_1", tenant: "t", wire: "anthropic", createdAt: 1, updatedAt: 1 });
  const tip = oneTurn(log, { seq: null, link: rootLink("anthropic") }, "a");
  const editOf = (seq: number): Edit => ({
    seq,
    branch: "main",
    step: `step_${seq}`,
    anchor: "a",
    at: 1,
    action: { kind: "checkpoint", label: "here" },
    place: "undefined",
    strategy: "test",
    reason: "",
    tokensBefore: 0,
    tokensAfter: 0,
  });
  const late = commitEdits({ saver }, log, numbered(log, [editOf(0)]));
  await vi.advanceTimersByTimeAsync(10_001);
  expect([await late, log.edits]).toEqual(["unsaved", []]);
  oneTurn(log, tip, "b");
  const next = commitEdits({ saver }, log, numbered(log, [editOf(0)]));
  isHanging = false;
  release();
  expect(await next).toBe("stored");
  vi.useRealTimers();
  expect(log.edits.map(({ seq }) => seq)).toEqual([1, 2]);
  expect((await memory.edits("ses_1")).map(({ seq }) => seq)).toEqual([1, 2]);
  expect((await memory.snapshot("ses_1"))?.nodes).toHaveLength(2);
});

test("edits that a disk refused after it had hung are forgotten", async () => {
  vi.useFakeTimers();
  const memory = createMemoryStore();
  let fail = (): void => undefined;
  let isHanging = true;
  const store: Store = {
    ...memory,
    commit: async (writes) => {
      if (isHanging)
        await new Promise<void>((_, reject) => (fail = () => reject(new Error("EIO"))));
      return memory.commit(writes);
    },
  };
  const saver = createLogSaver({
    store,
    bus: createEventBus(),
    health: createStoreHealth(),
    now: () => 1,
    forget: () => undefined,
  });
  const log = emptyLog({ id: "ses_1", tenant: "t", wire: "anthropic", createdAt: 1, updatedAt: 1 });
  oneTurn(log, { seq: null, link: rootLink("anthropic") }, "a");
  const write: Write = {
    kind: "event",
    tenant: "t",
    event: { type: "session-start", session: "ses_1", at: 1, wire: "w" },
  };
  const refused = saver.saveNow(log, [write]);
  await vi.advanceTimersByTimeAsync(10_001);
  expect(await refused).toBe("unsaved");
  isHanging = false;
  fail();
  await vi.advanceTimersByTimeAsync(5000);
  vi.useRealTimers();
  expect(await saver.save(log)).toBe("stored");
  expect((await memory.snapshot("ses_1"))?.nodes).toHaveLength(1);
  expect(await memory.events({ after: 0, limit: 9 })).toEqual([]);
});

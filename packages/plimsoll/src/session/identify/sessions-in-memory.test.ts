import { setImmediate as nextTick } from "node:timers/promises";
import { expect, test } from "vitest";
import { appendMessages } from "../log/append.ts";
import { whileEditing } from "../log/edits.ts";
import {
  emptyLog,
  moveTip,
  rememberInSession,
  rootLink,
  type SessionLog,
  startBranch,
} from "../log/log.ts";
import { createSessionShelf } from "./sessions-in-memory.ts";

const limits = { maxSessions: 2, maxBytes: 150_000, maxKeys: 100 };
const logOf = (id: string, clientKey?: string): SessionLog =>
  emptyLog({
    id,
    tenant: "t",
    wire: "w",
    createdAt: 1,
    updatedAt: 1,
    ...(clientKey === undefined ? {} : { clientKey }),
  });

/** Adds one question and one answer. Returns the talk of the answer. */
function answered(log: SessionLog, answer: string): string {
  const branch = startBranch(log, { id: "main", relation: "new", forkSeq: null, at: 1 });
  const said = { turn: "turn", branch: "main", isComplete: true, at: 1 } as const;
  const entry = (identity: string) => ({
    message: {
      role: "user",
      identity,
      hash: identity,
      bytes: 1,
      tokens: 1,
      certainty: "exact",
    } as const,
    bytes: new Uint8Array(),
  });
  const root = { seq: null, link: rootLink("w") };
  const asked = appendMessages(log, root, [entry("hi")], { ...said, source: "request" });
  const tip = appendMessages(log, asked, [entry(answer)], { ...said, source: "answer" });
  moveTip(branch, tip.seq);
  // The log looks as if everything were stored.
  log.unsaved = [];
  branch.isChanged = false;
  return log.nodes.get(tip.seq ?? -1)?.talk ?? "";
}

test("the least used session is let go, and with it every way to find it", async () => {
  const shelf = createSessionShelf(limits);
  const [a, b, c] = [logOf("a"), logOf("b"), logOf("c", "C")];
  const shared = answered(a, "hello");
  answered(b, "hello");
  shelf.put(a);
  shelf.put(b);
  expect([...shelf.byAnswers({ tenant: "t", talks: [shared], max: 5 })]).toEqual(["a", "b"]);
  expect(shelf.get("a")).toBe(a);
  shelf.put(c);
  await nextTick();
  expect([shelf.get("a"), shelf.get("b"), shelf.get("c")]).toEqual([a, undefined, c]);
  expect(shelf.byClientKey("t", "w", "C")).toBe("c");
  expect([...shelf.byAnswers({ tenant: "t", talks: [shared], max: 5 })]).toEqual(["a"]);
});

test("sessions are let go by the bytes that they take, also if one of them grows", async () => {
  const shelf = createSessionShelf({ ...limits, maxSessions: 100, maxBytes: 10_000 });
  const [small, growing] = [logOf("small"), logOf("growing")];
  for (const log of [small, growing]) shelf.put(log);
  answered(growing, "hello");
  shelf.noteAnswers(growing);
  expect(shelf.bytes).toBe(3000);
  growing.inner.set(1, new Uint8Array(20_000));
  shelf.noteAnswers(growing);
  expect(shelf.bytes).toBe(23_000);
  await nextTick();
  expect([shelf.get("small"), shelf.get("growing"), shelf.bytes]).toEqual([
    undefined,
    undefined,
    0,
  ]);
});

test("a session is not let go before whoever asked for it could use it", async () => {
  const shelf = createSessionShelf(limits);
  for (const id of ["a", "b", "c"]) shelf.put(logOf(id));
  expect(shelf.get("a")).toBeDefined();
  await nextTick();
  expect(shelf.get("a")).toBeDefined();
  expect(shelf.get("b")).toBeUndefined();
});

test.each([
  [
    "remembers something new",
    (log: SessionLog) => rememberInSession(log, { kind: "overflowed", at: 1 }),
  ],
  [
    "is being edited",
    (log: SessionLog) => void whileEditing(log, () => new Promise<never>(() => undefined)),
  ],
  [
    "is being answered",
    (log: SessionLog) =>
      startBranch(log, { id: "main", relation: "new", forkSeq: null, at: 1 }).inFlight++,
  ],
  ["is not stored yet", (log: SessionLog) => log.unsaved.push(new Promise(() => undefined))],
  ["is being stored", (log: SessionLog) => (log.isSaving = true)],
])("what %s stays, however full it is", async (_name, make) => {
  const shelf = createSessionShelf(limits);
  const busy = logOf("busy");
  make(busy);
  shelf.put(busy);
  for (const id of ["a", "b", "c", "d"]) shelf.put(logOf(id));
  await nextTick();
  expect(shelf.get("busy")).toBe(busy);
  expect(shelf.get("a")).toBeUndefined();
});

test("answers are found by their tenant only, those of the first key first", () => {
  const shelf = createSessionShelf({ maxSessions: 9, maxBytes: 1500 * 100, maxKeys: 100 });
  const [a, b] = [logOf("a"), logOf("b")];
  const keys = [answered(b, "second"), answered(a, "first")];
  shelf.put(a);
  shelf.put(b);
  expect([...shelf.byAnswers({ tenant: "t", talks: keys, max: 5 })]).toEqual(["b", "a"]);
  expect([...shelf.byAnswers({ tenant: "t", talks: keys, max: 1 })]).toEqual(["b"]);
  expect([...shelf.byAnswers({ tenant: "u", talks: keys, max: 5 })]).toEqual([]);
});

test("of thousands that were given one answer only a few are remembered", () => {
  const shelf = createSessionShelf({ maxSessions: 9999, maxBytes: 1500 * 99_999, maxKeys: 99_999 });
  const logs = Array.from({ length: 2000 }, (_, index) => logOf(`s${index}`));
  const talks = logs.map((log) => answered(log, "hello")).slice(0, 1);
  for (const log of logs) shelf.put(log);
  const found = shelf.byAnswers({ tenant: "t", talks, max: 16 });
  expect(found.size).toBeGreaterThan(1);
  expect(found.size).toBeLessThanOrEqual(8);
});

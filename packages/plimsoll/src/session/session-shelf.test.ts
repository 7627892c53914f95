import { setImmediate as nextTick } from "node:timers/promises";
import { expect, test } from "vitest";
import { emptyLog, type SessionLog, startBranch } from "./log.ts";
import { createSessionShelf } from "./session-shelf.ts";

const limits = { maxSessions: 2, maxChains: 100 };
const logOf = (id: string, clientKey = id): SessionLog =>
  emptyLog({ id, tenant: "t", wire: "w", clientKey, createdAt: 1, updatedAt: 1 });
const link = (chain: string) => ({ chain, looseChain: chain });

test("the least used session is let go, and with it every way to find it", async () => {
  const shelf = createSessionShelf(limits);
  const [a, b, c] = [logOf("a"), logOf("b"), logOf("c")];
  shelf.put(a);
  shelf.put(b);
  shelf.noteChains(a, [link("shared"), link("of a")]);
  shelf.noteChains(b, [link("shared")]);
  expect(shelf.get("a")).toBe(a);
  shelf.put(c);
  await nextTick();
  expect([shelf.get("a"), shelf.get("b"), shelf.get("c")]).toEqual([a, undefined, c]);
  expect([shelf.byClientKey("t", "w", "b"), shelf.byClientKey("t", "w", "a")]).toEqual([
    undefined,
    "a",
  ]);
  expect([...shelf.byChains("t", ["shared"], 5)]).toEqual(["a"]);
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

test("chains are found by their tenant only, the last of them first", () => {
  const shelf = createSessionShelf({ maxSessions: 9, maxChains: 100 });
  const [a, b] = [logOf("a"), logOf("b")];
  shelf.put(a);
  shelf.put(b);
  shelf.noteChains(a, [link("1"), link("2")]);
  shelf.noteChains(b, [link("1")]);
  expect([...shelf.byChains("t", ["1", "2"], 5)]).toEqual(["a", "b"]);
  expect([...shelf.byChains("t", ["1", "2"], 1)]).toEqual(["a"]);
  expect([...shelf.byChains("u", ["1", "2"], 5)]).toEqual([]);
});

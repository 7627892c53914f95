/** The rules by which sessions are kept, and what the service does by them. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { Config } from "../../config/schema.ts";
import { type Engine, openEngine } from "../../engine.ts";
import type { PlimsollEvent } from "../../message/event.ts";
import { wires } from "../../wire/wires.ts";
import type { ReceivedTurn } from "../turn/turn.ts";
import { dueSessions, type KeptSession, rulesOf } from "./retention.ts";

const day = 86_400_000;
const now = 100 * day;
const kept = (id: string, days: number, bytes = 100): KeptSession => ({
  id,
  updatedAt: now - days * day,
  bytes,
});
const state = { now, size: 300, exempt: new Set<string>() };

describe("the rules", () => {
  test("none by default; ages and sizes are read as they are written", () => {
    expect(rulesOf({})).toBeUndefined();
    expect(rulesOf({ retention: {} })).toBeUndefined();
    expect(rulesOf({ retention: { max_age: "1.5h", max_size: "2GB" } })).toEqual({
      maxAge: 5_400_000,
      maxSize: 2_000_000_000,
    });
  });

  test("the oldest go first, until the rest is small enough", () => {
    const sessions = [kept("b", 2), kept("c", 1), kept("a", 3)];
    expect(dueSessions(sessions, { maxSize: 300 }, state).due).toEqual([]);
    expect(dueSessions(sessions, { maxSize: 299 }, state).due).toEqual(["a"]);
    expect(dueSessions(sessions, { maxSize: 150 }, state).due).toEqual(["a", "b"]);
  });

  test("a session counts with its share of the file, which is larger than its content", () => {
    const sessions = [kept("a", 3), kept("b", 2), kept("c", 1)];
    const large = { ...state, size: 3000 };
    expect(dueSessions(sessions, { maxSize: 2000 }, large).due).toEqual(["a"]);
  });

  test("exempt sessions stay, and the next ones go in their place", () => {
    const sessions = [kept("a", 3), kept("b", 2), kept("c", 1)];
    const exempt = new Set(["a"]);
    expect(dueSessions(sessions, { maxSize: 250 }, { ...state, exempt }).due).toEqual(["b"]);
    expect(dueSessions(sessions, { maxAge: 1.5 * day }, { ...state, exempt }).due).toEqual(["b"]);
  });

  test("the newest session stays if another one is exempt, and nothing is spared if it is exempt itself", () => {
    const sessions = [kept("a", 3), kept("b", 2), kept("c", 1)];
    const verdict = (exempt: string): unknown =>
      dueSessions(sessions, { maxAge: 1 }, { ...state, exempt: new Set([exempt]) });
    expect(verdict("a")).toEqual({ due: ["b"], spared: "c" });
    expect(verdict("b")).toEqual({ due: ["a"], spared: "c" });
    expect(verdict("c")).toEqual({ due: ["a", "b"] });
  });

  test("rules that would delete every session spare the newest one", () => {
    const sessions = [kept("c", 1), kept("a", 3), kept("b", 2)];
    expect(dueSessions(sessions, { maxAge: 1 }, state)).toEqual({ due: ["a", "b"], spared: "c" });
    expect(dueSessions([], { maxAge: 1 }, state)).toEqual({ due: [] });
  });
});

describe("the service", () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  interface Service {
    readonly plimsoll: Engine;
    readonly events: PlimsollEvent[];
    readonly data: string;
    at: number;
  }

  async function start(retention: Config["retention"]): Promise<Service> {
    const data = mkdtempSync(join(tmpdir(), "plimsoll-retention-"));
    const events: PlimsollEvent[] = [];
    const service = { at: day, events, data };
    const config = retention === undefined ? {} : { retention };
    const plimsoll = await openEngine({ data, config, parts: { now: () => service.at } });
    plimsoll.subscribe(({ event }) => void events.push(event));
    closing.push(async () => {
      await plimsoll.close();
      rmSync(data, { recursive: true });
    });
    return Object.assign(service, { plimsoll });
  }

  const begin = (plimsoll: Engine, name: string): Promise<ReceivedTurn> =>
    plimsoll.receive({
      tenant: "t",
      provider: "anthropic",
      wire: wires.anthropic,
      body: new TextEncoder().encode(
        JSON.stringify({
          model: "m",
          max_tokens: 9,
          messages: [{ role: "user", content: `${name} `.repeat(200) }],
        }),
      ),
      hints: { isCompacted: false, clientKey: name },
    });

  async function say(plimsoll: Engine, name: string): Promise<string> {
    const turn = await begin(plimsoll, name);
    await turn.end({ status: "complete" });
    return turn.session;
  }

  const idsIn = async ({ store }: Engine): Promise<readonly string[]> =>
    (await store.sessions({ limit: 9 })).map(({ id }) => id).toSorted();

  test("keeps every session without the setting", async () => {
    const service = await start(undefined);
    const id = await say(service.plimsoll, "old");
    service.at += 1000 * day;
    await service.plimsoll.forgetting.retain();
    expect(await idsIn(service.plimsoll)).toEqual([id]);
  });

  test("deletes old sessions and announces each, but none with a pin, and none with a running turn", async () => {
    const service = await start({ max_age: "30d" });
    const { plimsoll, events } = service;
    const [old, pinned] = [await say(plimsoll, "old"), await say(plimsoll, "pinned")];
    const released = await say(plimsoll, "released");
    await plimsoll.steering.pin(pinned, { first: 1 });
    const { id } = await plimsoll.steering.pin(released, { first: 1 });
    await plimsoll.steering.release(released, { pin: id });
    const used = await say(plimsoll, "used");
    const running = await begin(plimsoll, "used");
    service.at += 31 * day;
    const young = await say(plimsoll, "young");
    await plimsoll.forgetting.retain();
    expect(await idsIn(plimsoll)).toEqual([pinned, used, young].toSorted());
    const gone = events.filter(({ type }) => type === "session-forgotten");
    expect(gone.map(({ session }) => session).toSorted()).toEqual([old, released].toSorted());
    expect(gone).toContainEqual({
      type: "session-forgotten",
      session: old,
      at: service.at,
      by: "retention",
      messages: 1,
      archiveEntries: 0,
      bytes: expect.any(Number),
    });
    await running.end({ status: "complete" });
    expect(running.session).toBe(used);
    expect(await plimsoll.store.turns(used, 9)).toHaveLength(2);
  });

  test("with rules that would delete everything, keeps the newest session and says so once", async () => {
    const service = await start({ max_age: "2h" });
    const { plimsoll, events } = service;
    await say(plimsoll, "first");
    service.at += 1000;
    const newest = await say(plimsoll, "newest");
    service.at += day;
    await plimsoll.forgetting.retain();
    await plimsoll.forgetting.retain();
    expect(await idsIn(plimsoll)).toEqual([newest]);
    const said = events.filter(({ type }) => type === "retention-spared");
    expect(said).toEqual([
      {
        type: "retention-spared",
        session: newest,
        at: service.at,
        message: expect.stringMatching(/keeps the newest one\. Raise `max_age` or `max_size`\.$/),
      },
    ]);
  });

  test("keeps the newest session beside a pinned one, and says nothing if the newest is pinned", async () => {
    const service = await start({ max_age: "2h" });
    const { plimsoll, events } = service;
    const said = (): readonly string[] =>
      events.filter(({ type }) => type === "retention-spared").map(({ session }) => session);
    await say(plimsoll, "old");
    const pinned = await say(plimsoll, "pinned");
    await plimsoll.steering.pin(pinned, { first: 1 });
    service.at += 1000;
    const newest = await say(plimsoll, "newest");
    service.at += day;
    await plimsoll.forgetting.retain();
    expect(await idsIn(plimsoll)).toEqual([pinned, newest].toSorted());
    expect(said()).toEqual([newest]);
    await plimsoll.steering.pin(newest, { first: 1 });
    service.at += day;
    const middle = await say(plimsoll, "middle");
    service.at += 1000;
    const last = await say(plimsoll, "last");
    await plimsoll.steering.pin(last, { first: 1 });
    service.at += day;
    await plimsoll.forgetting.retain();
    expect(await idsIn(plimsoll)).not.toContain(middle);
    expect(said()).toEqual([newest]);
  });

  test("does so when it starts, and finishes a deletion that was interrupted", async () => {
    const service = await start(undefined);
    const { plimsoll, data } = service;
    const old = await say(plimsoll, "old");
    service.at += 40 * day;
    const [young, interrupted] = [await say(plimsoll, "young"), await say(plimsoll, "gone")];
    const order = { sessions: [interrupted], at: service.at, mostBytes: 1 };
    expect((await plimsoll.store.forget(order)).unfinished).toHaveLength(1);
    const config = { retention: { max_age: "30d" } };
    const parts = { now: () => service.at };
    const other = await openEngine({ data, isService: true, config, parts });
    await other.close();
    expect(await idsIn(plimsoll)).toEqual([young]);
    expect(await plimsoll.store.session(old)).toBeUndefined();
    const again = await plimsoll.store.forget({ sessions: [interrupted], at: service.at });
    expect(again.resumed).toEqual([]);
  });

  test("deletes the oldest sessions of a database that is too large, but none of the last hour", async () => {
    const service = await start({ max_size: "0.001MB" });
    const { plimsoll } = service;
    await say(plimsoll, "first");
    service.at += day;
    const [second, third] = [await say(plimsoll, "second"), await say(plimsoll, "third")];
    await plimsoll.forgetting.retain();
    expect(await idsIn(plimsoll)).toEqual([second, third].toSorted());
  });
});

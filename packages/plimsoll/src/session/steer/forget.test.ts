/** A session that is deleted while somebody still uses it: a turn, another process, the library. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { type Engine, type EngineOptions, openEngine } from "../../engine.ts";
import { PlimsollError } from "../../message/error.ts";
import type { PlimsollEvent } from "../../message/event.ts";
import { createMemoryStore } from "../../store/memory.ts";
import { wires } from "../../wire/wires.ts";
import type { ReceivedTurn } from "../turn/turn.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

function folder(): string {
  const data = mkdtempSync(join(tmpdir(), "plimsoll-forget-"));
  closing.push(() => rmSync(data, { recursive: true, maxRetries: 5 }));
  return data;
}

async function open(options: EngineOptions): Promise<Engine> {
  const engine = await openEngine(options);
  closing.push(engine.close);
  return engine;
}

const begin = (engine: Engine, words: readonly string[]): Promise<ReceivedTurn> =>
  engine.receive({
    tenant: "t",
    provider: "anthropic",
    wire: wires.anthropic,
    body: new TextEncoder().encode(
      JSON.stringify({
        model: "m",
        max_tokens: 9,
        messages: words.map((content, index) => ({
          role: index % 2 === 0 ? "user" : "assistant",
          content,
        })),
      }),
    ),
    hints: { isCompacted: false, clientKey: "client:talk" },
  });

async function say(engine: Engine, ...words: readonly string[]): Promise<string> {
  const turn = await begin(engine, words);
  const message = { role: "assistant", content: "Noted." };
  await turn.end({ status: "complete", answer: { outcome: "message", choices: [[message]] } });
  return turn.session;
}

const idsIn = async ({ store }: Engine): Promise<readonly string[]> =>
  (await store.sessions({ limit: 9 })).map(({ id }) => id);

test("a session that is deleted in its first turn is never stored", async () => {
  const engine = await open({ data: folder() });
  const turn = await begin(engine, ["Hello."]);
  expect(await engine.forgetting.forget([turn.session])).toMatchObject({ sessions: 1 });
  await turn.end({ status: "complete" });
  expect(await idsIn(engine)).toEqual([]);
  expect(await say(engine, "Hello.")).not.toBe(turn.session);
});

test("another process that has the session in memory cannot bring it back", async () => {
  const data = folder();
  const [one, other] = [await open({ data }), await open({ data })];
  const before = await say(one, "Hello.");
  const running = await begin(one, ["Hello.", "Noted.", "And now?"]);
  await other.forgetting.forget([before]);
  await running.end({ status: "complete" });
  expect(await idsIn(other)).toEqual([]);
  expect(await other.store.events({ session: before, after: 0, limit: 9 })).toMatchObject([
    { tenant: "t", event: { type: "session-forgotten" } },
  ]);
  const after = await say(one, "Hello.", "Noted.", "And now?");
  expect(after).not.toBe(before);
  expect(await idsIn(other)).toEqual([after]);
});

test("a session of the library goes on as a new one", async () => {
  const engine = await open({ data: folder() });
  const session = await engine.session({});
  const turn = async (text: string): Promise<unknown> => {
    await session.append({ role: "user", content: text });
    await session.prepare({ target: "anthropic/m" });
    return session.commit({ role: "assistant", content: [{ type: "text", text: "Noted." }] });
  };
  expect(await turn("Hello.")).toBe("stored");
  const before = session.id;
  await engine.forgetting.forget([before]);
  expect(await turn("And now?")).toBe("stored");
  expect(session.id).not.toBe(before);
  expect(await idsIn(engine)).toEqual([session.id]);
});

test("if the store fails, nothing is deleted, and a running turn is stored", async () => {
  const store = createMemoryStore();
  const forget = (): Promise<never> =>
    Promise.reject(new PlimsollError("STORE_FAILED", "The disk is full. Free some space."));
  const engine = await open({ store: "memory", parts: { store: { ...store, forget } } });
  const id = await say(engine, "Hello.");
  const running = await begin(engine, ["Hello.", "Noted.", "And now?"]);
  await expect(engine.forgetting.forget([id])).rejects.toMatchObject({
    code: "STORE_FAILED",
    message: "The disk is full. Free some space. Nothing was deleted.",
  });
  await running.end({ status: "complete" });
  expect(await store.turns(id, 9)).toHaveLength(2);
});

test("one event says which session went, with counts and without words", async () => {
  const engine = await open({ data: folder() });
  const events: PlimsollEvent[] = [];
  engine.subscribe(({ event }) => void events.push(event));
  const id = await say(engine, "Nobody may read this.");
  const held = await engine.forgetting.holdings([id]);
  expect(await engine.forgetting.forget([id])).toEqual({ ...held, unfinished: [] });
  const { sessions: _, ...counts } = held;
  const { at } = events.at(-1) ?? {};
  expect(events.at(-1)).toEqual({
    type: "session-forgotten",
    session: id,
    at,
    by: "hand",
    ...counts,
  });
  expect(counts).toMatchObject({ messages: 2, archiveEntries: 0 });
  const stored = await engine.store.events({ after: 0, limit: 9 });
  expect(stored.map(({ event }) => event)).toEqual([events.at(-1)]);
});

test("sessions that are not there cannot be deleted, and what is there goes without them", async () => {
  const engine = await open({ data: folder() });
  const id = await say(engine, "Hello.");
  const unknown = "ses_AAAAAAAAAAAAAAAAAAAAAA";
  await expect(engine.forgetting.forget([unknown])).rejects.toMatchObject({
    code: "SESSION_UNKNOWN",
    status: 404,
    message: expect.stringContaining(`There is no session ${unknown}`),
  });
  expect(await engine.forgetting.forget([unknown, id])).toMatchObject({ sessions: 1 });
  await expect(engine.forgetting.forget([unknown, id])).rejects.toThrow(/none of these sessions/);
});

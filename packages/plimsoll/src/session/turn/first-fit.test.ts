/** Plimsoll shuts down while a turn is being made to fit: the request is stored, and no new work starts. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Engine, openEngine } from "../../engine.ts";
import type { Strategy } from "../../message/strategy.ts";
import { wires } from "../../wire/wires.ts";
import type { Incoming } from "./context.ts";

const providers = { anthropic: { contextWindow: 20_000, tokenizer: "approximate" } };
const large = "cargo harbour ledger keel anchor42 draught ".repeat(6_000);
let data: string;
let storeErrors: string[];

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "plimsoll-first-fit-"));
  storeErrors = [];
});
afterEach(() => rmSync(data, { recursive: true, force: true }));

interface Begun {
  readonly plimsoll: Engine;
  /** A compaction has begun and is waiting. */
  readonly begun: Promise<void>;
  readonly goOn: () => void;
  /** Number of calls to a strategy. */
  readonly asked: () => number;
}

/** Strategies that propose nothing. The first one waits for a signal. */
async function open(): Promise<Begun> {
  const begun = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  let asked = 0;
  const slow: Strategy = {
    name: "slow",
    keepsTime: true,
    propose: async () => {
      asked++;
      begun.resolve();
      await told.promise;
      return [];
    },
  };
  const strategies = [slow, { ...slow, name: "next" }];
  const plimsoll = await openEngine({ data, config: { providers }, parts: { strategies } });
  plimsoll.on("store-error", ({ message }) => storeErrors.push(message));
  return { plimsoll, begun: begun.promise, goOn: told.resolve, asked: () => asked };
}

function incoming(...said: readonly string[]): Incoming {
  const messages = said.flatMap((content) => [
    { role: "user", content },
    { role: "assistant", content: "Yes." },
  ]);
  const body = { model: "m", max_tokens: 100, messages: messages.slice(0, -1) };
  return {
    tenant: "t",
    provider: "anthropic",
    wire: wires.anthropic,
    body: new TextEncoder().encode(JSON.stringify(body)),
    hints: { isCompacted: false },
  };
}

/** Reads from the database alone. */
async function stored() {
  const plimsoll = await openEngine({ data, config: { providers } });
  try {
    const [session] = await plimsoll.store.sessions({ limit: 1 });
    if (session === undefined) return undefined;
    const turns = await plimsoll.store.turns(session.id, 10);
    const snapshot = await plimsoll.store.snapshot(session.id);
    return {
      messages: snapshot?.nodes.length,
      turns: turns.map(({ status, outcome }) => `${status} ${outcome}`),
    };
  } finally {
    await plimsoll.close();
  }
}

test("a request that is being compacted is stored as it came, and not given to be sent", async () => {
  const { plimsoll, begun, goOn, asked } = await open();
  const receiving = plimsoll.receive(incoming("Mend it.", large, "Go on."));
  receiving.catch(() => undefined);
  await begun;
  await plimsoll.close();
  await expect(receiving).rejects.toMatchObject({ code: "CLOSED" });
  expect(await stored()).toEqual({ messages: 5, turns: ["aborted passthrough"] });
  // Whatever this strategy returns now, Plimsoll calls no other.
  goOn();
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked()).toBe(1);
  expect(storeErrors).toEqual([]);
});

test("a session that prepares a turn meanwhile is told, and what was said is stored", async () => {
  const { plimsoll, begun } = await open();
  const session = await plimsoll.session();
  for (const content of ["Mend it.", large]) await session.append({ role: "user", content });
  const preparing = session.prepare({ target: "anthropic/m" });
  preparing.catch(() => undefined);
  await begun;
  await plimsoll.close();
  await expect(preparing).rejects.toMatchObject({ code: "CLOSED" });
  expect(await stored()).toMatchObject({ turns: ["aborted passthrough"] });
  expect(storeErrors).toEqual([]);
});

test("a request that has only just come is stored before the product is closed", async () => {
  const { plimsoll } = await open();
  const receiving = plimsoll.receive(incoming("Mend it."));
  receiving.catch(() => undefined);
  await plimsoll.close();
  await expect(receiving).rejects.toMatchObject({ code: "CLOSED" });
  expect(await stored()).toEqual({ messages: 1, turns: ["aborted passthrough"] });
  expect(storeErrors).toEqual([]);
});

test("a turn that nobody ends is stored when the time is over, and to end it later changes nothing", async () => {
  const { plimsoll } = await open();
  const turn = await plimsoll.receive(incoming("Mend it."));
  await plimsoll.close();
  expect(await turn.end({ status: "complete" })).toBe("stored");
  expect(await stored()).toEqual({ messages: 1, turns: ["aborted passthrough"] });
  expect(storeErrors).toEqual([]);
});

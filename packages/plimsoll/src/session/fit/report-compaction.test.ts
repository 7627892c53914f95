/** Receipts: a compaction's report on itself, on every wire, and that it agrees with the request that was sent. */

import { afterEach, describe, expect, test } from "vitest";
import { diceOf } from "../../../demo/dice.ts";
import { requestsOf, WIRES } from "../../../test/generate/conversations.ts";
import { openWith, type Passed, pass } from "../../../test/generate/rehearsal.ts";
import { plainScript } from "../../../test/generate/script.ts";
import { prose } from "../../../test/harness/words.ts";
import { type Engine, openEngine } from "../../engine.ts";
import type { CompactionEndEvent } from "../../message/event.ts";
import { evidenceClasses } from "../../message/receipt.ts";
import { receiptsOf } from "../inspect/receipts.ts";
import { readArchived } from "../log/archive.ts";

const LIMIT = 1500;
const open: Engine[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

/** Resolves when all reports of a session are stored. */
async function receipts(
  plimsoll: Engine,
  session: string,
  count: number,
): Promise<readonly CompactionEndEvent[]> {
  for (let look = 0; look < 2_000; look++) {
    const found = await receiptsOf(plimsoll.store, session);
    if (found.length >= count) return found;
    // Large receipts are made in a thread, which may have to start first.
    await new Promise((go) => setTimeout(go, 5));
  }
  throw new Error(`There are no ${count} receipts.`);
}

describe.each(WIRES)("%s", (wire) => {
  async function talk(): Promise<{ plimsoll: Engine; passed: readonly Passed[] }> {
    const plimsoll = await openWith(LIMIT);
    open.push(plimsoll);
    const passed: Passed[] = [];
    const script = plainScript({ rounds: 20, steps: 2, characters: 300 });
    for (const request of requestsOf(wire, script))
      passed.push(await pass(plimsoll, wire, request));
    return { plimsoll, passed };
  }

  test("every compaction has one receipt, with the tokens, strategies and edits of its turn", async () => {
    const { plimsoll, passed } = await talk();
    const compacted = passed.filter(({ turn }) => turn.fitted.outcome === "compacted");
    expect(compacted.length).toBeGreaterThan(1);
    const session = passed[0]?.turn.session ?? "";
    const events = await receipts(plimsoll, session, compacted.length);
    expect(events.map(({ turn }) => turn)).toEqual(compacted.map(({ turn }) => turn.id));
    for (const [index, { receipt, edits, handles, tokensAfter, strategies }] of events.entries()) {
      const { turn, newEdits } = compacted[index] ?? {};
      expect(tokensAfter).toBe(turn?.fitted.measured.total);
      expect(receipt.tokensAfter).toBe(tokensAfter);
      expect(receipt.tokensBefore).toBeGreaterThan(receipt.tokensAfter);
      expect(receipt.strategies).toEqual(strategies);
      expect(strategies.length).toBeGreaterThan(0);
      expect(receipt.handles).toEqual(handles);
      expect(edits).toEqual(newEdits?.map(({ seq }) => seq));
      expect(receipt.coherence).toBeGreaterThan(0);
      expect(receipt.coherence).toBeLessThanOrEqual(1);
      expect(receipt.milliseconds).toBeGreaterThanOrEqual(0);
    }
  });

  test("what is said and what is behind the handle add up, and what is said stands in the request", async () => {
    const { plimsoll, passed } = await talk();
    const session = passed[0]?.turn.session ?? "";
    for (const { receipt, turn } of await receipts(plimsoll, session, 1)) {
      const { sentText = "" } = passed.find((one) => one.turn.id === turn) ?? {};
      const lines = evidenceClasses.map((name) => receipt.classes[name]);
      for (const line of lines) expect(line.verbatim + line.behindHandle).toBe(line.facts);
      const words = lines
        .flatMap(({ verbatimExamples }) => verbatimExamples)
        .flatMap(({ text }) => text.toLowerCase().match(/\w{4,}/g) ?? []);
      expect(words.length).toBeGreaterThan(0);
      const sent = sentText.toLowerCase();
      expect(words.filter((word) => !sent.includes(word))).toEqual([]);
    }
  });

  test("its handles open, and what is behind them has the messages that are named", async () => {
    const { plimsoll, passed } = await talk();
    const session = passed[0]?.turn.session ?? "";
    for (const { receipt } of await receipts(plimsoll, session, 1)) {
      expect(receipt.handles.length).toBeGreaterThan(0);
      for (const handle of receipt.handles) {
        const record = await plimsoll.store.archived("t", handle);
        if (record === undefined) throw new Error(`${handle} opens nothing.`);
        const page = await readArchived(plimsoll.store, record, { offset: 0, limit: 1_000_000 });
        const messages = JSON.parse(new TextDecoder().decode(page.content)) as unknown[];
        expect(messages.length).toBeGreaterThan(0);
      }
    }
  });
});

test("a rule of the user survives, and the receipt lists it as still said", async () => {
  const small = {
    contextWindow: 5_000,
    maxOutputTokens: 500,
    contextWindowBufferTokens: 500,
    tokenizer: "approximate",
  };
  const plimsoll = await openEngine({
    store: "memory",
    config: { providers: { anthropic: { models: { small } } } },
  });
  open.push(plimsoll);
  const session = await plimsoll.session();
  const random = diceOf(5);
  const rule = "Never touch the tests in tests/shop.";
  const said = ["Hello there.", `${rule} Start with the importer.`];
  for (let turn = 0; turn < 30; turn++) {
    await session.append({ role: "user", content: said[turn] ?? prose(random, 250) });
    await session.prepare({ target: "anthropic/small" });
    await session.commit({
      role: "assistant",
      content: [{ type: "text", text: "Noted." }],
      stop_reason: "end_turn",
    });
  }
  const events = await receipts(plimsoll, session.id, 2);
  for (const { receipt } of events) {
    const rules = [...receipt.classes.constraint.verbatimExamples].map(({ text }) => text);
    expect(rules).toContain(rule);
  }
});

test("what nobody could read is no reason to fail: binary, empty and endless messages", async () => {
  const small = {
    contextWindow: 5_000,
    maxOutputTokens: 500,
    contextWindowBufferTokens: 500,
    tokenizer: "approximate",
  };
  const plimsoll = await openEngine({
    store: "memory",
    config: { providers: { openai: { models: { small } } } },
  });
  open.push(plimsoll);
  const session = await plimsoll.session();
  const garbage = Array.from({ length: 4_000 }, (_, at) =>
    String.fromCharCode((at * 7919) % 65_536),
  ).join("");
  const results = [
    garbage,
    "",
    "x".repeat(300_000),
    "\\".repeat(20_000),
    "[".repeat(9_000),
    "\n".repeat(5_000),
  ];
  await session.append({ role: "user", content: "Read all of it." });
  for (const [number, content] of results.entries()) {
    await session.prepare({ target: "openai/small" });
    const call = {
      id: `c${number}`,
      type: "function",
      function: { name: "read", arguments: "{}" },
    };
    await session.commit({
      choices: [
        {
          message: { role: "assistant", content: null, tool_calls: [call] },
          finish_reason: "tool_calls",
        },
      ],
    });
    await session.append({ role: "tool", tool_call_id: `c${number}`, content });
  }
  await session.prepare({ target: "openai/small" });
  const [event] = await receipts(plimsoll, session.id, 1);
  expect(event?.receipt.tokensAfter).toBeLessThan(event?.receipt.tokensBefore ?? 0);
});

/**
 * A list of messages reduced to a budget, outside any session: it fits, it is valid, it has no handles, and nothing is recorded.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requestsOf, WIRES } from "../../../test/generate/conversations.ts";
import { MESSAGES_FIELD, violationsOf, withMessages } from "../../../test/generate/rehearsal.ts";
import { plainScript } from "../../../test/generate/script.ts";
import type { Wire } from "../../../test/harness/json.ts";
import { type Engine, openEngine } from "../../engine.ts";
import { PlimsollError } from "../../message/error.ts";
import type { JsonObject } from "../../message/json.ts";
import { wires } from "../../wire/wires.ts";

let plimsoll: Engine;
beforeAll(async () => {
  plimsoll = await openEngine({ store: "memory" });
});
afterAll(() => plimsoll.close());

const SCRIPT = plainScript({ rounds: 12, steps: 2, characters: 500 });

interface Long {
  readonly messages: readonly JsonObject[];
  readonly bodyText: string;
}

/** The last request of a long conversation. */
function longOn(wire: Wire): Long {
  const body = new TextDecoder().decode(requestsOf(wire, SCRIPT).at(-1)?.body);
  const parsed = JSON.parse(body) as Readonly<Record<string, readonly JsonObject[]>>;
  return { messages: parsed[MESSAGES_FIELD[wire]] ?? [], bodyText: body };
}

test("a budget that the caller names holds, even if the newest result alone is larger", async () => {
  const lines = Array.from({ length: 400 }, (_, index) => `line ${index}: value ${index * 7919}`);
  const messages = [
    { role: "user", content: "Read the log and say why it fails." },
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "toolu_1", name: "read", input: { path: "app.log" } }],
    },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "toolu_1", content: lines.join("\n") }],
    },
  ];
  const done = await plimsoll.compactMessages({ wire: wires.anthropic, messages, budget: 800 });
  expect(done.tokensBefore).toBeGreaterThan(3_000);
  expect(done.tokensAfter).toBeLessThanOrEqual(800);
  expect(JSON.stringify(done.messages)).toContain("line 399: value");
});

describe.each(WIRES)("%s", (wire) => {
  const long = longOn(wire);
  const task = { wire: wires[wire], messages: long.messages };

  test.each([0.7, 0.4, 0.2])(
    "a conversation is brought to %d of its tokens, and stays valid",
    async (share) => {
      const whole = await plimsoll.compactMessages({ ...task, budget: 1_000_000 });
      const budget = Math.floor(whole.tokensBefore * share);
      const done = await plimsoll.compactMessages({ ...task, budget });
      expect(done.tokensBefore).toBe(whole.tokensBefore);
      expect(done.tokensAfter).toBeLessThanOrEqual(budget);
      expect(done.strategies.length).toBeGreaterThan(0);
      const again = await plimsoll.compactMessages({
        ...task,
        messages: done.messages,
        budget: 1_000_000,
      });
      expect(again.tokensBefore).toBe(done.tokensAfter);
      const sentText = withMessages(
        wire,
        long.bodyText,
        done.messages.map((one) => JSON.stringify(one)),
      );
      expect(findings(wire, long.bodyText, sentText)).toEqual([]);
      expect(JSON.stringify(done.messages)).not.toMatch(/pl_[0-9A-Za-z]{22}/);
    },
  );

  test("what fits already comes back as it is", async () => {
    const done = await plimsoll.compactMessages({ ...task, budget: 1_000_000 });
    expect(done.messages).toEqual(long.messages);
    expect(done.strategies).toEqual([]);
    expect(done.tokensAfter).toBe(done.tokensBefore);
  });

  test("the same list gives the same result", async () => {
    const [one, other] = [
      await plimsoll.compactMessages({ ...task, budget: 1_500 }),
      await plimsoll.compactMessages({ ...task, budget: 1_500 }),
    ];
    expect(other.messages).toEqual(one.messages);
  });

  test("what cannot be brought to its budget is refused, and says what must stay", async () => {
    const error: unknown = await plimsoll
      .compactMessages({ ...task, budget: 5 })
      .catch((thrown) => thrown);
    if (!PlimsollError.is(error)) throw new Error("nothing was thrown");
    expect(error.code).toBe("BREAKER_FAILED");
    expect(error.fields["budget"]).toBe(5);
    expect(error.fields["tokens"]).toBeGreaterThan(5);
    expect(error.message).toMatch(/cannot be reduced to 5 tokens, because \d+ must stay/);
  });

  test("a receipt is made when it is asked for, without handles", async () => {
    const done = await plimsoll.compactMessages({ ...task, budget: 1_500 });
    const receipt = await done.receipt();
    expect(receipt).toMatchObject({
      tokensBefore: done.tokensBefore,
      tokensAfter: done.tokensAfter,
      handles: [],
    });
    expect(receipt.strategies).toEqual(done.strategies);
  });
});

function findings(wire: Wire, clientText: string, sentText: string): readonly unknown[] {
  const target = { model: "model" };
  const turn = { fitted: { target } };
  return violationsOf({ wire, clientText, sentText, turn } as unknown as Parameters<
    typeof violationsOf
  >[0]);
}

test("nothing is recorded", async () => {
  expect(await plimsoll.store.sessions({ limit: 10 })).toEqual([]);
  expect(await plimsoll.store.errors({ limit: 10 })).toEqual([]);
});

test("messages are counted as the caller wants", async () => {
  const messages = longOn("openai-chat").messages;
  const count = { tokenizer: "tiktoken:o200k_base", textsOf: () => ["one two three"] };
  const done = await plimsoll.compactMessages({
    wire: wires["openai-chat"],
    messages,
    budget: 1_000_000,
    count,
  });
  const one = await plimsoll.compactMessages({
    wire: wires["openai-chat"],
    messages: messages.slice(0, 1),
    budget: 1_000_000,
    count,
  });
  expect(done.tokensBefore).toBe(messages.length * one.tokensBefore);
});

test("no messages, and messages of no kind, do no harm", async () => {
  const wire = wires["openai-chat"];
  const none = await plimsoll.compactMessages({ wire, messages: [], budget: 100 });
  expect(none.messages).toEqual([]);
  const odd = [{ role: "alien", content: 17 }, { hello: "world" }];
  const done = await plimsoll.compactMessages({ wire, messages: odd, budget: 10_000 });
  expect(done.messages).toEqual(odd);
});

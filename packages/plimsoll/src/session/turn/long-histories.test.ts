/** First requests with thousands of messages: what other requests see meanwhile, and what stays of such a history. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { type Engine, openEngine } from "../../engine.ts";
import type { JsonObject } from "../../message/json.ts";
import { validate } from "../../wire/validate/validate.ts";
import { wires } from "../../wire/wires.ts";
import type { ReceivedTurn } from "./turn.ts";

const open: Engine[] = [];
afterEach(async () => {
  for (const engine of open.splice(0)) await engine.close();
});

async function engineWith(contextWindow: number): Promise<Engine> {
  const providers = { anthropic: { contextWindow, tokenizer: "approximate" } };
  const engine = await openEngine({ store: "memory", config: { providers } });
  open.push(engine);
  return engine;
}

type Hints = Partial<Parameters<Engine["receive"]>[0]["hints"]>;

function ask(
  engine: Engine,
  messages: readonly object[],
  more: { readonly hints?: Hints; readonly fields?: object } = {},
): Promise<ReceivedTurn> {
  const body = { model: "m", max_tokens: 100, messages, ...more.fields };
  return engine.receive({
    tenant: "t",
    provider: "anthropic",
    wire: wires.anthropic,
    body: new TextEncoder().encode(JSON.stringify(body)),
    hints: { isCompacted: false, ...more.hints },
  });
}

/** From message `from` on, the words are others. */
function talk(count: number, from = count): readonly object[] {
  return Array.from({ length: count }, (_, at) => ({
    role: at % 2 === 0 ? "user" : "assistant",
    content: `words ${at} of the talk${at >= from ? ", in other words" : ""}`,
  }));
}

test("while a long history is added in steps, no other request sees half of it", async () => {
  for (const delay of [1, 3, 8]) {
    const engine = await engineWith(900_000);
    const named = { hints: { clientKey: "k" } };
    const first = await ask(engine, talk(1), named);
    await first.end({ status: "complete" });
    const one = ask(engine, talk(2501), named);
    for (let turn = 0; turn < delay; turn++) await nextTurn();
    const two = ask(engine, talk(2501, 2000), { hints: { sessionId: first.session } });
    const [a, b] = await Promise.all([one, two]);
    expect(a.branch).not.toBe(b.branch);
    expect(a.placed.log.branches.size).toBe(2);
    for (const turn of [a, b]) {
      const { record, inFlight } = turn.placed.branch;
      expect([record.tipSeq, inFlight]).toEqual([turn.placed.tip.seq, 1]);
      await turn.end({ status: "complete" });
    }
  }
}, 60_000);

function step(at: number, lines: number): readonly object[] {
  const text = Array.from(
    { length: lines },
    (_, row) => `step ${at}, row ${row}: cargo_${at * row}`,
  );
  return [
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: `About step ${at}.`, signature: `signed ${at}` },
        {
          type: "tool_use",
          id: `toolu_${at}`,
          name: "bash",
          input: { command: `make step_${at}` },
        },
      ],
    },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: `toolu_${at}`, content: text.join("\n") }],
    },
  ];
}

test.each([4_000, 9_000])(
  "one question and hundreds of steps with thinking: the first step, of %d lines, leaves room for the others",
  async (lines) => {
    const engine = await engineWith(60_000);
    const steps = Array.from({ length: 399 }, (_, at) => step(at + 2, 60));
    const messages = [{ role: "user", content: "Mend it." }, ...step(1, lines), ...steps.flat()];
    const fields = {
      tools: [{ name: "bash", input_schema: { type: "object" } }],
      thinking: { type: "enabled", budget_tokens: 1024 },
    };
    const turn = await ask(engine, messages, { fields });
    expect(turn.fitted.outcome).toBe("compacted");
    expect(turn.fitted.tokensAfter).toBeLessThan(45_000);
    const sent = JSON.parse(new TextDecoder().decode(turn.body)) as JsonObject;
    expect(sent["messages"]).toHaveProperty(
      "length",
      expect.toSatisfy((count) => count > 100),
    );
    expect(validate({ wire: "anthropic", body: sent })).toEqual([]);
    await turn.end({ status: "complete" });
  },
  60_000,
);

/** What Plimsoll learns from a provider's "too long" error, and that it then sends as much as the window has room for. */

import { expect, test } from "vitest";
import {
  called,
  requestOf,
  result,
  said,
  tokensOfText,
  tool,
} from "../../../test/generate/bodies.ts";
import { receive } from "../../../test/generate/rehearsal.ts";
import { handlesIn } from "../../../test/harness/kept.ts";
import { type Engine, openEngine } from "../../engine.ts";

const wire = "anthropic";

function opened(contextWindow?: number): Promise<Engine> {
  const window = contextWindow === undefined ? {} : { contextWindow };
  const providers = { anthropic: { tokenizer: "approximate", ...window } };
  const agent = { context_budget: "window" } as const;
  return openEngine({ store: "memory", config: { providers, agent } });
}

/** A text of this many tokens, in different lines. */
function lines(name: string, tokens: number): string {
  const count = Math.ceil((tokens * 4) / 38);
  const line = (at: number): string => `row ${name}.${at}: value = compute(${at * 7919})`;
  return Array.from({ length: count }, (_, at) => line(at)).join("\n");
}

test("a window of a million that a header asks for is still one after an overflow: the answer is shorter, and nothing leaves", async () => {
  const plimsoll = await opened();
  const messages = [said("Look.")];
  for (let at = 0; at < 60; at++)
    messages.push(called(wire, `c${at}`), result(wire, `c${at}`, lines(`${at}`, 12_000)));
  const { body } = requestOf(wire, messages, { tools: [tool(wire)], max_tokens: 64_000 });
  const headers = { "anthropic-beta": "context-1m-2025-08-07" };
  const turn = await receive(plimsoll, wire, body, { headers });
  expect(turn.fitted.outcome).toBe("passthrough");
  const isAgain = await turn.overflowed({
    ...{ kind: "input+output", inputTokens: 950_000, maxTokens: 64_000 },
    ...{ needTokens: 1_014_000, limitTokens: 1_000_000 },
  } as const);
  expect(isAgain).toBe(true);
  expect(turn.fitted).toMatchObject({ outcome: "passthrough", tokensAfter: 950_000 });
  expect(turn.fitted.target.limit.window).toBe(1_000_000);
  const { maxTokens = 0 } = turn.shortened?.sent ?? {};
  expect(maxTokens).toBeGreaterThan(32_000);
  expect(950_000 + maxTokens).toBeLessThan(1_000_000);
  await turn.end({ status: "failed" });
  await plimsoll.close();
});

test("what the model has looked up in a turn that turns out too long is counted once", async () => {
  const window = 40_000;
  const plimsoll = await opened(window);
  const large = result(wire, "c1", lines("large", 18_000));
  const messages = [said(tokensOfText(20_000)), called(wire, "c1"), large];
  const { body } = requestOf(wire, messages, { tools: [tool(wire)], max_tokens: 10_000 });
  const turn = await receive(plimsoll, wire, body);
  const view = turn.fitted.measured.total;
  const [handle = ""] = handlesIn(new TextDecoder().decode(turn.body));
  const input = { ref_id: handle, limit: 12_000 };
  const lookup = { type: "tool_use", id: "toolu_own", name: "read_result", input };
  const answer = {
    outcome: "message",
    choices: [[{ role: "assistant", content: [lookup] }]],
    usage: { inputTokens: view, outputTokens: 30 },
  } as const;
  expect(await turn.rounds?.answered(answer)).toBe("again");
  const lookedUp = turn.rounds?.tokens ?? 0;
  expect(lookedUp).toBeGreaterThan(2_000);
  // The provider counts as Plimsoll does, and adds some thousand tokens of its own.
  const inputTokens = view + lookedUp + 8_000;
  const isAgain = await turn.overflowed({
    ...{ kind: "input+output", inputTokens, maxTokens: 10_000 },
    ...{ needTokens: inputTokens + 10_000, limitTokens: window },
  } as const);
  expect(isAgain).toBe(true);
  expect(turn.fitted.measured.total).toBe(view);
  expect(turn.fitted.tokensAfter).toBe(view + 8_000);
  const { maxTokens = 0 } = turn.shortened?.sent ?? {};
  expect(inputTokens + maxTokens).toBeLessThanOrEqual(window);
  expect(maxTokens).toBeGreaterThan((window - inputTokens) * 0.7);
  await turn.end({ status: "failed" });
  await plimsoll.close();
});

test("a window that the provider has named holds for the rest of the turn", async () => {
  const plimsoll = await opened(100_000);
  const old = Array.from({ length: 12 }, (_, at) => [
    called(wire, `c${at}`),
    result(wire, `c${at}`, lines(`${at}`, 2400)),
  ]).flat();
  const large = [called(wire, "large"), result(wire, "large", lines("large", 40_000))];
  const messages = [said("Look."), ...old, ...large];
  const { body } = requestOf(wire, messages, { tools: [tool(wire)], max_tokens: 32_000 });
  const turn = await receive(plimsoll, wire, body);
  const needTokens = turn.fitted.measured.total;
  expect(await turn.overflowed({ kind: "input", needTokens, limitTokens: 26_000 })).toBe(true);
  const call = { type: "tool_use", id: "toolu_own", name: "compact_context", input: {} };
  const usage = { inputTokens: turn.fitted.measured.total, outputTokens: 30 };
  const answer = {
    outcome: "message",
    choices: [[{ role: "assistant", content: [call] }]],
  } as const;
  expect(await turn.rounds?.answered({ ...answer, usage })).toBe("again");
  expect(turn.fitted.target.limit.window).toBe(26_000);
  const sent = JSON.parse(new TextDecoder().decode(turn.body)) as { readonly max_tokens: number };
  expect(turn.fitted.tokensAfter + sent.max_tokens).toBeLessThanOrEqual(26_000);
  await turn.end({ status: "failed" });
  await plimsoll.close();
});

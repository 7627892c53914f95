/** The next provider when one is full, in the library: the caller sends the request with its own client for that provider. */

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { openPlimsoll, type Plimsoll, type PreparedTurn } from "../../src/index.ts";
import { call, reply, text } from "../harness/answer.ts";
import { startUpstream, type Upstream } from "../harness/upstream.ts";
import { prose } from "../harness/words.ts";

const open: (Plimsoll | Upstream)[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

const tokenizer = "tiktoken:o200k_base";
const small = {
  contextWindow: 8_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer,
};
const tools = [{ name: "look", description: "Looks.", parameters: { type: "object" } }];
const spoken = reply(text("Aye."), call("call_1", "look", { at: "deck" }));
const busy = Object.assign(new Error("Overloaded"), { status: 529 });

async function opened(targets: Record<string, string[]>, api: "chat" | "responses" = "chat") {
  const upstream = await startUpstream({ script: () => spoken });
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: {
      targets,
      providers: {
        anthropic: { models: { small } },
        openai: { api, models: { small } },
        gemini: {},
      },
    },
  });
  open.push(plimsoll, upstream);
  const anthropic = new Anthropic({ apiKey: "k", baseURL: upstream.url, maxRetries: 0 });
  const openai = new OpenAI({ apiKey: "k", baseURL: `${upstream.url}/v1`, maxRetries: 0 });
  const send = ({ wire, request }: PreparedTurn): Promise<unknown> => {
    const body = request as never;
    if (wire === "anthropic") return anthropic.messages.create(body);
    return wire === "openai-chat"
      ? openai.chat.completions.create(body)
      : openai.responses.create(body);
  };
  return { plimsoll, upstream, send };
}

describe.each([
  ["anthropic/small", "openai/gpt-4.1", "chat", "openai-chat"],
  ["anthropic/small", "openai/gpt-4.1", "responses", "openai-responses"],
  ["openai/small", "anthropic/claude-haiku-4-5", "chat", "anthropic"],
] as const)("%s, then %s (%s)", (target, next, api, wire) => {
  test.each([false, true])(
    "a view that cannot be made to fit goes to the next provider, and the answer comes home (stream: %s)",
    async (stream) => {
      const { plimsoll, upstream, send } = await opened({ small: [next] }, api);
      const session = await plimsoll.session();
      const words = prose(diceOf(5), 20_000);
      await session.append({ role: "user", content: words });
      const options = { target, tools, system: "You load ships.", extra: { stream } };
      const turn = await session.prepare(options);
      expect([turn.outcome.kind, turn.target, turn.wire]).toEqual(["passthrough", next, wire]);
      expect(JSON.stringify(turn.request)).toContain(words.slice(0, 100));
      const answer = await send(turn);
      expect(await session.commit(answer)).toBe("stored");
      const asked = { id: "call_1", name: "look" };
      await session.append(session.toolBudget.reserve(asked, "Nothing to see.").message);
      // The conversation is still too long for its own provider, and its history has the other one's answer.
      const after = await session.prepare(options);
      expect(after.target).toBe(next);
      await session.commit(await send(after));
      expect(upstream.refusals.invalid).toEqual([]);
      const last = JSON.parse(String(upstream.requests.at(-1)?.body)) as object;
      expect(JSON.stringify(last)).toContain("Nothing to see.");
      expect(JSON.stringify(last)).toContain("call_1");
    },
  );

  test("an overloaded provider is skipped, for this turn alone", async () => {
    const { plimsoll, upstream, send } = await opened({ small: [next] }, api);
    const failovers: unknown[] = [];
    plimsoll.on("failover", ({ from, to }) => failovers.push([from, to]));
    const session = await plimsoll.session();
    await session.append({ role: "user", content: "Look." });
    const first = await session.prepare({ target, tools });
    expect([first.target, first.notUsed]).toEqual([target, []]);
    const second = await session.overflowed(busy);
    expect([second?.target, second?.wire]).toEqual([next, wire]);
    const answer = second && (await send(second));
    expect(second?.toolCalls(answer).map(({ name }) => name)).toEqual(["look"]);
    await session.commit(answer);
    expect(failovers).toEqual([[target, next]]);
    const asked = { id: "call_1", name: "look" };
    await session.append(session.toolBudget.reserve(asked, "Nothing to see.").message);
    const third = await session.prepare({ target, tools });
    expect(third.target).toBe(target);
    await session.commit(await send(third));
    expect(upstream.refusals.invalid).toEqual([]);
    expect(await session.overflowed(busy)).toBeUndefined();
  });
});

test("a provider that cannot take the request is named with its reason, and the turn is the last one", async () => {
  const { plimsoll } = await opened({ small: ["gemini/gemini-3-pro", "openai/small"] });
  const session = await plimsoll.session();
  await session.append({ role: "user", content: prose(diceOf(6), 7_600) });
  const turn = await session.prepare({ target: "anthropic/small", tools });
  expect([turn.outcome.kind, turn.target]).toEqual(["final", "anthropic/small"]);
  expect(turn.notUsed).toEqual([
    "gemini/gemini-3-pro: Plimsoll does not translate Gemini's requests and answers",
    expect.stringMatching(
      /^openai\/small: its window of 8000 tokens has no room for \d+ tokens and an answer$/,
    ),
  ]);
});

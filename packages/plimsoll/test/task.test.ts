/** `x-plimsoll-task`: an automatic fresh start tells the model to continue the client's task. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { reply, text } from "./harness/answer.ts";
import type { JsonObject } from "./harness/json.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { prose } from "./harness/words.ts";

let upstream: Upstream;
let service: Service;
const sent: { readonly body: string; readonly headers: string }[] = [];

beforeAll(async () => {
  upstream = await startUpstream({
    script: ({ body, headers }) => {
      sent.push({ body: JSON.stringify(body), headers: JSON.stringify(headers) });
      return reply(text("Noted."));
    },
  });
  const model = { contextWindow: 8_000, maxOutputTokens: 500, contextWindowBufferTokens: 500 };
  service = await startService({
    upstreams: {},
    config: {
      providers: { anthropic: { baseUrl: upstream.url, models: { "claude-sonnet-4-6": model } } },
      // Nothing that is said here is long enough for this chain, so it fails, and Plimsoll starts afresh.
      context_config: {
        breaking_strategy: {
          chain_order: ["content_type_chunking"],
          truncate: { last_resort: false },
        },
      },
    },
  });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

/** Talks until the window is full. The header comes with the first request, or with each. Returns the handover. */
async function handover(name: string, taskOf: (turn: number) => string): Promise<string> {
  const random = diceOf(3);
  const history: JsonObject[] = [];
  for (let turn = 0; turn < 30; turn++) {
    history.push({ role: "user", content: prose(random, 300) });
    const task = taskOf(turn);
    const asked = await ask(service.url, {
      wire: "anthropic",
      body: { ...bodyOf("anthropic", [...history]), max_tokens: 500 },
      headers: {
        "x-plimsoll-session": name,
        ...(task === "" ? {} : { "x-plimsoll-task": task }),
      },
    });
    expect(asked.status, asked.answer).toBe(200);
    history.push(asked.message);
    const [words] = /Handover\.[^"]{0,200}/.exec(sent.at(-1)?.body ?? "") ?? [];
    if (words !== undefined) return words;
  }
  throw new Error("30 turns, and Plimsoll did not start afresh.");
}

test("the task stays known if only one request names it", async () => {
  expect(await handover("once", (turn) => (turn === 1 ? "TK-42" : ""))).toContain(
    "Continue task TK-42.",
  );
});

test("the newest task counts", async () => {
  expect(await handover("newest", (turn) => `TK-${turn}`)).toMatch(/Continue task TK-[1-9]\d+\./);
});

test("without a task, the handover names none", async () => {
  expect(await handover("none", () => "")).not.toContain("Continue task");
});

test("the provider does not get the header", () => {
  expect(sent.map(({ headers }) => headers).join()).not.toContain("x-plimsoll-task");
});

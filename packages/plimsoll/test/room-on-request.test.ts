/** Over HTTP: room on request at any fill, and a milestone after which the conversation starts afresh. */

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { call, reply, text } from "./harness/answer.ts";
import type { Reply } from "./harness/answer-parts.ts";
import type { JsonObject } from "./harness/json.ts";
import { type Asked, ask, bodyOf } from "./harness/raw-client.ts";
import { OWNER_TOKEN, type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually } from "./harness/waiting.ts";
import { prose } from "./harness/words.ts";

let upstream: Upstream;
let service: Service;
let script: Reply[] = [];
let sent: string[] = [];

beforeAll(async () => {
  upstream = await startUpstream({
    script: ({ body }) => {
      sent.push(JSON.stringify(body));
      return script.shift() ?? reply(text("Noted."));
    },
  });
  const model = { contextWindow: 16_000, maxOutputTokens: 500, contextWindowBufferTokens: 500 };
  service = await startService({
    upstreams: {},
    config: {
      providers: { anthropic: { baseUrl: upstream.url, models: { "claude-sonnet-4-6": model } } },
      own_tools: "first-request",
    },
  });
});
beforeEach(() => {
  script = [];
  sent = [];
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

const tools = [{ name: "look", input_schema: { type: "object" } }];

function say(name: string, history: readonly JsonObject[]): Promise<Asked> {
  return ask(service.url, {
    wire: "anthropic",
    body: { ...bodyOf("anthropic", [...history]), max_tokens: 500, tools },
    headers: { "x-plimsoll-session": name },
  });
}

/** A fifth of the window. */
async function talk(name: string): Promise<{ session: string; history: JsonObject[] }> {
  const random = diceOf(17);
  const history: JsonObject[] = [];
  let session = "";
  for (let turn = 0; turn < 8; turn++) {
    history.push({ role: "user", content: prose(random, 250) });
    const asked = await say(name, history);
    session = asked.sessionId;
    history.push(asked.message);
  }
  return { session, history };
}

async function post(path: string, body: JsonObject): Promise<{ status: number; body: JsonObject }> {
  const response = await fetch(`${service.url}/api/sessions/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
}

test("POST …/compact makes room at any fill, once", async () => {
  const { session } = await talk("by hand");
  const { status, body } = await post(`${session}/compact`, {});
  expect(status, JSON.stringify(body)).toBe(200);
  expect(Number(body["tokensAfter"])).toBeLessThan(Number(body["tokensBefore"]) * 0.8);
  expect(Number(body["limit"])).toBeGreaterThan(Number(body["tokensBefore"]) * 3);
  const again = await post(`${session}/compact`, {});
  expect([again.status, JSON.stringify(again.body)]).toEqual([
    409,
    expect.stringContaining("There is nothing to take out"),
  ]);
});

test("compact_context makes room at any fill, in the middle of a turn", async () => {
  const { history } = await talk("by the model");
  history.push({ role: "user", content: "Make room, something large is coming." });
  script = [reply(call("toolu_room", "compact_context", {})), reply(text("Done."))];
  sent = [];
  const asked = await say("by the model", history);
  expect(asked.answer).toContain("Done.");
  expect(sent).toHaveLength(2);
  const result = /Compacted: (\d+) → (\d+) tokens/.exec(sent[1] ?? "");
  const receipts = await eventually(5_000, "the receipt", async () => {
    const { items } = await service.api<{ items: readonly JsonObject[] }>(
      `/api/sessions/${asked.sessionId}/receipts`,
    );
    return items.length === 0 ? undefined : JSON.stringify(items);
  });
  expect(receipts).toContain('"reason":"asked"');
  expect(Number(result?.[2]), sent[1]?.slice(-600)).toBeLessThan(Number(result?.[1]) * 0.8);
});

test("after a milestone, the next turn starts afresh, with the task in the caller's words", async () => {
  const { session, history } = await talk("milestone");
  const wish = { reason: "P1 is complete.", task: "T-42" };
  expect(await post(`${session}/milestone`, wish)).toEqual({
    status: 200,
    body: { branch: "main" },
  });
  history.push({ role: "user", content: "Go on." });
  const asked = await say("milestone", history);
  expect(asked.headers.get("x-plimsoll-action")).toBe("recovered");
  expect(sent.at(-1)).toContain("T-42");
  const unknown = await post("ses_0000000000000000000000/milestone", {});
  expect(unknown.status).toBe(404);
});

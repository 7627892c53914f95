/** `x-plimsoll-priority` and the route `tag`: what a client says about its messages, and what it may not say. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { reply, text } from "./harness/answer.ts";
import type { JsonObject } from "./harness/json.ts";
import { type Asked, ask, bodyOf } from "./harness/raw-client.ts";
import { OWNER_TOKEN, type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { prose } from "./harness/words.ts";

let upstream: Upstream;
let service: Service;
const sent: string[] = [];

beforeAll(async () => {
  upstream = await startUpstream({
    script: ({ body }) => {
      sent.push(JSON.stringify(body));
      return reply(text("Noted."));
    },
  });
  const model = { contextWindow: 8_000, maxOutputTokens: 500, contextWindowBufferTokens: 500 };
  service = await startService({
    upstreams: {},
    config: {
      providers: { anthropic: { baseUrl: upstream.url, models: { "claude-sonnet-4-6": model } } },
    },
  });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

async function call(
  path: string,
  body?: JsonObject,
): Promise<{ status: number; body: JsonObject }> {
  const response = await fetch(`${service.url}/api/sessions/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
}

interface Unit {
  readonly first?: number;
  readonly priority?: number;
  readonly begins: string;
}

async function unitsOf(session: string): Promise<readonly Unit[]> {
  return (await call(`${session}/window`)).body["units"] as unknown as readonly Unit[];
}

function say(name: string, history: readonly JsonObject[], headers = {}): Promise<Asked> {
  return ask(service.url, {
    wire: "anthropic",
    body: { ...bodyOf("anthropic", [...history]), max_tokens: 500 },
    headers: { "x-plimsoll-session": name, ...headers },
  });
}

const SECRET = `The harbour gate code is 7714. ${prose(diceOf(99), 250)}`;

/** Sends the secret early, with or without a header, and fills the window. Returns the session. */
async function fill(name: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const random = diceOf(3);
  const history: JsonObject[] = [];
  let session = "";
  for (let turn = 0; turn < 24; turn++) {
    history.push({ role: "user", content: turn === 2 ? SECRET : prose(random, 300) });
    const asked = await say(name, history, turn === 2 ? headers : {});
    expect(asked.status, asked.answer).toBe(200);
    session = asked.sessionId;
    history.push(asked.message);
  }
  return session;
}

test("x-plimsoll-priority gives the messages of its request their priority, and they are taken out last", async () => {
  const session = await fill("important", { "x-plimsoll-priority": "1" });
  expect(sent.at(-1)).toContain(JSON.stringify(SECRET).slice(1, -1));
  const ranked = (await unitsOf(session)).filter(({ priority }) => priority !== undefined);
  expect(ranked.map(({ priority, begins }) => [priority, begins.slice(0, 11)])).toEqual([
    [1, "The harbour"],
    [1, "Noted."],
  ]);
  await fill("usual", {});
  expect(sent.at(-1)).not.toContain(JSON.stringify(SECRET).slice(1, -1));
});

test.each(["0", "9", "high"])("a priority of %s gets a clear sentence", async (priority) => {
  const before = sent.length;
  const asked = await say("wrong", [{ role: "user", content: "Hi." }], {
    "x-plimsoll-priority": priority,
  });
  expect(asked.status).toBe(400);
  expect(asked.answer).toContain("x-plimsoll-priority must be 1, 2 or 3");
  expect(sent.length).toBe(before);
});

test("a message that is already in the log can be tagged, and an unknown one gets a clear sentence", async () => {
  const asked = await say("tagged", [{ role: "user", content: "Remember the lighthouse." }]);
  const session = asked.sessionId;
  const [unit] = await unitsOf(session);
  const message = unit?.first ?? 0;
  expect((await call(`${session}/tag`, { message, priority: 1 })).status).toBe(200);
  expect((await unitsOf(session))[0]).toMatchObject({ priority: 1 });
  const unknown = await call(`${session}/tag`, { message: 99, priority: 1 });
  expect(unknown.status).toBe(404);
  expect(JSON.stringify(unknown.body)).toContain("There is no message 99 in this session.");
  const wrong = await call(`${session}/tag`, { message, priority: 9 });
  expect(wrong.status).toBe(400);
  expect(JSON.stringify(wrong.body)).toContain("priority");
});

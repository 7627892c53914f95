/** "Too long" where it is easily missed: behind the frame of an answer, inside a good status, after some words, for one tenant. */

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { type JsonObject, WIRES, type Wire } from "./harness/json.ts";
import { figure } from "./harness/metrics-page.ts";
import { overflowBody } from "./harness/overflow.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { OWNER_TOKEN, readEdits, type Service, startService } from "./harness/service.ts";
import { outputLimit, providersAt } from "./harness/wires.ts";
import { prose } from "./harness/words.ts";

interface Said {
  readonly status?: number;
  readonly type?: string;
  readonly body: string;
}

let answers: Said[] = [];
let received: string[] = [];
let server: Server;
let service: Service;

const settings = {
  contextWindow: 8_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    received.push(body);
    const said = answers.shift() ?? fine(request.url ?? "");
    const type = said.type ?? "application/json";
    response.writeHead(said.status ?? 200, { "content-type": type }).end(said.body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  service = await startService({
    upstreams: {},
    config: {
      providers: providersAt(baseUrl, settings),
    },
  });
});
beforeEach(() => {
  answers = [];
  received = [];
});
afterAll(async () => {
  await service.stop();
  server.close();
});

const sse = (...events: readonly (JsonObject | string)[]): Said => ({
  type: "text/event-stream",
  body: events
    .map((event) =>
      typeof event === "string"
        ? `data: ${event}\n\n`
        : `${"type" in event ? `event: ${String(event["type"])}\n` : ""}data: ${JSON.stringify(event)}\n\n`,
    )
    .join(""),
});
const chatDelta = (delta: JsonObject): JsonObject => ({ choices: [{ index: 0, delta }] });
const tooLong = { message: "Sorry.", code: "context_length_exceeded", type: "error" };

function fine(path: string): Said {
  if (path.includes("messages"))
    return {
      body: JSON.stringify({
        type: "message",
        role: "assistant",
        content: [{ type: "text", text: "Aye." }],
      }),
    };
  if (path.includes("responses"))
    return {
      body: JSON.stringify({
        id: "resp_1",
        status: "completed",
        output: [
          { type: "message", role: "assistant", content: [{ type: "output_text", text: "Aye." }] },
        ],
      }),
    };
  if (path.includes("generateContent"))
    return {
      body: JSON.stringify({
        candidates: [
          { content: { role: "model", parts: [{ text: "Aye." }] }, finishReason: "STOP" },
        ],
      }),
    };
  const message = { role: "assistant", content: "Aye." };
  return { body: JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }] }) };
}

/** Twelve rounds of about 300 tokens. */
function history(wire: Wire, seed: number): JsonObject[] {
  const random = diceOf(seed);
  const answered: JsonObject =
    wire === "openai-responses"
      ? { type: "message", role: "assistant", content: [{ type: "output_text", text: "Aye." }] }
      : { role: "assistant", content: "Aye." };
  const rounds = Array.from({ length: 12 }, () => [
    { role: "user", content: prose(random, 300) },
    answered,
  ]);
  return [...rounds.flat(), { role: "user", content: "And now?" }];
}

const send = (wire: Wire, messages: readonly JsonObject[], name: string, fields: JsonObject = {}) =>
  ask(service.url, {
    wire,
    body: bodyOf(wire, messages, { ...outputLimit(wire, 500), ...fields }),
    headers: { "x-plimsoll-session": name },
    apiKey: `key-${name}`,
  });

const afterWords: Readonly<Record<Wire, Said>> = {
  anthropic: sse(
    { type: "message_start", message: { type: "message", role: "assistant", content: [] } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Well" } },
    {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "prompt is too long: 9001 tokens > 9000 maximum",
      },
    },
  ),
  "openai-chat": sse(chatDelta({ role: "assistant", content: "Well" }), { error: tooLong }),
  "openai-responses": sse(
    { type: "response.created", response: { id: "resp_9", status: "in_progress", output: [] } },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { type: "message", id: "m", role: "assistant", content: [] },
    },
    {
      type: "response.failed",
      response: { id: "resp_9", status: "failed", error: tooLong, output: [] },
    },
  ),
  gemini: sse(
    { candidates: [{ content: { role: "model", parts: [{ text: "Well" }] }, index: 0 }] },
    overflowBody("gemini", { inputTokens: 9_001, maxOutputTokens: 0, windowTokens: 9_000 }),
  ),
};

test.each(WIRES)(
  "%s: after some words the answer passes as it is, and the next turn makes room",
  async (wire) => {
    const messages = history(wire, 1);
    const said = afterWords[wire];
    answers = [said];
    const first = await send(wire, messages, `after-${wire}`, { stream: true });
    expect(first.answer).toBe(said.body);
    expect(received).toHaveLength(1);
    const second = await send(wire, messages, `after-${wire}`);
    expect(second.headers.get("x-plimsoll-action")).toBe("compacted");
    expect((received[1] ?? "").length).toBeLessThan((received[0] ?? "").length * 0.8);
    const { items } = await service.api<{ items: JsonObject[] }>(
      `/api/errors?session=${first.sessionId}`,
    );
    expect(items).toContainEqual(expect.objectContaining({ code: "TOKEN_LIMIT_EXCEEDED" }));
  },
);

test.each([
  [
    "behind the frame of a chat answer",
    sse(chatDelta({ role: "assistant", content: "" }), { error: tooLong }),
  ],
  ["inside an answer that says 200", { body: JSON.stringify({ error: tooLong }) }],
  ["without any figure", { status: 400, body: JSON.stringify({ error: tooLong }) }],
] as const)("%s: the client sees an answer", async (name, said) => {
  answers = [said];
  const asked = await send("openai-chat", history("openai-chat", 2), name.replaceAll(" ", "-"));
  expect(asked.status).toBe(200);
  expect(asked.answer).toContain("Aye.");
  expect(received).toHaveLength(2);
  expect((received[1] ?? "").length).toBeLessThan((received[0] ?? "").length * 0.9);
});

const overflowFigure = 'plimsoll_overflows_total{retried="false"}';

async function overflows(): Promise<number> {
  const response = await fetch(`${service.url}/metrics`, {
    headers: { authorization: `Bearer ${OWNER_TOKEN}` },
  });
  const page = await response.text();
  return page.includes(overflowFigure) ? figure(page, overflowFigure) : 0;
}

describe.each(WIRES)("%s", (wire) => {
  const rejected = overflowBody(wire, {
    inputTokens: 9_001,
    maxOutputTokens: 0,
    windowTokens: 9_000,
  });

  test.each([
    ["refused", { status: 400, body: JSON.stringify(rejected) }],
    ["inside an answer that says 200", { body: JSON.stringify(rejected) }],
  ] as const)(
    "one rejection by a provider is one record, one event and one count: %s",
    async (name, said) => {
      const before = await overflows();
      answers = [said, said, said, said];
      const question = [{ role: "user", content: "Nothing can be taken out of this." }];
      const { sessionId, answer } = await send(wire, question, `once-${wire}-${name.length}`);
      expect(answer).toBe(said.body);
      const { items } = await service.api<{ items: JsonObject[] }>(
        `/api/errors?session=${sessionId}`,
      );
      const rejections = items.filter(({ code }) => code === "TOKEN_LIMIT_EXCEEDED");
      expect(rejections).toHaveLength(received.length);
      expect((await overflows()) - before).toBe(1);
    },
  );
});

test("what a provider says to one tenant is no other tenant's business", async () => {
  const messages = history("anthropic", 3);
  const error = {
    type: "invalid_request_error",
    message: "prompt is too long: 4000 tokens > 1000 maximum",
  };
  answers = Array.from({ length: 3 }, () => ({
    status: 400,
    body: JSON.stringify({ type: "error", error }),
  }));
  await send("anthropic", messages, "eve");
  answers = [];
  received = [];
  const bob = await send("anthropic", messages, "bob");
  expect(bob.headers.get("x-plimsoll-action")).toBe("passthrough");
  expect(received[0]).toBe(JSON.stringify(bodyOf("anthropic", messages, { max_tokens: 500 })));
});

test("an edit of a sub-agent is found where it was made", async () => {
  const messages = history("anthropic", 4);
  const sendAs = (agent: string) =>
    ask(service.url, {
      wire: "anthropic",
      body: bodyOf("anthropic", messages, { max_tokens: 500 }),
      headers: { "x-plimsoll-session": "agents", "x-plimsoll-agent": agent },
    });
  await sendAs("one");
  const { sessionId } = await sendAs("two");
  const post = (action: string, wish: JsonObject) =>
    fetch(`${service.url}/api/sessions/${sessionId}/${action}`, {
      method: "POST",
      headers: { authorization: "Bearer plimsoll-test-owner-token-0123456789abcdefg" },
      body: JSON.stringify(wish),
    });
  const detail = await service.api<{ branches: { id: string; agent?: string }[] }>(
    `/api/sessions/${sessionId}`,
  );
  const branch = detail.branches.find(({ agent }) => agent === "two")?.id ?? "";
  const compacted = await fetch(`${service.url}/api/sessions/${sessionId}/compact`, {
    method: "POST",
    headers: {
      authorization: "Bearer plimsoll-test-owner-token-0123456789abcdefg",
      "content-type": "application/json",
    },
    body: JSON.stringify({ keep: "half", branch }),
  });
  expect(compacted.status, await compacted.text()).toBe(200);
  const [edit] = await readEdits(service, sessionId);
  expect(edit?.branch).toBe(branch);
  expect((await post("undo", {})).status).toBe(415);
  const undone = await fetch(`${service.url}/api/sessions/${sessionId}/undo`, {
    method: "POST",
    headers: {
      authorization: "Bearer plimsoll-test-owner-token-0123456789abcdefg",
      "content-type": "application/json",
    },
    body: JSON.stringify({ edit: edit?.seq }),
  });
  expect(undone.status, await undone.text()).toBe(200);
  const handle = edit?.action.handle ?? "";
  const page = await service.api<JsonObject>(`/api/archive/${handle}?offset=999999`);
  expect(page).toMatchObject({ content: "" });
  expect(page).not.toHaveProperty("nextOffset");
});

test("a model that nobody knows is asked, however long the request", async () => {
  const asked = await send(
    "openai-chat",
    [{ role: "user", content: "word ".repeat(30_000) }],
    "long",
    {
      model: "my-own-llm",
    },
  );
  expect(asked.status).toBe(400);
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const unknown = await startService({
    upstreams: {},
    config: { providers: { openai: { baseUrl: `${baseUrl}/v1` } } },
  });
  received = [];
  const body = bodyOf("openai-chat", [{ role: "user", content: "word ".repeat(300_000) }], {
    model: "my-own-llm",
  });
  const answered = await ask(unknown.url, { wire: "openai-chat", body });
  expect(answered.status).toBe(200);
  expect(received).toHaveLength(1);
  await unknown.stop();
});

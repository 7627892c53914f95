/** An overloaded provider is asked again, once for every client: by Plimsoll, or by the client if it does that itself. */

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "./harness/json.ts";
import { type Asked, ask, bodyOf } from "./harness/raw-client.ts";
import { type Service, startService } from "./harness/service.ts";
import { eventually } from "./harness/waiting.ts";

let answers: { status: number; headers?: Record<string, string>; body?: string }[] = [];
let received: string[] = [];
let server: Server;
let patient: Service;
let plain: Service;

const answered = JSON.stringify({
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Aye." }],
  stop_reason: "end_turn",
});
const overloaded = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}';

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    received.push(body);
    const {
      status,
      headers = {},
      body: said = overloaded,
    } = answers.shift() ?? {
      status: 200,
      body: answered,
    };
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(said);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const providers = { anthropic: { baseUrl }, openai: { baseUrl: `${baseUrl}/v1` } };
  // The policy of document A, in hundredths of its seconds.
  const usual = { max_attempts: 3, backoff_base_seconds: 0.05, max_delay_seconds: 2 };
  const config = { providers, own_tools: "first-request" };
  patient = await startService({
    upstreams: {},
    config: { ...config, context_config: { retry_policies: { default: usual } } },
  });
  plain = await startService({ upstreams: {}, config });
});
beforeEach(() => {
  answers = [];
  received = [];
});
afterAll(async () => {
  await patient.stop();
  await plain.stop();
  server.close();
});

function hail(
  service: Service,
  headers: Readonly<Record<string, string>> = {},
  more: JsonObject = {},
): Promise<Asked> {
  const body = bodyOf("anthropic", [{ role: "user", content: "Ahoy." }], more);
  return ask(service.url, { wire: "anthropic", body, headers });
}
const tools = [{ name: "look", input_schema: { type: "object" } }];

test.each([429, 529, 500, 503])(
  "retry policies hold for the proxy: after %i Plimsoll asks again",
  async (status) => {
    answers = [{ status }, { status, body: "x".repeat(200_000) }];
    const asked = await hail(patient);
    expect([asked.status, asked.answer]).toEqual([200, answered]);
    expect(received).toHaveLength(3);
    expect(new Set(received).size).toBe(1);
    const { items } = await patient.api<{ items: readonly JsonObject[] }>(
      `/api/sessions/${asked.sessionId}/turns`,
    );
    expect(items.map(({ status: how }) => how)).toEqual(["complete"]);
  },
);

test("a request with Plimsoll's own tools is asked again too", async () => {
  answers = [{ status: 529 }];
  const asked = await hail(patient, {}, { tools });
  expect(asked.status).toBe(200);
  expect(received).toHaveLength(2);
  expect(received[0]).toContain("read_result");
});

test("after three attempts the client gets the provider's own answer", async () => {
  answers = [{ status: 529 }, { status: 529 }, { status: 529 }, { status: 529 }];
  const asked = await hail(patient);
  expect([asked.status, asked.answer]).toEqual([529, overloaded]);
  expect(received).toHaveLength(3);
});

test("retry-after is respected, up to the maximum", async () => {
  answers = [{ status: 429, headers: { "retry-after": "3600" } }];
  expect((await hail(patient)).status).toBe(200);
  expect(patient.stderr).toContain("The upstream answered 429. Plimsoll asks it again in 2 s");
});

describe("the first answer is final", () => {
  test.each([
    ["the client counts its own attempts", { "x-stainless-retry-count": "0" }, 529],
    ["the client is one that retries by itself", { "user-agent": "codex_cli_rs/0.46.0" }, 429],
    ["the client turns Plimsoll off", { "x-plimsoll-off": "1" }, 529],
    ["the request is wrong", {}, 401],
  ])("if %s", async (_, headers, status) => {
    answers = [{ status }];
    expect((await hail(patient, headers as Record<string, string>)).status).toBe(status);
    expect(received).toHaveLength(1);
  });

  test("if the provider says so", async () => {
    answers = [{ status: 500, headers: { "x-should-retry": "false" } }];
    expect((await hail(patient)).status).toBe(500);
    expect(received).toHaveLength(1);
  });

  test("unless a retry policy is configured", async () => {
    answers = [{ status: 529 }];
    expect((await hail(plain)).status).toBe(529);
    expect(received).toHaveLength(1);
  });
});

test("a client that leaves while Plimsoll waits ends the turn", async () => {
  answers = [{ status: 429, headers: { "retry-after": "2" } }, { status: 429 }];
  const leaving = new AbortController();
  const body = bodyOf("anthropic", [{ role: "user", content: "Never mind." }]);
  const headers = { "x-plimsoll-session": "leaving" };
  const asked = ask(patient.url, { wire: "anthropic", body, headers, signal: leaving.signal });
  await eventually(5_000, "the first attempt", async () => received[0]);
  leaving.abort();
  await asked.catch(() => undefined);
  // The session is stored with the end of its first turn.
  const session = await eventually(5_000, "the session", async () => {
    const { items } = await patient.api<{ items: readonly { id: string; clientKey?: string }[] }>(
      "/api/sessions",
    );
    return items.find(({ clientKey }) => clientKey === "plimsoll:leaving")?.id;
  });
  const turns = await patient.api<{ items: readonly JsonObject[] }>(
    `/api/sessions/${session}/turns`,
  );
  const status = turns.items[0]?.["status"];
  expect(status).toBe("aborted");
  expect(received).toHaveLength(1);
});

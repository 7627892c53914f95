/** Upstreams that report invalid figures, and upstreams that quote the key that they refuse. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Engine, openEngine } from "../engine.ts";
import type { WireName } from "../wire/format/wire.ts";
import { type RunningServer, startServer } from "./server.ts";

type Script = (request: IncomingMessage, response: ServerResponse) => void;

let upstream: Server;
let script: Script;
let folder: string;
let engine: Engine;
let service: RunningServer;
let events: unknown[];
let warnings: string[];

beforeEach(async () => {
  upstream = createServer((request, response) => {
    request.resume();
    request.once("end", () => script(request, response));
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  folder = mkdtempSync(join(tmpdir(), "plimsoll-hostile-"));
  const config = {
    providers: {
      anthropic: { baseUrl },
      openai: { baseUrl: `${baseUrl}/v1` },
      gemini: { baseUrl },
    },
  };
  engine = await openEngine({ data: folder, config });
  events = [];
  warnings = [];
  engine.subscribe((event) => events.push(event));
  service = await startServer({
    engine,
    config,
    host: "127.0.0.1",
    port: 0,
    token: "owner-token",
    storeKey: new Uint8Array(32),
    configFile: join(folder, "config.yaml"),
    version: "0",
    warn: (message) => warnings.push(message),
  });
});

afterEach(async () => {
  await service.close();
  await engine.close();
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

const paths: Readonly<Record<WireName, string>> = {
  anthropic: "/v1/messages",
  "openai-chat": "/v1/chat/completions",
  "openai-responses": "/v1/responses",
  gemini: "/v1beta/models/gemini-2.5-pro:generateContent",
};
const models: Readonly<Record<WireName, string>> = {
  anthropic: "claude-sonnet-4-5",
  "openai-chat": "gpt-4o",
  "openai-responses": "gpt-4o",
  gemini: "gemini-2.5-pro",
};
const wireNames = Object.keys(paths) as readonly WireName[];
const ways = wireNames.flatMap((wire) => [
  { name: `${wire}, whole`, wire, isStreamed: false },
  { name: `${wire}, streamed`, wire, isStreamed: true },
]);
type Way = (typeof ways)[number];

interface Asked {
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask({ wire, isStreamed }: Way, asked: Asked = {}): Promise<[number, string]> {
  const question = "Is the ship laden?";
  const said = [{ role: "user", content: question }];
  const conversation = {
    anthropic: { messages: said },
    "openai-chat": { messages: said },
    "openai-responses": { input: said },
    gemini: { contents: [{ role: "user", parts: [{ text: question }] }] },
  }[wire];
  const options = { model: models[wire], max_tokens: 100, stream: isStreamed };
  const response = await fetch(`${service.url}${paths[wire]}${asked.query ?? ""}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(wire === "anthropic" ? { "anthropic-version": "2023-06-01" } : {}),
      ...asked.headers,
    },
    body: JSON.stringify({ ...(wire === "gemini" ? {} : options), ...conversation }),
  });
  return [response.status, await response.text()];
}

function reply(response: ServerResponse, isStreamed: boolean, body: string, status = 200): void {
  const type = isStreamed ? "text/event-stream" : "application/json";
  response.writeHead(status, { "content-type": type }).end(body);
}

/** One answer in a wire's format, with this text as its usage. */
function answerWith({ wire, isStreamed }: Way, figure: string): string {
  const usage =
    wire === "openai-chat"
      ? `{"prompt_tokens":${figure},"completion_tokens":${figure},"prompt_tokens_details":{"cached_tokens":${figure}}}`
      : `{"input_tokens":${figure},"output_tokens":${figure}}`;
  if (wire === "openai-chat" && isStreamed)
    return `data: {"choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":"stop"}],"usage":${usage}}\n\ndata: [DONE]\n\n`;
  if (wire === "openai-chat")
    return `{"choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}],"usage":${usage}}`;
  if (wire === "openai-responses") {
    const whole = `{"object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}],"usage":${usage}}`;
    return isStreamed ? `data: {"type":"response.completed","response":${whole}}\n\n` : whole;
  }
  if (wire === "gemini") {
    const whole = `{"candidates":[{"content":{"role":"model","parts":[{"text":"Yes."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":${figure},"candidatesTokenCount":${figure}}}`;
    return isStreamed ? `data: ${whole}\n\n` : whole;
  }
  if (!isStreamed)
    return `{"type":"message","role":"assistant","content":[{"type":"text","text":"Yes."}],"usage":${usage}}`;
  return [
    `event: message_start\ndata: {"type":"message_start","message":{"type":"message","role":"assistant","content":[],"usage":${usage}}}\n\n`,
    `event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Yes."}}\n\n`,
    `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":${usage}}\n\n`,
    `event: message_stop\ndata: {"type":"message_stop"}\n\n`,
  ].join("");
}

async function metric(name: string): Promise<number> {
  const page = await fetch(`${service.url}/metrics`, {
    headers: { authorization: "Bearer owner-token" },
  });
  const line = (await page.text()).split("\n").find((text) => text.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}

describe("figures of usage that are none", () => {
  test.each(ways)("$name: tokens and money are counted on", async (way) => {
    const input = 'plimsoll_tokens_total{kind="input"}';
    for (const figure of ["-5", "1e999", '"9"', "null", "10"]) {
      script = (_request, response) => reply(response, way.isStreamed, answerWith(way, figure));
      expect((await ask(way))[0]).toBe(200);
    }
    expect(await metric(input)).toBe(10);
    expect(await metric(`plimsoll_cost_usd_total{model="${models[way.wire]}"}`)).toBeGreaterThan(0);
    expect(await metric("plimsoll_unpriced_turns_total")).toBe(4);
  });
});

const canary = "sk-canary-Zq7/9+vX4w2";

function failureWith({ wire, isStreamed }: Way, message: string): string {
  const error = { type: "authentication_error", message };
  if (!isStreamed) return JSON.stringify({ type: "error", error });
  if (wire === "anthropic")
    return `event: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`;
  if (wire === "openai-chat" || wire === "gemini") return `data: ${JSON.stringify({ error })}\n\n`;
  return `event: error\ndata: ${JSON.stringify({ ...error, type: "error", code: "auth" })}\n\n`;
}

/** Everything stored or reported about all turns, as one text. */
async function kept(): Promise<string> {
  const authorization = "Bearer owner-token";
  const api = async (path: string): Promise<string> =>
    (await fetch(`${service.url}/api/${path}`, { headers: { authorization } })).text();
  const sessions = JSON.parse(await api("sessions")) as { items: readonly { id: string }[] };
  const views = sessions.items.flatMap(({ id }) =>
    ["log", "turns", "messages"].map((view) => api(`sessions/${id}/${view}`)),
  );
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"));
  return [JSON.stringify(events), ...warnings, ...files, ...(await Promise.all(views))].join("\n");
}

describe("an upstream that quotes the key which it refuses", () => {
  const places: readonly (Asked & { readonly place: string })[] = [
    { place: "x-api-key", headers: { "x-api-key": canary } },
    { place: "a bearer", headers: { authorization: `Bearer ${canary}` } },
    { place: "basic", headers: { authorization: `Basic ${btoa(`someone:${canary}`)}` } },
    { place: "a cookie", headers: { cookie: `a=b; sid=${canary}` } },
    { place: "the address", query: `?key=${encodeURIComponent(canary)}` },
  ];

  test.each(ways.flatMap((way) => places.map((asked) => ({ ...way, ...asked, way }))))(
    "$name: the key in $place reaches the client, and nobody else",
    async ({ way, ...asked }) => {
      const message = `invalid key: ${canary} (${encodeURIComponent(canary)}, ${btoa(`someone:${canary}`)})`;
      const body = failureWith(way, message);
      script = (_request, response) =>
        reply(response, way.isStreamed, body, way.isStreamed ? 200 : 401);
      expect(await ask(way, asked)).toEqual([way.isStreamed ? 200 : 401, body]);
      const text = await kept();
      expect(text).toContain("invalid key: [credential]");
      const traces = [canary, encodeURIComponent(canary)].filter((form) => text.includes(form));
      expect(traces).toEqual([]);
    },
  );

  test("a refusal in the form of an answer is not kept with the key in it", async () => {
    const way: Way = { name: "", wire: "openai-chat", isStreamed: false };
    const content = `Your key ${canary} is not valid.`;
    const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
    script = (_request, response) => reply(response, false, JSON.stringify({ choices }), 401);
    const [, text] = await ask(way, { headers: { authorization: `Bearer ${canary}` } });
    expect(text).toContain(canary);
    expect(await kept()).toContain("Your key [credential] is not valid.");
    expect(await kept()).not.toContain(canary);
  });
});

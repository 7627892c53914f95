/**
 * What must not hurt: malformed and hostile requests, foreign pages, missing credentials, and providers that fail, hang or
 * break off. Every refusal has the shape that its reader understands, and the service lives on.
 */
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { platform } from "node:process";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Answer, reply, text } from "./harness/answer.ts";
import { conversationOf, textsOf } from "./harness/counting.ts";
import { type Json, type JsonObject, parseJson, type Wire } from "./harness/json.ts";
import {
  ask,
  bodyOf,
  MODEL_PATHS,
  modelHeaders,
  pathFor,
  post,
  type RawRequest,
  sendRaw,
  textFor,
} from "./harness/raw-client.ts";
import { essence, readAnswer } from "./harness/reading.ts";
import { OWNER_TOKEN, readLog, type Service, startService } from "./harness/service.ts";
import { type ScriptRequest, startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually, within } from "./harness/waiting.ts";
import { CONVERSATION_FIELDS } from "./harness/wires.ts";

const WIRES = ["anthropic", "openai-chat", "gemini"] as const;
const ANSWER_LIMIT_MS = 10_000;
const MEBIBYTE = 1024 * 1024;

vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

const OPENAI_ERROR = {
  error: {
    message: expect.any(String),
    type: expect.any(String),
    param: expect.toBeOneOf([null, expect.any(String)]),
    code: expect.toBeOneOf([null, expect.any(String)]),
  },
} as const;
/** What each provider's errors look like, and the API's. */
const ERROR_SHAPES: Readonly<Record<Wire | "api", object>> = {
  anthropic: { type: "error", error: { type: expect.any(String), message: expect.any(String) } },
  "openai-chat": OPENAI_ERROR,
  "openai-responses": OPENAI_ERROR,
  gemini: {
    error: { code: expect.any(Number), message: expect.any(String), status: expect.any(String) },
  },
  api: { error: { code: expect.any(String), message: expect.any(String) } },
};

/** The user's words say what the provider is to do. */
const BEHAVIOURS: Readonly<Record<string, Answer>> = {
  "hang at once": { kind: "hang" },
  "hang in the middle": early("hang"),
  "cut in the middle": early("cut"),
  "end in the middle": early("end"),
  "answer 429": failure(429, { "retry-after": "7", "x-should-retry": "true" }),
  "answer 529": failure(529, { "retry-after": "30" }),
  "answer 500": failure(500, {}),
};

function early(kind: "hang" | "cut" | "end"): Answer {
  return {
    ...reply(
      text("The first ", "and second ", "and third ", "and fourth ", "and fifth ", "and the last."),
    ),
    early: { kind, afterEvents: 5 },
  };
}

function failure(status: number, headers: Readonly<Record<string, string>>): Answer {
  return { kind: "failure", status, headers, body: { error: { type: `scripted_${status}` } } };
}

function obedientScript({ wire, body }: ScriptRequest): Answer {
  const [first = {}] = conversationOf(wire, body);
  return BEHAVIOURS[textsOf(wire, first)[0] ?? ""] ?? reply(text("As you wish."));
}

function spoken(wire: Wire, words: string, fields: JsonObject = {}): JsonObject {
  return bodyOf(wire, [{ role: "user", content: words }], fields);
}

let upstream: Upstream;
let service: Service;

beforeAll(async () => {
  upstream = await startUpstream({ script: obedientScript });
  const { url } = upstream;
  service = await startService({ upstreams: { anthropic: url, openai: url, gemini: url } });
});

afterAll(async () => {
  await service?.stop();
  await upstream?.close();
});

async function expectHealthy(): Promise<void> {
  const { status } = await sendRaw(service.port, { path: "/healthz" });
  expect(status).toBe(200);
}

interface Refusal {
  readonly status: number;
  readonly error: unknown;
}

async function send(request: RawRequest, port = service.port): Promise<Refusal> {
  const sent = sendRaw(port, request);
  const answer = await within(ANSWER_LIMIT_MS, `an answer to ${request.path}`, sent);
  const isJson = answer.headers["content-type"]?.includes("json") ?? false;
  const error: unknown = isJson ? JSON.parse(answer.body.toString()) : answer.body.toString();
  return { status: answer.status, error };
}

function sendModel(wire: Wire, body: Buffer | string, headers = {}): Promise<Refusal> {
  return send({
    method: "POST",
    path: MODEL_PATHS[wire],
    headers: { ...modelHeaders(wire), ...headers },
    body,
  });
}

describe.each(WIRES)("a body that is no request of %s", (wire) => {
  const good = textFor(wire, spoken(wire, "hello"));
  const field = CONVERSATION_FIELDS[wire];
  /** The good body with another conversation. */
  const withMessages = (messages: Json | undefined): string =>
    JSON.stringify({ ...(parseJson(good) as JsonObject), [field]: messages });
  const [content, words] =
    wire === "gemini" ? ["parts", [{ text: "hello" }]] : ["content", "hello"];

  test.each([
    ["an empty body", ""],
    ["half a JSON text", good.slice(0, -3)],
    ["two JSON texts", `${good}${good}`],
    ["bytes that are not UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ["an array", `[${good}]`],
    ["null", "null"],
    ["messages as a string", withMessages("hello")],
    ["messages as an object", withMessages({ role: "user" })],
    ["messages of numbers", withMessages([1, 2])],
    ["an unknown role", withMessages([{ role: 7, [content]: words }])],
    ["content as a number", withMessages([{ role: "user", [content]: 7 }])],
    ["a model as a number", JSON.stringify({ ...(parseJson(good) as JsonObject), model: 7 })],
    ["no messages", withMessages(undefined)],
    ["a body of 200,000 nested arrays", nested(200_000)],
    ["messages of 200,000 nested arrays", `{"model":"m","${field}":${nested(200_000)}}`],
  ])("%s is refused in the provider's shape", async (_name, body) => {
    const { status, error } = await sendModel(wire, body);
    expect(status).toBe(400);
    expect(error).toMatchObject(ERROR_SHAPES[wire]);
    await expectHealthy();
  });

  test("a depth bomb in a place where anything may stand is answered, not fatal", async () => {
    const body = good.replace(/\}$/, `,"metadata":${nested(200_000)}}`);
    const { status } = await sendModel(wire, body);
    expect(status).toBeLessThan(500);
    await expectHealthy();
  });

  test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])(
    "the content type %s is refused with 415",
    async (contentType) => {
      const headers = { "content-type": contentType };
      const { status, error } = await sendModel(wire, good, headers);
      expect(status).toBe(415);
      expect(error).toMatchObject(ERROR_SHAPES[wire]);
    },
  );

  test("a charset beside application/json is no reason to refuse", async () => {
    const headers = { "content-type": "application/json; charset=utf-8" };
    expect((await sendModel(wire, good, headers)).status).toBe(200);
  });
});

function nested(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

describe("bodies that are too large", () => {
  test.each(WIRES)("%s: 300 MiB announced are refused before they are read", async (wire) => {
    const { status, error } = await send({
      method: "POST",
      path: MODEL_PATHS[wire],
      headers: { ...modelHeaders(wire), "content-length": String(300 * MEBIBYTE) },
      body: Buffer.alloc(64 * 1024, " "),
      isUnfinished: true,
    });
    expect(status).toBe(413);
    expect(error).toMatchObject(ERROR_SHAPES[wire]);
    await expectHealthy();
  });

  test.each(WIRES)("%s: a gzip bomb of 1 GiB is refused in bounded memory", async (wire) => {
    const member = gzipSync(Buffer.alloc(16 * MEBIBYTE, " "));
    const bomb = Buffer.concat(Array.from({ length: 64 }, () => member));
    const { status } = await sendModel(wire, bomb, { "content-encoding": "gzip" });
    expect([400, 413, 415]).toContain(status);
    if (platform === "linux") expect(await peakMemoryBytes()).toBeLessThan(1024 * MEBIBYTE);
    await expectHealthy();
  });
});

async function peakMemoryBytes(): Promise<number> {
  const status = await readFile(`/proc/${service.pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

const BEARER = { authorization: `Bearer ${OWNER_TOKEN}` };
const UPGRADE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};

/** Requests that are fine, as long as no foreign page makes them. */
const GOOD_REQUESTS: readonly RawRequest[] = [
  ...WIRES.map((wire) => ({
    method: "POST",
    path: MODEL_PATHS[wire],
    headers: modelHeaders(wire),
    body: textFor(wire, spoken(wire, "hello")),
  })),
  { path: "/v1/models", headers: modelHeaders("openai-chat") },
  { method: "POST", path: "/v1/embeddings", headers: modelHeaders("openai-chat"), body: "{}" },
  { path: "/api/sessions", headers: BEARER },
  { path: "/events", headers: BEARER },
  { path: "/metrics", headers: BEARER },
  { path: "/healthz" },
  { path: "/v1/responses", headers: { ...modelHeaders("openai-chat"), ...UPGRADE } },
];

describe.each(GOOD_REQUESTS)("$path", (request) => {
  test.each(["evil.example", "evil.example:4141", "127.0.0.1.evil.example", "[::ffff:1.2.3.4]"])(
    "is forbidden for the host %s",
    async (host) => {
      expect((await send(withHeaders(request, { host }))).status).toBe(403);
    },
  );

  test.each(["https://evil.example", "http://127.0.0.1.evil.example:4141", "null"])(
    "is forbidden for the origin %s",
    async (origin) => {
      expect((await send(withHeaders(request, { origin }))).status).toBe(403);
    },
  );
});

function withHeaders(request: RawRequest, headers: Readonly<Record<string, string>>): RawRequest {
  return { ...request, headers: { ...request.headers, ...headers } };
}

describe("the local machine", () => {
  test("is welcome by each of its names and from its own page", async () => {
    const own = `127.0.0.1:${service.port}`;
    const names = [{ host: own }, { host: `localhost:${service.port}` }];
    for (const headers of [...names, { host: own, origin: `http://${own}` }]) {
      expect((await send({ path: "/healthz", headers })).status).toBe(200);
      const withToken = { path: "/api/sessions", headers: { ...BEARER, ...headers } };
      expect((await send(withToken)).status).toBe(200);
    }
  });

  test("is asked to stay with HTTP when it wants a WebSocket", async () => {
    const headers = { ...modelHeaders("openai-chat"), ...UPGRADE };
    expect((await send({ path: "/v1/responses", headers })).status).toBe(426);
  });
});

describe("routes", () => {
  test.each(["/api/sessions", "/api/sessions/x/log", "/events", "/metrics"])(
    "%s needs the owner's token",
    async (path) => {
      const lastLetter = OWNER_TOKEN.slice(-1) === "x" ? "y" : "x";
      const almost = `${OWNER_TOKEN.slice(0, -1)}${lastLetter}`;
      const basic = Buffer.from(`owner:${OWNER_TOKEN}`).toString("base64");
      const credentials = ["Bearer ", "Bearer wrong", `Bearer ${almost}`, `Basic ${basic}`];
      expect(await send({ path })).toEqual({
        status: 401,
        error: expect.objectContaining(ERROR_SHAPES.api),
      });
      for (const authorization of credentials) {
        expect((await send({ path, headers: { authorization } })).status).toBe(401);
      }
    },
  );

  test.each([
    { path: "/nope" },
    { path: "/v2/messages", method: "POST" },
    { path: "/v2/models" },
    { path: "/api/nope", headers: BEARER },
    { path: "/api/sessions/nope", headers: BEARER },
    { path: "/api/sessions/nope/log", headers: BEARER },
    { path: "/p/nope/v1/messages", method: "POST", headers: modelHeaders("anthropic"), body: "{}" },
  ])("$path is not found", async (request) => {
    const { status, error } = await send(request);
    expect(status).toBe(404);
    if (request.path.startsWith("/api")) expect(error).toMatchObject(ERROR_SHAPES.api);
  });
});

describe("a provider that is down", () => {
  let lonely: Service;
  beforeAll(async () => {
    const nowhere = `http://127.0.0.1:${await closedPort()}`;
    const upstreams = { anthropic: nowhere, openai: nowhere, gemini: nowhere };
    lonely = await startService({ upstreams });
  });
  afterAll(async () => {
    await lonely?.stop();
  });

  test.each(WIRES)("%s: the client gets 502 in the provider's shape", async (wire) => {
    for (const stream of [false, true]) {
      const body = spoken(wire, "hello", { stream });
      const { status, error } = await send(
        {
          method: "POST",
          path: pathFor(wire, body),
          headers: modelHeaders(wire),
          body: textFor(wire, body),
        },
        lonely.port,
      );
      expect(status).toBe(502);
      expect(error).toMatchObject(ERROR_SHAPES[wire]);
    }
    expect((await send({ path: "/healthz" }, lonely.port)).status).toBe(200);
  });
});

/** A port that was free a moment ago. */
function closedPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

describe.each(WIRES)("a provider of %s that misbehaves", (wire) => {
  test.each([429, 529, 500])(
    "answers %i: status, body and headers are passed on",
    async (status) => {
      for (const stream of [false, true]) {
        const body = spoken(wire, `answer ${status}`, { stream });
        const before = upstream.requests.length;
        const asked = await ask(service.url, { wire, body });
        const expected = BEHAVIOURS[`answer ${status}`];
        expect(asked.status).toBe(status);
        expect(asked.answer).toBe(upstream.requests.at(-1)?.plainAnswer.toString());
        for (const [name, value] of Object.entries(headersOf(expected))) {
          expect(asked.headers.get(name)).toBe(value);
        }
        // The SDKs retry by themselves: a retry here would multiply theirs.
        expect(upstream.requests).toHaveLength(before + 1);
      }
    },
  );

  test("hangs before its answer: a client that leaves takes the connection with it", async () => {
    const leaving = new AbortController();
    const number = upstream.requests.length + 1;
    const body = spoken(wire, "hang at once", { stream: true });
    const pending = post(service.url, { wire, body, signal: leaving.signal });
    const request = await upstream.received(number);
    leaving.abort();
    await expect(pending).rejects.toThrow();
    await within(2_000, "the end of the upstream connection", request.closed);
    await expectHealthy();
  });

  test("hangs in its answer: the client has its beginning, and may leave", async () => {
    const leaving = new AbortController();
    const number = upstream.requests.length + 1;
    const body = spoken(wire, "hang in the middle", { stream: true });
    const response = await post(service.url, { wire, body, signal: leaving.signal });
    const beginning = readUntil(response, "and second ");
    await within(2_000, "the beginning of the answer", beginning);
    const request = await upstream.received(number);
    leaving.abort();
    await within(2_000, "the end of the upstream connection", request.closed);
    await expectHealthy();
  });

  test.each(["cut in the middle", "end in the middle"])(
    "%s: the client sees it broken, and the log keeps the part as incomplete",
    async (words) => {
      const body = spoken(wire, words, { stream: true });
      const asked = await ask(service.url, { wire, body });
      const sent = upstream.requests.at(-1)?.plainAnswer.toString() ?? "";
      expect(asked).toMatchObject({ status: 200, isBroken: true, isComplete: false });
      expect(sent.startsWith(asked.answer)).toBe(true);
      const partial = await eventually(2_000, "the partial answer in the log", async () => {
        const log = await readLog(service, asked.sessionId);
        return log.find((entry) => entry.source === "answer");
      });
      expect(essence(partial.message)).toEqual(essence(readAnswer(wire, sent).message));
      expect(partial.incomplete).toBe(true);
    },
  );
});

function headersOf(answer: Answer | undefined): Readonly<Record<string, string>> {
  return answer?.kind === "failure" ? (answer.headers ?? {}) : {};
}

async function readUntil(response: Response, words: string): Promise<void> {
  const reader = response.body?.getReader();
  let seen = "";
  while (reader !== undefined && !seen.includes(words)) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`The answer ended before "${words}".`);
    seen += Buffer.from(value).toString();
  }
}

describe("after all of it", () => {
  test("the service is healthy and still serves", async () => {
    await expectHealthy();
    for (const wire of WIRES) {
      const body = spoken(wire, "Are you there?", { stream: true });
      const asked = await ask(service.url, { wire, body });
      expect(asked).toMatchObject({ status: 200, isComplete: true, isBroken: false });
      const log = await readLog(service, asked.sessionId);
      expect(log.map((entry) => entry.role)).toEqual(["user", "assistant"]);
    }
  });
});

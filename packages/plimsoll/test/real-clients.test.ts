/**
 * The official SDKs through the running service: every byte arrives as it was sent in both directions, and what the
 * service remembers is the conversation that the client held, as one session, whatever clients do to it on the way.
 */

import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { call, reasoning, reply, text } from "./harness/answer.ts";
import type { Reply } from "./harness/answer-parts.ts";
import type { UpstreamRequest } from "./harness/answer-writer.ts";
import { archivistScript, CLIENTS, FINAL_TEXTS, STEPS_COUNT } from "./harness/clients.ts";
import { conversationOf } from "./harness/counting.ts";
import { isString, type JsonObject, objects, parseJson, type Wire } from "./harness/json.ts";
import {
  ask,
  bodyOf,
  MODEL_PATHS,
  modelHeaders,
  pathFor,
  type Question,
  sendRaw,
  textFor,
} from "./harness/raw-client.ts";
import { type Essence, essence, readAnswer } from "./harness/reading.ts";
import { type Exchange, recordingFetch, type Target } from "./harness/recording-fetch.ts";
import {
  chainTo,
  readLog,
  readSession,
  readSessions,
  type Service,
  startService,
  type View,
} from "./harness/service.ts";
import { Talk, type Writer } from "./harness/talk.ts";
import {
  type ScriptRequest,
  startUpstream,
  type Upstream,
  type UpstreamOptions,
} from "./harness/upstream.ts";

const WIRES = ["anthropic", "openai-chat", "gemini"] as const;

vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

interface Stage {
  readonly upstream: Upstream;
  readonly service: Service;
}

/** Registers the start and the end of a provider and a service in front of it, for the tests of one block. */
function useStage(options: UpstreamOptions): Stage {
  let upstream: Upstream | undefined;
  let service: Service | undefined;
  beforeAll(async () => {
    upstream = await startUpstream(options);
    service = await startService({
      upstreams: { anthropic: upstream.url, openai: upstream.url, gemini: upstream.url },
    });
  });
  afterAll(async () => {
    await service?.stop();
    await upstream?.close();
  });
  return {
    get upstream() {
      return started(upstream);
    },
    get service() {
      return started(service);
    },
  };
}

function started<T>(part: T | undefined): T {
  if (part === undefined) throw new Error("The stage is not set.");
  return part;
}

let keyCount = 0;
/** A credential of its own for each test, so that no test can continue another one's conversation. */
function freshKey(): string {
  keyCount += 1;
  return `key-${keyCount}-of-real-clients`;
}

/** What was said in these exchanges, each message once: the new messages of each request, then its answer. */
async function spokenIn(wire: Wire, exchanges: readonly Exchange[]): Promise<Essence[]> {
  const spoken: Essence[] = [];
  for (const exchange of exchanges) {
    const body = parseJson(exchange.requestBody.toString()) as JsonObject;
    // Where the provider keeps the history, all that is sent is new.
    const known = isString(body["previous_response_id"]) ? 0 : spoken.length;
    spoken.push(...conversationOf(wire, body).slice(known).map(essence));
    const { message } = readAnswer(wire, (await exchange.answer).toString());
    const said = wire === "openai-responses" ? objects(message["output"]) : [message];
    spoken.push(...said.map(essence));
  }
  return spoken;
}

async function expectUntouched(
  exchanges: readonly Exchange[],
  requests: readonly UpstreamRequest[],
): Promise<void> {
  expect(requests).toHaveLength(exchanges.length);
  for (const [index, exchange] of exchanges.entries()) {
    const request = requests[index];
    expect(request?.body.toString()).toBe(exchange.requestBody.toString());
    expect(request?.body.equals(exchange.requestBody)).toBe(true);
    const answer = await exchange.answer;
    expect(answer.toString()).toBe(request?.plainAnswer.toString());
    expect(request?.plainAnswer.equals(answer)).toBe(true);
    expect(exchange.headers.get("request-id")).toBe(`req_${request?.number}`);
  }
}

/** The service's headers on every answer; gives the one session that they name. */
function expectOneSession(headers: readonly Headers[]): string {
  const ids = new Set(headers.map((each) => each.get("x-plimsoll-session")));
  expect(ids.size).toBe(1);
  for (const each of headers) {
    expect(each.get("x-plimsoll-action")).toBe("passthrough");
    expect(each.get("x-plimsoll-tokens")).toMatch(/^(\d+);\1$/);
  }
  const [id] = ids;
  expect(id).toMatch(/./);
  return id ?? "";
}

/** One session, one branch, and its log is what was said: each message once and in order. */
async function expectRemembered(
  service: Service,
  id: string,
  spoken: readonly Essence[],
): Promise<void> {
  const session = await readSession(service, id);
  expect(session.branches).toHaveLength(1);
  const log = await readLog(service, id, 3);
  expect(log.map((entry) => essence(entry.message))).toEqual(spoken);
  expect(log.map((entry) => entry.role)).toEqual(spoken.map((each) => each.role));
  const order = log.map((entry) => entry.seq);
  expect(order).toEqual([...new Set(order)].sort(ascending));
  const answers = log.filter((entry) => entry.source === "answer");
  expect(answers).toHaveLength(spoken.filter((each) => each.role === "assistant").length);
  const tip = session.branches[0]?.tip ?? -1;
  expect(chainTo(log, tip)).toEqual(log);
  expect(session.messages).toBe(log.length);
  const view = await service.api<View>(`/api/sessions/${id}/view`);
  expect(view.messages.map(essence)).toEqual(spoken);
}

function ascending(left: number, right: number): number {
  return left - right;
}

describe.each([
  { kind: "whole answers", options: {} },
  { kind: "streams cut into single bytes", options: { chunkBytes: 1 } },
  { kind: "compressed answers", options: { gzip: true } },
])("a provider with $kind", ({ options }) => {
  const stage = useStage({ script: archivistScript, ...options });

  test.each(CLIENTS)("$name: untouched, and remembered once", async ({ wire, converse }) => {
    const { service, upstream } = stage;
    const requestsBefore = upstream.requests.length;
    const sessionsBefore = (await readSessions(service)).length;
    const { fetch, exchanges } = recordingFetch();
    const target: Target = { baseUrl: service.url, apiKey: freshKey(), fetch };

    expect(await converse(target)).toEqual(FINAL_TEXTS);

    expect(exchanges).toHaveLength(STEPS_COUNT);
    await expectUntouched(exchanges, upstream.requests.slice(requestsBefore));
    const id = expectOneSession(exchanges.map((exchange) => exchange.headers));
    await expectRemembered(service, id, await spokenIn(wire, exchanges));
    const sessions = await readSessions(service);
    expect(sessions).toHaveLength(sessionsBefore + 1);
    expect(sessions.find((session) => session.id === id)).toMatchObject({
      branches: 1,
      turns: STEPS_COUNT,
    });
  });
});

/** Legal JSON that no reader and writer gives back as it was. */
const ODD_BODIES: Readonly<Record<Wire, string>> = {
  anthropic: String.raw`{ "max_tokens" : 1e3,
	"messages":[{"content":"\u00f6 \/ \ud83d\ude00 ö 😀","role":"user"}], "model":"claude-sonnet-4-6" ,
  "metadata":{"2":1.0,"1":12345678901234567890,"user_id":null} }
`,
  "openai-chat": String.raw`{ "temperature" : 1.0, "seed":12345678901234567890,
	"messages":[{"content":"\u00f6 \/ \ud83d\ude00 ö 😀","role":"user"}], "model":"gpt-5.1" ,
  "metadata":{"2":"b","1":"a","user_id":null} }
`,
  "openai-responses": String.raw`{ "temperature" : 1.0, "max_output_tokens":1e3,
	"input":[{"content":"\u00f6 \/ \ud83d\ude00 ö 😀","role":"user"}], "model":"gpt-5.1" ,
  "metadata":{"2":"b","1":"a","user_id":null} }
`,
  gemini: String.raw`{ "generationConfig" : {"temperature":1.0, "maxOutputTokens":1e3 , "seed":12345678901234567890},
	"contents":[{"parts":[{"text":"\u00f6 \/ \ud83d\ude00 ö 😀"}],"role":"user"}],
  "labels":{"2":"b","1":"a"} }
`,
};

describe("a body that is written oddly", () => {
  const stage = useStage({});

  test.each(WIRES)("%s: reaches the provider byte for byte", async (wire) => {
    const body = ODD_BODIES[wire];
    const response = await fetch(`${stage.service.url}${MODEL_PATHS[wire]}`, {
      method: "POST",
      headers: modelHeaders(wire, freshKey()),
      body,
    });
    const request = stage.upstream.requests.at(-1);
    expect(request?.body.toString()).toBe(body);
    expect(await response.text()).toBe(request?.plainAnswer.toString());
    expect(response.status).toBe(200);
  });
});

describe("a stream of Gemini without alt=sse", () => {
  const stage = useStage({
    script: (_request, { requestNumber }) =>
      reply(text(`Answer ${requestNumber} `, "in ", "pieces.")),
    chunkBytes: 7,
  });

  test("is a JSON array, reaches the client byte for byte, and is remembered", async () => {
    const { service, upstream } = stage;
    const path = MODEL_PATHS.gemini.replace("generateContent", "streamGenerateContent");
    const headers = modelHeaders("gemini", freshKey());
    const history: JsonObject[] = [];
    let session = "";
    for (const words of ["One", "Two", "Three"]) {
      history.push({ role: "user", parts: [{ text: words }] });
      const body = JSON.stringify({ contents: history });
      const response = await fetch(`${service.url}${path}`, { method: "POST", headers, body });
      const answer = await response.text();
      expect(response.headers.get("content-type")).toContain("application/json");
      expect(answer).toBe(upstream.requests.at(-1)?.plainAnswer.toString());
      expect(upstream.requests.at(-1)?.path).toBe(path);
      const { isComplete, message } = readAnswer("gemini", answer);
      expect(isComplete).toBe(true);
      history.push(message);
      session = response.headers.get("x-plimsoll-session") ?? "";
    }
    await expectRemembered(service, session, history.map(essence));
  });
});

describe("a compressing provider", () => {
  const stage = useStage({ gzip: true });

  test.each(WIRES)("%s: a client that decodes by itself gets the same bytes", async (wire) => {
    const { service, upstream } = stage;
    const body = bodyOf(wire, [{ role: "user", content: "hello" }], { stream: true });
    const answer = await sendRaw(service.port, {
      method: "POST",
      path: pathFor(wire, body),
      headers: { ...modelHeaders(wire, freshKey()), "accept-encoding": "gzip" },
      body: textFor(wire, body),
    });
    const request = upstream.requests.at(-1);
    const isGzip = answer.headers["content-encoding"] === "gzip";
    const plain = isGzip ? gunzipSync(answer.body) : answer.body;
    expect(plain.toString()).toBe(request?.plainAnswer.toString());
    if (isGzip) expect(answer.body.equals(request?.answer ?? Buffer.alloc(0))).toBe(true);
  });
});

/** Answers with its own number; every third answer is a call. */
function countingScript({ wire, body }: ScriptRequest): Reply {
  const history = conversationOf(wire, body);
  const number = history.filter(({ role }) => role === "assistant" || role === "model").length + 1;
  const last = JSON.stringify(history.at(-1));
  if (number % 3 === 0) return reply(call(`call_${number}`, "read_file", { path: `${number}` }));
  return reply(text(`Answer ${number} `, `to ${last.length} characters: ${last.slice(-60)}`));
}

function sessionOf(talk: Talk): string {
  return expectOneSession(talk.answers.map((asked) => asked.headers));
}

const MARK = { cache_control: { type: "ephemeral" } } as const;

/** The history with the mark on its newest message and on the system text only. */
function withMarks(history: readonly JsonObject[]): JsonObject {
  const messages = history.map((message, index) =>
    index === history.length - 1 ? markedMessage(message) : message,
  );
  const system = [{ type: "text", text: "You count.", ...MARK }];
  return bodyOf("anthropic", messages, { system, stream: true });
}

function markedMessage(message: JsonObject): JsonObject {
  const { role, content } = message;
  const blocks = isString(content)
    ? [{ type: "text", text: content }]
    : objects<JsonObject>(content);
  const last = blocks.length - 1;
  return {
    role,
    content: blocks.map((block, index) => (index === last ? { ...block, ...MARK } : block)),
  };
}

/** Every plain text as a string in even turns, and as one text block in odd ones. On Gemini, a single part without brackets. */
function rewrapped(wire: Wire, turn: number): Writer {
  const rewrap = (message: JsonObject): JsonObject => {
    const { role, content } = message;
    const [part, ...others] = objects<JsonObject>(message["parts"]);
    if (turn % 2 === 1 && part !== undefined && others.length === 0 && role === "user") {
      return { ...message, parts: part };
    }
    if (turn % 2 === 0 || !isString(content) || role === "assistant") return message;
    return { ...message, content: [{ type: "text", text: content }] };
  };
  return (history) => bodyOf(wire, history.map(rewrap), { stream: true });
}

/** What clients send back of the reasoning that compatible providers show on the Chat wire. */
const REASONING_HABITS: Readonly<Record<string, (thought: string) => JsonObject>> = {
  "keeps it": (thought) => ({ reasoning_content: thought }),
  "drops it": () => ({}),
  "keeps its last delta only, as openai's stream helper does": (thought) => ({
    reasoning_content: thought.slice(-3),
  }),
};

function withReasoning(habit: string): Writer {
  const rewrite = (message: JsonObject): JsonObject => {
    const { reasoning_content: thought, ...rest } = message;
    return isString(thought) ? { ...rest, ...REASONING_HABITS[habit]?.(thought) } : message;
  };
  return (history) => bodyOf("openai-chat", history.map(rewrite), { stream: true });
}

describe("a compatible provider that shows its reasoning", () => {
  const stage = useStage({
    script: (_request, { requestNumber }) =>
      reply(reasoning("unused", "let me ", "see"), text(`Answer ${requestNumber}`)),
  });

  test.each(Object.keys(REASONING_HABITS))(
    "a client that %s stays in its branch",
    async (habit) => {
      const { service } = stage;
      const talk = new Talk(service.url, { wire: "openai-chat", apiKey: freshKey() });
      for (let turn = 1; turn <= 3; turn += 1) {
        await talk.say(`Question ${turn}`, withReasoning(habit));
      }
      await expectRemembered(service, sessionOf(talk), talk.spoken);
    },
  );
});

describe("one conversation, however its client writes it", () => {
  const stage = useStage({ script: countingScript });

  test("anthropic: cache marks that move every turn, for 50 turns", async () => {
    const { service } = stage;
    const talk = new Talk(service.url, { wire: "anthropic", apiKey: freshKey() });
    for (let turn = 1; turn <= 50; turn += 1) await talk.say(`Question ${turn}`, withMarks);
    await expectRemembered(service, sessionOf(talk), talk.spoken);
  });

  test.each(WIRES)(
    "%s: content that is a string in one turn and one text block in the next",
    async (wire) => {
      const { service } = stage;
      const talk = new Talk(service.url, { wire, apiKey: freshKey() });
      for (let turn = 1; turn <= 12; turn += 1) {
        await talk.say(`Question ${turn}`, rewrapped(wire, turn));
      }
      await expectRemembered(service, sessionOf(talk), talk.spoken);
    },
  );

  test.each(WIRES)("%s: streamed and whole answers by turns", async (wire) => {
    const { service } = stage;
    const talk = new Talk(service.url, { wire, apiKey: freshKey() });
    for (let turn = 1; turn <= 6; turn += 1) {
      const stream = turn % 2 === 0;
      await talk.say(`Question ${turn}`, (history) => bodyOf(wire, history, { stream }));
    }
    await expectRemembered(service, sessionOf(talk), talk.spoken);
  });
});

async function chains(service: Service, id: string): Promise<Essence[][]> {
  const [{ branches }, log] = await Promise.all([readSession(service, id), readLog(service, id)]);
  return branches.map(({ tip }) => chainTo(log, tip).map((entry) => essence(entry.message)));
}

/** Independent of the order in which the branches are listed. */
function expectSameChains(actual: readonly Essence[][], expected: readonly Essence[][]): void {
  const sorted = (list: readonly Essence[][]): Essence[][] =>
    [...list].sort((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1));
  expect(sorted(actual)).toEqual(sorted(expected));
}

describe("conversations that part", () => {
  const stage = useStage({ script: countingScript });

  /** A talk of its own that has heard the first `count` messages of another one. */
  function forked(talk: Talk, count: number, question: Omit<Question, "body">): Talk {
    return new Talk(stage.service.url, question, talk.history.slice(0, count));
  }

  test.each(WIRES)("%s: a rewind and a fork become branches of the session", async (wire) => {
    const { service } = stage;
    const question = { wire, apiKey: freshKey() };
    const sessionsBefore = (await readSessions(service)).length;
    const main = new Talk(service.url, question);
    for (const words of ["One", "Two", "Three"]) await main.say(words);
    const id = sessionOf(main);
    expect((await readSession(service, id)).branches).toHaveLength(1);

    const rewound = forked(main, main.history.length - 2, question);
    await rewound.say("Three, but otherwise");
    expect(sessionOf(rewound)).toBe(id);
    expect((await readSession(service, id)).branches).toHaveLength(2);

    const fork = forked(main, 4, question);
    await fork.say("Three of the fork");
    await main.say("Four, after all");
    await fork.say("Four of the fork");
    expect([sessionOf(main), sessionOf(fork)]).toEqual([id, id]);

    expectSameChains(await chains(service, id), [main.spoken, rewound.spoken, fork.spoken]);
    const shared = 4 + 4;
    const log = await readLog(service, id);
    const spokenCount = main.spoken.length + rewound.spoken.length + fork.spoken.length;
    expect(log).toHaveLength(spokenCount - shared);
    expect(await readSessions(service)).toHaveLength(sessionsBefore + 1);

    // One answer proves nothing: others may have been given the same.
    const stranger = forked(main, 2, question);
    await stranger.say("Two, but otherwise");
    expect(sessionOf(stranger)).not.toBe(id);
  });

  test("anthropic: two sub-agents under one session id do not mix", async () => {
    const { service } = stage;
    const apiKey = freshKey();
    const agents = ["agent-reader", "agent-writer"].map((agent) => ({
      agent,
      talk: new Talk(service.url, {
        wire: "anthropic",
        apiKey,
        headers: {
          "x-claude-code-session-id": "5d0ff3a2-6a43-4f6e-9f1c-2f1f7d1c0a01",
          "x-claude-code-agent-id": agent,
        },
      }),
    }));
    for (const turn of [1, 2, 3, 4]) {
      await Promise.all(agents.map(({ agent, talk }) => talk.say(`Step ${turn} of ${agent}`)));
    }
    const ids = new Set(agents.map(({ talk }) => sessionOf(talk)));
    expect(ids.size).toBe(1);
    const [id = ""] = ids;
    const { branches } = await readSession(service, id);
    const log = await readLog(service, id);
    const remembered = new Map(
      branches.map(({ agent, tip }) => [
        agent,
        chainTo(log, tip).map((entry) => essence(entry.message)),
      ]),
    );
    expect(branches).toHaveLength(2);
    for (const { agent, talk } of agents) expect(remembered.get(agent)).toEqual(talk.spoken);
  });

  test.each(WIRES)("%s: the same words under two keys are two sessions", async (wire) => {
    const { service } = stage;
    const talks = [1, 2].map(() => new Talk(service.url, { wire, apiKey: freshKey() }));
    for (const words of ["One", "Two"]) {
      for (const talk of talks) await talk.say(words);
    }
    const ids = talks.map((talk) => sessionOf(talk));
    expect(new Set(ids).size).toBe(2);
    const sessions = await Promise.all(ids.map((id) => readSession(service, id)));
    expect(new Set(sessions.map((session) => session.tenant)).size).toBe(2);
    for (const [index, talk] of talks.entries()) {
      await expectRemembered(service, ids[index] ?? "", talk.spoken);
    }
  });
});

describe("routes that are only relayed", () => {
  let anthropic: Upstream;
  let openai: Upstream;
  let gemini: Upstream;
  let service: Service;
  beforeAll(async () => {
    [anthropic, openai, gemini] = await Promise.all([
      startUpstream(),
      startUpstream(),
      startUpstream(),
    ]);
    service = await startService({
      upstreams: { anthropic: anthropic.url, openai: openai.url, gemini: gemini.url },
    });
  });
  afterAll(async () => {
    await service?.stop();
    await Promise.all([anthropic?.close(), openai?.close(), gemini?.close()]);
  });

  const BEARER = { authorization: "Bearer relayed-key" };
  const VERSION = { "anthropic-version": "2023-06-01", "x-api-key": "relayed-key" };

  test("embeddings reach OpenAI with query string, headers and bytes", async () => {
    const body = '{"input":  "spaces and ö stay", "model":"embedding-model"}';
    const response = await fetch(`${service.url}/v1/embeddings?dimensions=2&user=a%20b`, {
      method: "POST",
      headers: { ...BEARER, "content-type": "application/json", "x-custom": "kept" },
      body,
    });
    const request = openai.requests.at(-1);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(request?.plainAnswer.toString());
    expect(request).toMatchObject({
      method: "POST",
      path: "/v1/embeddings?dimensions=2&user=a%20b",
      headers: { ...BEARER, "x-custom": "kept", "content-type": "application/json" },
    });
    expect(request?.body.toString()).toBe(body);
  });

  test("a multipart upload reaches the provider byte for byte", async () => {
    const form = new FormData();
    form.set("purpose", "batch");
    form.set("file", new Blob([Buffer.from([0, 255, 13, 10, 0, 195, 40])]), "binary.bin");
    const upload = new Request("http://unused/", { method: "POST", body: form });
    const contentType = upload.headers.get("content-type") ?? "";
    const bytes = Buffer.from(await upload.arrayBuffer());
    const response = await fetch(`${service.url}/v1/files`, {
      method: "POST",
      headers: { ...BEARER, "content-type": contentType },
      body: bytes,
    });
    const request = openai.requests.at(-1);
    expect(response.status).toBe(200);
    expect(request).toMatchObject({
      path: "/v1/files",
      headers: { ...BEARER, "content-type": contentType },
    });
    expect(request?.body.equals(bytes)).toBe(true);
  });

  test.each([
    { name: "openai", headers: BEARER },
    { name: "anthropic", headers: VERSION },
  ])("the list of models comes from $name, as the headers say", async ({ name, headers }) => {
    const response = await fetch(`${service.url}/v1/models?limit=5`, { headers });
    const request = (name === "openai" ? openai : anthropic).requests.at(-1);
    expect(await response.text()).toBe(request?.plainAnswer.toString());
    expect(request).toMatchObject({ method: "GET", path: "/v1/models?limit=5", headers });
  });

  test("files with anthropic-version reach Anthropic", async () => {
    const before = openai.requests.length;
    const response = await fetch(`${service.url}/v1/files/file_1/content`, { headers: VERSION });
    expect(response.status).toBe(200);
    expect(anthropic.requests.at(-1)?.path).toBe("/v1/files/file_1/content");
    expect(openai.requests).toHaveLength(before);
  });

  test("count_tokens reaches Anthropic as it was sent", async () => {
    const body = JSON.stringify(bodyOf("anthropic", [{ role: "user", content: "hello" }]));
    const response = await fetch(`${service.url}/v1/messages/count_tokens`, {
      method: "POST",
      headers: modelHeaders("anthropic", "relayed-key"),
      body,
    });
    expect(await response.json()).toEqual({ input_tokens: Buffer.byteLength(body) });
    expect(anthropic.requests.at(-1)?.body.toString()).toBe(body);
  });

  test("countTokens reaches Gemini as it was sent, in both of its forms", async () => {
    const { model, ...body } = bodyOf("gemini", [{ role: "user", content: "hello" }]);
    const whole = { generateContentRequest: { model: `models/${String(model)}`, ...body } };
    for (const sent of [body, whole].map((each) => JSON.stringify(each))) {
      const path = `/v1beta/models/${String(model)}:countTokens`;
      const response = await fetch(`${service.url}${path}`, {
        method: "POST",
        headers: modelHeaders("gemini", "relayed-key"),
        body: sent,
      });
      expect(await response.json()).toEqual({ totalTokens: Buffer.byteLength(sent) });
      expect(gemini.requests.at(-1)).toMatchObject({ path });
      expect(gemini.requests.at(-1)?.body.toString()).toBe(sent);
    }
  });

  test("the service's own headers stay here", async () => {
    const headers = { "x-plimsoll-agent": "coder", "x-plimsoll-priority": "1" };
    const body = bodyOf("anthropic", [{ role: "user", content: "hello" }]);
    await ask(service.url, { wire: "anthropic", body, headers });
    const sent = Object.keys(anthropic.requests.at(-1)?.headers ?? {});
    expect(sent.filter((name) => name.startsWith("x-plimsoll"))).toEqual([]);
  });

  test.each([
    { path: "/messages", wire: "anthropic" },
    { path: "/anthropic/v1/messages", wire: "anthropic" },
    { path: "/anthropic/messages", wire: "anthropic" },
    { path: "/p/anthropic/v1/messages", wire: "anthropic" },
    { path: "/v1/messages?beta=true", wire: "anthropic" },
    { path: "/chat/completions", wire: "openai-chat" },
    { path: "/openai/v1/chat/completions", wire: "openai-chat" },
    { path: "/p/openai/chat/completions", wire: "openai-chat" },
    { path: `/gemini${MODEL_PATHS.gemini}`, wire: "gemini" },
    { path: `/p/gemini${MODEL_PATHS.gemini}?key=k`, wire: "gemini" },
  ] as const)("$path is the model route of $wire", async ({ path, wire }) => {
    const response = await fetch(`${service.url}${path}`, {
      method: "POST",
      headers: modelHeaders(wire, freshKey()),
      body: textFor(wire, bodyOf(wire, [{ role: "user", content: "hello" }])),
    });
    const request = { anthropic, "openai-chat": openai, gemini }[wire].requests.at(-1);
    expect(response.status).toBe(200);
    expect(response.headers.get("x-plimsoll-action")).toBe("passthrough");
    expect(await response.text()).toBe(request?.plainAnswer.toString());
    expect(request?.path.split("?")).toEqual([MODEL_PATHS[wire], ...path.split("?").slice(1)]);
  });
});

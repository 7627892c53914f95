/** Tests the scripted provider: its checks against the wire fixtures, and its answers byte by byte. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { call, reasoning, reply, text } from "./answer.ts";
import { signedForm } from "./answer-gemini.ts";
import { contentsIn } from "./gemini-contents.ts";
import { Issued } from "./issued.ts";
import { type Json, type JsonObject, objects, WIRES, type Wire } from "./json.ts";
import type { Finding } from "./judge.ts";
import { judgeAnthropic } from "./judge-anthropic.ts";
import { judgeChat } from "./judge-chat.ts";
import { judgeGemini } from "./judge-gemini.ts";
import { judgeResponses } from "./judge-responses.ts";
import { pathFor, textFor } from "./raw-client.ts";
import { essence, readAnswer } from "./reading.ts";
import { inputItems, isFromModel } from "./responses-items.ts";
import { startUpstream, type Upstream, type UpstreamOptions } from "./upstream.ts";

interface Fixture {
  readonly id: string;
  readonly rule?: string;
  readonly alsoBreaks?: readonly string[];
  readonly note: string;
  /** Gemini only: the model, which is in the path. */
  readonly model?: string;
  readonly body: Json;
  readonly bodyRaw?: string;
  /** The client's original input. The model items in it are the provider's own. */
  readonly original?: Json;
  readonly recipe?: readonly RecipeStep[];
}
interface RecipeStep {
  readonly path: string;
  readonly item?: Json;
  readonly items?: readonly Json[];
  readonly times: number;
}

interface Judge {
  readonly wire: string;
  readonly judge: (body: Json, issued?: Issued, model?: string) => Finding[];
  readonly rules: readonly string[];
  /** Fixtures with a fault that only the test driver can detect. */
  readonly unseen: readonly string[];
}

const JUDGES: readonly Judge[] = [
  {
    wire: "anthropic",
    judge: (body) => judgeAnthropic(body, "messages"),
    rules: ["A1", "A2", "A3", "A4", "A5", "A6", "A7", "A13", "A15", "A16"],
    unseen: [],
  },
  {
    wire: "openai-chat",
    judge: judgeChat,
    rules: ["C1", "C2", "C3", "C4", "C6", "C7"],
    unseen: [],
  },
  {
    wire: "openai-responses",
    judge: judgeResponses,
    rules: ["R1", "R2", "R3", "R4", "R5", "R6", "R7"],
    unseen: ["R7-openai-responses-i3"],
  },
  {
    wire: "gemini",
    judge: (body, issued, model = "") =>
      judgeGemini(body, { model, route: "generateContent" }, issued),
    rules: ["G1", "G2", "G3", "G4", "G5"],
    unseen: [],
  },
];

/** A provider that has issued every model item in this body; each run of items was one answer. */
function issuedIn(original: Json): Issued {
  const issued = new Issued();
  const parts = contentsIn(original as JsonObject).flatMap((content) =>
    objects<JsonObject>(content["parts"]),
  );
  issued.rememberSigned(
    new Map(parts.map((part) => [String(part["thoughtSignature"]), [signedForm(part)]])),
  );
  let output: JsonObject[] = [];
  for (const item of [...inputItems((original as JsonObject)["input"]), {}]) {
    if (isFromModel(item)) {
      output.push(item);
      continue;
    }
    issued.rememberResponse({ id: "resp_fixture", heard: [], output, isStored: false });
    output = [];
  }
  return issued;
}

function fixtures(wire: string, kind: "valid" | "invalid"): Fixture[] {
  const file = new URL(`../wire-fixtures/${wire}/${kind}.ndjson`, import.meta.url);
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Fixture);
}

const COPY_NUMBER = /\$\{i\}/g;

/** The fixture's body with the items of its recipe appended. */
function bodyOf(fixture: Fixture): Json {
  const body = JSON.parse(fixture.bodyRaw ?? JSON.stringify(fixture.body)) as Json;
  for (const step of fixture.recipe ?? []) {
    const target = step.path
      .split("/")
      .slice(1)
      .reduce((node: Json | undefined, key) => (node as JsonObject)[key], body) as Json[];
    for (let copy = 0; copy < step.times; copy += 1) {
      const items = JSON.stringify(step.items ?? [step.item]).replace(COPY_NUMBER, String(copy));
      target.push(...(JSON.parse(items) as Json[]));
    }
  }
  return body;
}

function sortedRules(rules: readonly string[]): string[] {
  return [...new Set(rules)].sort();
}

describe.each(JUDGES)("the judge of $wire", ({ wire, judge, rules: judged, unseen }) => {
  const findings = (fixture: Fixture): Finding[] =>
    fixture.original === undefined
      ? judge(bodyOf(fixture), undefined, fixture.model)
      : judge(bodyOf(fixture), issuedIn(fixture.original), fixture.model);
  const visible = fixtures(wire, "invalid").filter(({ id }) => !unseen.includes(id));

  test.each(visible)("finds in $id what is wrong: $note", (fixture) => {
    const broken = [fixture.rule ?? "", ...(fixture.alsoBreaks ?? [])];
    const found = findings(fixture).map((finding) => finding.rule);
    expect(sortedRules(found.filter((rule) => rule !== "shape"))).toEqual(
      sortedRules(broken.filter((rule) => judged.includes(rule))),
    );
  });

  test.each(fixtures(wire, "valid"))("accepts $id: $note", (fixture) => {
    expect(findings(fixture)).toEqual([]);
  });

  test.each(judged)("has an invalid body for %s", (rule) => {
    expect(visible.some((fixture) => fixture.rule === rule)).toBe(true);
  });
});

const open: Upstream[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((upstream) => upstream.close()));
});

async function start(options: UpstreamOptions): Promise<Upstream> {
  const upstream = await startUpstream(options);
  open.push(upstream);
  return upstream;
}

const ANTHROPIC_BODY = {
  model: "claude-sonnet-4-5",
  max_tokens: 100,
  messages: [{ role: "user", content: "hello" }],
};
const CHAT_BODY = { model: "gpt-5.1", messages: [{ role: "user", content: "hello" }] };
const RESPONSES_BODY = { model: "gpt-5.1", input: [{ role: "user", content: "hello" }] };
const GEMINI_BODY = { contents: [{ role: "user", parts: [{ text: "hello" }] }] };
const GEMINI_PATH = "/v1beta/models/gemini-3-pro-preview:generateContent";
const GEMINI_STREAM_PATH = "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse";

function post(upstream: Upstream, path: string, body: unknown): Promise<Response> {
  return fetch(`${upstream.url}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
      authorization: "Bearer key",
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** Signatures differ between two answers. */
function withoutSignatures(message: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(message), (key, value: unknown) =>
    key === "thoughtSignature" ? undefined : value,
  ) as JsonObject;
}

describe("the scripted provider", () => {
  test("refuses in the words of each provider", async () => {
    const upstream = await start({});
    const anthropic = await post(upstream, "/v1/messages", { ...ANTHROPIC_BODY, messages: [] });
    expect(anthropic.status).toBe(400);
    expect(await anthropic.json()).toMatchObject({
      type: "error",
      error: { type: "invalid_request_error", message: expect.any(String) },
    });
    const chat = await post(upstream, "/v1/chat/completions", "{");
    expect(chat.status).toBe(400);
    expect(await chat.json()).toMatchObject({
      error: {
        message: expect.any(String),
        type: "invalid_request_error",
        param: null,
        code: null,
      },
    });
  });

  test.each([
    ["/v1/messages", { ...ANTHROPIC_BODY, max_tokens: undefined }],
    ["/v1/messages", { ...ANTHROPIC_BODY, messages: "hello" }],
    ["/v1/messages", { ...ANTHROPIC_BODY, messages: [{ role: "robot", content: "hello" }] }],
    ["/v1/messages", { ...ANTHROPIC_BODY, messages: [{ role: "user", content: 7 }] }],
    ["/v1/messages", { ...ANTHROPIC_BODY, model: 7 }],
    ["/v1/messages", []],
    ["/v1/messages", ""],
    ["/v1/chat/completions", { ...CHAT_BODY, messages: "hello" }],
    ["/v1/chat/completions", { ...CHAT_BODY, messages: [] }],
    ["/v1/chat/completions", { ...CHAT_BODY, messages: [{ role: "robot", content: "hello" }] }],
    ["/v1/chat/completions", { ...CHAT_BODY, model: undefined }],
    ["/v1/chat/completions", []],
    ["/v1/responses", { ...RESPONSES_BODY, input: [] }],
    ["/v1/responses", { ...RESPONSES_BODY, input: "" }],
    ["/v1/responses", { ...RESPONSES_BODY, input: [7] }],
    ["/v1/responses", { ...RESPONSES_BODY, model: undefined }],
    ["/v1/responses", { ...RESPONSES_BODY, max_output_tokens: 0 }],
    ["/v1/responses", { ...RESPONSES_BODY, input: [{ role: "robot", content: "hello" }] }],
    ["/v1/responses", { ...RESPONSES_BODY, input: [{ role: "user", content: "" }] }],
    ["/v1/responses", { ...RESPONSES_BODY, input: [{ role: "user", content: [] }] }],
    ["/v1/responses", { ...RESPONSES_BODY, input: [{ type: "reasoning", id: "rs_1" }] }],
    ["/v1/responses", { ...RESPONSES_BODY, input: [{ type: "function_call", name: "a" }] }],
    ["/v1/responses", []],
    [GEMINI_PATH, { ...GEMINI_BODY, contents: [] }],
    [GEMINI_PATH, { ...GEMINI_BODY, contents: "hello" }],
    [GEMINI_PATH, { ...GEMINI_BODY, contents: ["hello"] }],
    [GEMINI_PATH, { ...GEMINI_BODY, systemInstruction: "hello" }],
    [GEMINI_PATH, { ...GEMINI_BODY, generationConfig: { maxOutputTokens: 0 } }],
    [GEMINI_PATH, []],
    [GEMINI_PATH, ""],
  ])("refuses a wrong shape on %s: %j", async (path, body) => {
    const upstream = await start({});
    expect((await post(upstream, path, body)).status).toBe(400);
    expect(upstream.refusals.invalid).not.toEqual([]);
  });

  test("counts tokens without max_tokens, lists models, and echoes any other path", async () => {
    const upstream = await start({});
    const { max_tokens: _unused, ...countable } = ANTHROPIC_BODY;
    const counted = await post(upstream, "/v1/messages/count_tokens", countable);
    expect(await counted.json()).toEqual({ input_tokens: expect.any(Number) });
    const models = await fetch(`${upstream.url}/v1/models`);
    expect(await models.json()).toMatchObject({ object: "list" });
    const echo = await post(upstream, "/v1/embeddings?dimension=2", "bytes");
    expect(await echo.json()).toEqual({ echo: "POST /v1/embeddings?dimension=2", bytes: 5 });
    expect(upstream.requests.at(-1)?.body.toString()).toBe("bytes");
  });

  test.each([{}, { chunkBytes: 1 }, { gzip: true }, { gzip: true, chunkBytes: 3 }])(
    "keeps the exact bytes of a stream with %j",
    async (options) => {
      const script = () =>
        reply(reasoning("sig", "hm"), text("ö", "😀"), call("id_1", "read_file", { path: "ä" }));
      const upstream = await start({ script, ...options });
      const answers: [string, JsonObject, string][] = [
        ["/v1/messages", { ...ANTHROPIC_BODY, stream: true }, "event: message_stop"],
        ["/v1/chat/completions", { ...CHAT_BODY, stream: true }, "data: [DONE]"],
        ["/v1/responses", { ...RESPONSES_BODY, stream: true }, "event: response.completed"],
        [GEMINI_STREAM_PATH, GEMINI_BODY, '"finishReason":"STOP"'],
        [GEMINI_STREAM_PATH.replace("?alt=sse", ""), GEMINI_BODY, '"finishReason": "STOP"'],
      ];
      for (const [path, body, terminal] of answers) {
        const response = await post(upstream, path, body);
        const received = Buffer.from(await response.arrayBuffer());
        const recorded = upstream.requests.at(-1);
        expect(received.toString()).toBe(recorded?.plainAnswer.toString());
        expect(received.toString()).toContain(terminal);
        const sent = recorded?.answer ?? Buffer.alloc(0);
        expect((options.gzip ? gunzipSync(sent) : sent).equals(received)).toBe(true);
      }
    },
  );

  const BODIES: Readonly<Record<Wire, JsonObject>> = {
    anthropic: ANTHROPIC_BODY,
    "openai-chat": CHAT_BODY,
    "openai-responses": RESPONSES_BODY,
    gemini: { ...GEMINI_BODY, model: "gemini-3-pro-preview" },
  };

  test.each(WIRES)("says the same on %s streamed and not streamed", async (wire) => {
    const parts = [text("one ", "two"), call("id_1", "read_file", { path: "a" })];
    const upstream = await start({ script: () => reply(reasoning("sig", "hm"), ...parts) });
    const [whole, streamed] = await Promise.all(
      [false, true].map(async (stream) => {
        const body = { ...BODIES[wire], stream };
        const response = await post(upstream, pathFor(wire, body), textFor(wire, body));
        const { isComplete, message } = readAnswer(wire, await response.text());
        return { isComplete, message: withoutSignatures(message) };
      }),
    );
    expect(whole?.isComplete).toBe(true);
    expect(streamed?.isComplete).toBe(true);
    expect(essence(streamed?.message)).toEqual(essence(whole?.message));
    expect(essence(whole?.message).says).toHaveLength(3);
  });

  test("breaks a stream that its script cuts, and notices a client that leaves", async () => {
    const cut = { ...reply(text("a", "b")), early: { kind: "cut", afterEvents: 3 } } as const;
    const upstream = await start({
      script: (_request, { requestNumber }) => (requestNumber === 1 ? cut : { kind: "hang" }),
    });
    const broken = await post(upstream, "/v1/messages", { ...ANTHROPIC_BODY, stream: true });
    await expect(broken.text()).rejects.toThrow("terminated");

    const leaving = new AbortController();
    const pending = fetch(`${upstream.url}/v1/messages`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
        "x-api-key": "key",
      },
      body: JSON.stringify(ANTHROPIC_BODY),
      signal: leaving.signal,
    });
    const seen = await upstream.received(2);
    leaving.abort();
    await expect(pending).rejects.toThrow();
    await seen.closed;
    expect(seen.status).toBe(0);
  });
});

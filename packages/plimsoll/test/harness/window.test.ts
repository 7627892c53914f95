/** Tests the provider that counts: its rule, its usage reports, and its errors for requests that do not fit. */
import { readFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { call, reasoning, reply, text } from "./answer.ts";
import { countMessage, countRequest, countText } from "./counting.ts";
import { type JsonObject, WIRES, type Wire } from "./json.ts";
import { ask, bodyOf } from "./raw-client.ts";
import { startUpstream, type Upstream, type Window } from "./upstream.ts";
import { outputLimit } from "./wires.ts";

const QUESTION = { role: "user", content: "hello world" };
const QUESTION_TOKENS = 2 + 4;
/** 1 x 1 pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

let upstream: Upstream | undefined;
afterEach(async () => {
  await upstream?.close();
});

async function startWith(window: Window): Promise<Upstream> {
  const script = () => reply(reasoning("sig", "hm"), text("so ", "be it"), call("c_1", "read", {}));
  upstream = await startUpstream({ script, window });
  return upstream;
}

describe("what is counted", () => {
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } };
  const cases: readonly [Wire, JsonObject, readonly string[], number][] = [
    ["anthropic", QUESTION, ["hello world"], 0],
    ["anthropic", { role: "user", content: [{ type: "text", text: "ö😀" }, image] }, ["ö😀"], 1],
    [
      "anthropic",
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "c2lnbmF0dXJl" },
          { type: "tool_use", id: "t_1", name: "read_file", input: { path: "a b" } },
        ],
      },
      ["hm", "read_file", '{"path":"a b"}'],
      0,
    ],
    [
      "anthropic",
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "t_1", content: "one" },
          { type: "tool_result", tool_use_id: "t_2", content: [{ type: "text", text: "two" }] },
        ],
      },
      ["one", "two"],
      0,
    ],
    [
      "openai-chat",
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "c", type: "function", function: { name: "read_file", arguments: '{"path": 1}' } },
        ],
      },
      ["read_file", '{"path": 1}'],
      0,
    ],
    ["openai-chat", { role: "tool", tool_call_id: "c", content: "one" }, ["one"], 0],
    [
      "openai-chat",
      {
        role: "user",
        content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } }],
      },
      [],
      210,
    ],
    [
      "openai-responses",
      { type: "function_call", call_id: "c", name: "read_file", arguments: '{"path": 1}' },
      ["read_file", '{"path": 1}'],
      0,
    ],
    ["openai-responses", { type: "function_call_output", call_id: "c", output: "one" }, ["one"], 0],
    [
      "openai-responses",
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "hm" }],
        encrypted_content: "gAAAAABfixture",
      },
      ["hm"],
      0,
    ],
    [
      "gemini",
      {
        role: "model",
        parts: [
          { text: "hm", thought: true },
          { text: "so", thoughtSignature: "c2lnbmF0dXJl" },
          { functionCall: { id: "c", name: "read_file", args: { path: "a b" } } },
        ],
      },
      ["hm", "so", "read_file", '{"path":"a b"}'],
      0,
    ],
    [
      "gemini",
      {
        role: "user",
        parts: [
          { functionResponse: { id: "c", name: "read_file", response: { output: "one" } } },
          { functionResponse: { name: "list", response: { name: "list", content: "two" } } },
          { functionResponse: { name: "list", response: { count: 3 } } },
          { inlineData: { mimeType: "image/png", data: PIXEL } },
        ],
      },
      ["one", "two", '{"count":3}'],
      1_120,
    ],
  ];

  test.each(cases)("%s: %j", (wire, message, texts, other) => {
    const expected = texts.reduce((sum, each) => sum + countText(each), 4 + other);
    expect(countMessage(wire, message)).toBe(expected);
  });

  test.each(WIRES)("%s: system prompt and tools stand before the conversation", (wire) => {
    const tools = [{ name: "read_file", input_schema: { type: "object" } }];
    const system = {
      anthropic: { system: "You count." },
      "openai-chat": {},
      "openai-responses": { instructions: "You count." },
      gemini: { systemInstruction: { parts: [{ text: "You count." }] } },
    };
    const body = bodyOf(wire, [QUESTION], { tools, ...system[wire] });
    const head =
      countText(JSON.stringify(tools)) + (wire === "openai-chat" ? 0 : countText("You count."));
    expect(countRequest(wire, body)).toBe(QUESTION_TOKENS + head);
  });
});

describe.each(WIRES)("%s: a provider that counts", (wire) => {
  test.each([false, true])("reports what it counted (stream: %s)", async (stream) => {
    const { url, requests } = await startWith({ tokens: 5_000, factor: 10 });
    const options = wire === "openai-chat" ? { stream_options: { include_usage: true } } : {};
    const body = bodyOf(wire, [QUESTION], { stream, ...(stream ? options : {}) });
    const { answer, isComplete } = await ask(url, { wire, body });
    const field = {
      anthropic: "input_tokens",
      "openai-chat": "prompt_tokens",
      "openai-responses": "input_tokens",
      gemini: "promptTokenCount",
    }[wire];
    expect(isComplete).toBe(true);
    expect(answer).toMatch(new RegExp(`"${field}": ?${QUESTION_TOKENS * 10}\\b`));
    expect(requests[0]).toMatchObject({ tokens: QUESTION_TOKENS * 10, isOverflow: false });
  });

  test("takes what just fits, with the answer that is asked for", async () => {
    const { url, refusals } = await startWith({ tokens: QUESTION_TOKENS + 1_000 });
    const statuses: number[] = [];
    for (const most of [1_000, 1_001]) {
      const body = bodyOf(wire, [QUESTION], outputLimit(wire, most));
      statuses.push((await ask(url, { wire, body })).status);
    }
    // Gemini has separate limits for what it reads and what it writes.
    const isShared = wire !== "gemini";
    expect(statuses).toEqual([200, isShared ? 400 : 200]);
    expect(refusals).toEqual({ overflow: isShared ? 1 : 0, invalid: [] });
  });
});

/** The texts of the fixtures, with the figures of these tests. */
const TOO_LONG: Readonly<Record<Wire, RegExp>> = {
  anthropic: /prompt is too long: 6 tokens > 5 maximum/,
  "openai-chat":
    /This model's maximum context length is 5 tokens. However, your messages resulted in 6 tokens. Please reduce the length of the messages./,
  "openai-responses":
    /Your input exceeds the context window of this model. Please adjust your input and try again./,
  gemini: /The input token count \(6\) exceeds the maximum number of tokens allowed \(5\)\./,
};

function fixture(wire: Wire): string {
  const name = wire === "openai-responses" ? "overflow-failed" : "overflow-in-stream";
  return readFileSync(
    new URL(`../wire-fixtures/streams/${wire}/${name}.sse`, import.meta.url),
    "utf8",
  );
}

/** The field names of each event, without those that differ between answers. */
function eventShapes(stream: string): unknown[] {
  return stream
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => shapeOf(JSON.parse(line.slice("data:".length))));
}

function shapeOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]) => [key, key === "type" || key === "code" ? inner : shapeOf(inner)])
      .sort(([left], [right]) => (String(left) < String(right) ? -1 : 1)),
  );
}

describe.each(WIRES)("%s: a conversation that is too long", (wire) => {
  test("is refused with status 400", async () => {
    const { url } = await startWith({ tokens: 5 });
    const { status, answer } = await ask(url, { wire, body: bodyOf(wire, [QUESTION]) });
    expect(status).toBe(400);
    expect(answer).toMatch(TOO_LONG[wire]);
  });

  test("is refused inside a stream, as in the fixture", async () => {
    const { url, requests } = await startWith({ tokens: 5, isToldInStream: true });
    const body = bodyOf(wire, [QUESTION], { stream: true });
    const { status, answer, isComplete } = await ask(url, { wire, body });
    expect(status).toBe(200);
    expect(isComplete).toBe(false);
    expect(answer).toMatch(TOO_LONG[wire]);
    expect(eventShapes(answer)).toEqual(eventShapes(fixture(wire)));
    expect(requests[0]?.isOverflow).toBe(true);
  });
});

describe("what the official clients make of it", () => {
  const apiKey = "key";
  const content = "hello world";

  test.each([false, true])("anthropic (in the stream: %s)", async (isToldInStream) => {
    const { url } = await startWith({ tokens: 5, isToldInStream });
    const client = new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
    const request = { model: "claude-sonnet-4-6", max_tokens: 10, messages: [QUESTION] } as const;
    const answer = client.messages.stream({ ...request, messages: [{ role: "user", content }] });
    await expect(answer.finalMessage()).rejects.toThrow("prompt is too long");
  });

  test.each([false, true])("openai chat (in the stream: %s)", async (isToldInStream) => {
    const { url } = await startWith({ tokens: 5, isToldInStream });
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
    const answer = client.chat.completions.stream({
      model: "gpt-5.1",
      messages: [{ role: "user", content }],
    });
    await expect(answer.finalMessage()).rejects.toThrow("maximum context length");
  });

  test("openai responses", async () => {
    const { url } = await startWith({ tokens: 5 });
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
    const request = { model: "gpt-5.1", input: content };
    await expect(client.responses.create(request)).rejects.toThrow("exceeds the context window");
    const { status, error } = await client.responses.stream(request).finalResponse();
    expect(status).toBe("failed");
    expect(error?.code).toBe("context_length_exceeded");
  });
});

/** One conformance suite over all wires, fed with the recorded streams of test/wire-fixtures. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, isObject, type JsonObject, type JsonValue } from "../message/json.ts";
import type { Message } from "../message/message.ts";
import { createJsonReader, createStreamReader } from "./answer-reader.ts";
import { recognizeOverflow } from "./overflow.ts";
import { readSlices } from "./slices.ts";
import type { Answer, WireName } from "./wire.ts";
import { wires } from "./wires.ts";

const fixtures = join(import.meta.dirname, "../../test/wire-fixtures");
const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

/** Fields that the official helpers add and the wire does not carry. */
const helperFields = new Set(["parsed", "parsed_output", "parsed_arguments"]);

function withoutHelperFields(value: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(value)) return value.map((item) => withoutHelperFields(item) ?? null);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key]) => !helperFields.has(key));
  return Object.fromEntries(kept.map(([key, field]) => [key, withoutHelperFields(field)]));
}

function feed(wire: WireName, bytes: Uint8Array, step: number): { answer: Answer; held: number } {
  const reader = createStreamReader(wires[wire]);
  let held = 0;
  for (let start = 0; start < bytes.length; start += step) {
    const chunk = bytes.subarray(start, start + step);
    held += chunk.length - reader.push(chunk).passBytes;
  }
  return { answer: reader.finish(), held };
}

/**
 * Where the official helper forgets what the wire said, the record does not: it replaces unknown text
 * fields by their last delta, and ignores unknown usage fields of later events.
 */
const keptOnPurpose: Readonly<Record<string, readonly [expected: string, ours: string]>> = {
  "reasoning-content.sse": ['"reasoning_content":"look."', '"reasoning_content":"Let me look."'],
  "usage-variants.sse": ['"future_counter":7', '"future_counter":8'],
};

function isOverflow({ error, response }: Answer): boolean {
  const body = error === undefined ? (response ?? null) : { error: { ...error } };
  return recognizeOverflow({ status: 200, body }) !== undefined;
}

interface Expected {
  readonly outcome: Answer["outcome"];
  readonly isOverflow: boolean;
  readonly message?: JsonObject;
  readonly error?: { readonly body?: JsonObject };
  readonly partial?: { readonly text: string };
}

for (const wire of ["anthropic", "openai-chat"] as const) {
  describe(`${wire} streams`, () => {
    const folder = join(fixtures, "streams", wire);
    const names = readdirSync(folder).filter((name) => name.endsWith(".sse"));
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) {
      const bytes = readFileSync(join(folder, name));
      const expected = JSON.parse(
        readFileSync(join(folder, name.replace(".sse", ".expected.json")), "utf8"),
      ) as Expected;
      test.each([bytes.length, 1, 7])(`${name} decodes as expected in pieces of %i`, (step) => {
        const { answer } = feed(wire, bytes, step);
        expect(answer.outcome).toBe(expected.outcome);
        if (expected.message !== undefined) {
          const [helper, ours] = keptOnPurpose[name] ?? ["", ""];
          expect(canonicalJson(withoutHelperFields(answer.response))).toBe(
            canonicalJson(withoutHelperFields(expected.message)).replace(helper, ours),
          );
        }
        if (expected.outcome === "error") {
          const body = expected.error?.body?.["error"] ?? expected.error?.body;
          expect(isObject(body) && body["message"]).toBe(answer.error?.message);
        }
        expect(isOverflow(answer)).toBe(expected.isOverflow);
        if (expected.partial !== undefined) {
          const text = answer.messages
            .flatMap((message) => wires[wire].decode(message).parts)
            .map((part) => (part.kind === "text" ? part.text : ""))
            .join("");
          expect(text).toBe(expected.partial.text);
        }
      });
    }
  });
}

test("the terminal event is held back, and everything before it is not", () => {
  for (const wire of ["anthropic", "openai-chat"] as const) {
    const bytes = readFileSync(join(fixtures, "streams", wire, "plain-text.sse"));
    const marker = wire === "anthropic" ? "event: message_stop" : "data: [DONE]";
    expect(feed(wire, bytes, bytes.length).held).toBe(bytes.length - bytes.indexOf(marker));
    expect(feed(wire, bytes, 1).held).toBeGreaterThanOrEqual(1);
  }
});

test("a stream of noise never throws", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 400 }),
      fc.integer({ min: 1, max: 50 }),
      (bytes, step) => {
        for (const wire of ["anthropic", "openai-chat"] as const) {
          expect(feed(wire, bytes, step).answer.outcome).toBe("cut");
        }
      },
    ),
  );
});

test("valid fixture bodies are read, and every message keeps its identity when it is re-marked", () => {
  for (const wire of ["anthropic", "openai-chat"] as const) {
    const lines = readFileSync(join(fixtures, wire, "valid.ndjson"), "utf8")
      .trim()
      .split("\n");
    for (const line of lines) {
      const { body } = JSON.parse(line) as { body: JsonObject };
      const bytes = bytesOf(body);
      const request = wires[wire].readRequest(bytes, readSlices(bytes));
      const messages = body["messages"] as readonly JsonObject[];
      expect(request.messages).toHaveLength(messages.length);
      for (const message of messages) {
        const identity = wires[wire].identity(message);
        expect(wires[wire].identity(marked(message))).toBe(identity);
        expect(wires[wire].decode(message).parts.length).toBeGreaterThanOrEqual(0);
      }
    }
  }
});

/** As clients do it: a string becomes one block, the last block gets a mark. */
function marked(message: JsonObject): JsonObject {
  const { content } = message;
  const mark = { cache_control: { type: "ephemeral" } };
  if (typeof content === "string")
    return { ...message, content: [{ type: "text", text: content, ...mark }] };
  if (!Array.isArray(content) || content.length === 0) return { ...message, refusal: null };
  const last = content.at(-1);
  return {
    ...message,
    content: [...content.slice(0, -1), isObject(last) ? { ...last, ...mark } : last],
  };
}

const conversation: readonly Message[] = [
  { role: "user", parts: [{ kind: "text", text: "look" }] },
  {
    role: "assistant",
    parts: [
      { kind: "text", text: "reading" },
      { kind: "tool-call", id: "call_1", name: "read", input: '{"path":"a"}' },
      { kind: "tool-call", id: "call_2", name: "read", input: '{"path":"b"}' },
    ],
  },
  {
    role: "tool",
    parts: [
      {
        kind: "tool-result",
        callId: "call_1",
        content: [{ kind: "text", text: "A" }],
        isError: false,
      },
    ],
  },
  {
    role: "tool",
    parts: [
      {
        kind: "tool-result",
        callId: "call_2",
        content: [{ kind: "text", text: "B" }],
        isError: false,
      },
    ],
  },
  { role: "assistant", parts: [{ kind: "text", text: "done" }] },
];

test("a conversation crosses from any wire to any other with its calls and results", () => {
  const flat = (messages: readonly Message[]): unknown =>
    messages.flatMap((message) => message.parts);
  for (const from of Object.values(wires)) {
    for (const to of Object.values(wires)) {
      const there = from.encode(conversation).map((message) => from.decode(message));
      const back = to.encode(there).map((message) => to.decode(message));
      expect(flat(back)).toEqual(flat(conversation));
    }
  }
});

test("parallel results stand in one Anthropic message, before any text", () => {
  const encoded = wires.anthropic.encode(conversation);
  expect(encoded.map((message) => message["role"])).toEqual([
    "user",
    "assistant",
    "user",
    "assistant",
  ]);
});

test.each(Object.values(wires))(
  "$name: wrong types get a sentence that names the field",
  (wire) => {
    const read = (body: JsonObject): unknown =>
      wire.readRequest(bytesOf(body), readSlices(bytesOf(body)));
    expect(() => read({ model: 7, messages: [] })).toThrowError("`model` must be a string.");
    expect(read({ messages: [], max_tokens: -1 })).toEqual({ model: "", messages: [] });
    expect(() => read({ model: "m", messages: "hi" })).toThrowError("`messages` must be an array.");
    expect(() => read({ model: "m", messages: [], max_tokens: "many" })).toThrowError(
      "`max_tokens`",
    );
  },
);

test("unknown blocks survive decoding and encoding as they came", () => {
  const block = { type: "future_block", payload: { deep: [1, null] } };
  const [encoded] = wires.anthropic.encode([
    wires.anthropic.decode({ role: "user", content: [block] }),
  ]);
  expect(encoded?.["content"]).toEqual([block]);
});

test("a JSON answer waits piece by piece, and reads like the stream of the same answer", () => {
  const response = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "hi" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 2 },
  };
  const reader = createJsonReader(wires.anthropic);
  const bytes = bytesOf(response);
  expect(reader.push(bytes.subarray(0, 10)).passBytes).toBe(0);
  expect(reader.push(bytes.subarray(10)).passBytes).toBe(0);
  const answer = reader.finish();
  expect(answer.usage).toEqual({
    inputTokens: 7,
    outputTokens: 2,
    cacheReadTokens: 4,
    cacheWriteTokens: 0,
  });
  expect(answer.messages).toEqual([{ role: "assistant", content: [{ type: "text", text: "hi" }] }]);
});

test("keys that reach for the prototype stay plain data", () => {
  const evil = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
  const start = `event: message_start\ndata: {"type":"message_start","message":{"role":"assistant","content":[]}}\n\n`;
  const delta = `event: message_delta\ndata: {"type":"message_delta","delta":${evil},"usage":${evil}}\n\n`;
  const block = `event: content_block_start\ndata: {"index":0,"content_block":${evil}}\n\n`;
  const chunk = `data: {"choices":[{"index":0,"delta":${evil},"__proto__":{"polluted":1}}],"__proto__":{"polluted":1}}\n\n`;
  const answers = [
    feed("anthropic", new TextEncoder().encode(start + block + delta), 1000).answer,
    feed("openai-chat", new TextEncoder().encode(chunk), 1000).answer,
  ];
  for (const { response } of answers)
    expect((response as { polluted?: number }).polluted).toBeUndefined();
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

/** One conformance suite for all wires, with the recorded streams of test/wire-fixtures. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, isObject, type JsonObject, type JsonValue } from "../../message/json.ts";
import type { Message } from "../../message/message.ts";
import { recognizeOverflow } from "../overflow.ts";
import { wires } from "../wires.ts";
import { createJsonReader, createStreamReader } from "./answer-reader.ts";
import { readSlices } from "./slices.ts";
import { applySplices } from "./splice.ts";
import type { Answer, Wire, WireName } from "./wire.ts";

const fixtures = join(import.meta.dirname, "../../../test/wire-fixtures");
const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

const wireNames = Object.keys(wires) as readonly WireName[];

/** Fields that the official helpers add and that are not on the wire. */
const helperFields = new Set([
  "parsed",
  "parsed_output",
  "parsed_arguments",
  "output_parsed",
  "output_text",
]);

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
 * Plimsoll keeps content that the official helper loses: the helper replaces unknown text fields with their last delta, and
 * ignores unknown usage fields of later events.
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
  /** "failed": the response itself says that it failed. */
  readonly outcome: Answer["outcome"] | "failed";
  readonly isOverflow: boolean;
  readonly message?: JsonObject;
  readonly error?: JsonObject;
  readonly partial?: { readonly text: string; readonly snapshot?: JsonObject };
}

/** The error as the SDK threw it, or as the response contains it. */
function errorOf({ error, message }: Expected): JsonObject {
  const thrown = isObject(error?.["body"]) ? error["body"] : (error ?? message ?? {});
  // Google's SDK puts the provider's JSON into its message.
  const quoted = /^got status: [A-Z_]+\. (\{.*\})$/s.exec(String(thrown["message"]))?.[1];
  const body = quoted === undefined ? thrown : (JSON.parse(quoted) as JsonObject);
  return isObject(body["error"]) ? body["error"] : body;
}

for (const wire of wireNames) {
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
        expect(answer.outcome).toBe(expected.outcome === "failed" ? "error" : expected.outcome);
        expectResponse(answer, expected.message, keptOnPurpose[name]);
        expect(answer.error?.message).toBe(
          answer.outcome === "error" ? errorOf(expected)["message"] : undefined,
        );
        expect(isOverflow(answer)).toBe(expected.isOverflow);
        if (expected.partial === undefined) return;
        expect(textSaid(wires[wire], answer)).toBe(expected.partial.text);
        expectResponse(answer, expected.partial.snapshot);
      });
    }
  });
}

function expectResponse(
  { response }: Answer,
  expected: JsonObject | undefined,
  [helper, ours]: readonly [string, string] = ["", ""],
): void {
  if (expected === undefined) return;
  // The helper's snapshot of an unfinished completion still has the type of a chunk.
  const wanted = canonicalJson(withoutHelperFields(expected)).replace(
    "completion.chunk",
    "completion",
  );
  expect(canonicalJson(withoutHelperFields(response))).toBe(wanted.replace(helper, ours));
}

function textSaid(wire: Wire, { choices }: Answer): string {
  return choices
    .flat()
    .flatMap((message) => wire.messages.decode(message).parts)
    .map((part) => (part.kind === "text" ? part.text : ""))
    .join("");
}

test("the terminal event is held back, and everything before it is not", () => {
  const terminal = {
    anthropic: "event: message_stop",
    "openai-chat": "data: [DONE]",
    "openai-responses": "event: response.completed",
    gemini:
      'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"😀"}]},"finishReason"',
  };
  for (const wire of wireNames) {
    const bytes = readFileSync(join(fixtures, "streams", wire, "plain-text.sse"));
    const marker = terminal[wire];
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
        for (const wire of wireNames) {
          expect(feed(wire, bytes, step).answer.outcome).toBe("cut");
        }
      },
    ),
  );
});

test("valid fixture bodies are read, and every message keeps its identity when it is re-marked", () => {
  for (const wire of Object.values(wires)) {
    for (const { body } of fixtureLines<{ body: JsonObject }>(wire.name, "valid.ndjson")) {
      const bytes = bytesOf(body);
      const request = wire.body.read(bytes, readSlices(bytes));
      const messages = messagesOf(wire, body);
      expect(request.messages).toHaveLength(messages.length);
      for (const message of messages) {
        const identity = wire.messages.identity(message);
        expect(wire.messages.identity(marked(wire, message))).toBe(identity);
        expect(wire.messages.decode(message).parts.length).toBeGreaterThanOrEqual(0);
      }
    }
  }
});

function fixtureLines<Line>(...path: readonly string[]): readonly Line[] {
  const lines = readFileSync(join(fixtures, ...path), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => JSON.parse(line) as Line);
}

function messagesOf(wire: Wire, body: JsonObject): readonly JsonObject[] {
  const messages = body[wire.fields.messages];
  const elements: readonly JsonValue[] = Array.isArray(messages) ? messages : [messages ?? null];
  return elements.map((element) => wire.messages.asMessage(element)).filter(isObject);
}

/** Marks a message as clients do: a string becomes one block, and the last block gets a mark. */
function marked(wire: Wire, message: JsonObject): JsonObject {
  const isResponses = wire.name === "openai-responses";
  const field = isResponses && message["output"] !== undefined ? "output" : "content";
  const content = message[field];
  const mark = isResponses
    ? { prompt_cache_breakpoint: { mode: "explicit" } }
    : { cache_control: { type: "ephemeral" } };
  if (typeof content === "string") {
    const inputType = message["role"] === "assistant" ? "output_text" : "input_text";
    const type = isResponses ? inputType : "text";
    return { ...message, [field]: [{ type, text: content, ...mark }] };
  }
  if (!Array.isArray(content) || content.length === 0) return { ...message, refusal: null };
  const last = content.at(-1);
  return {
    ...message,
    [field]: [...content.slice(0, -1), isObject(last) ? { ...last, ...mark } : last],
  };
}

interface Pair {
  readonly id: string;
  readonly wire: string;
  readonly commonMessages: number;
  readonly first: { readonly body: JsonObject };
  readonly second: { readonly body: JsonObject };
}

test.each(fixtureLines<Pair>("prefix", "pairs.ndjson").filter(({ wire }) => wire in wires))(
  "$id $name: as many messages are the same as the pair says",
  ({ wire: name, first, second, commonMessages }) => {
    const wire = wires[name as WireName];
    const identities = ({ body }: Pair["first"]): readonly string[] =>
      messagesOf(wire, body).map((message) => wire.messages.identity(message));
    const [before, after] = [identities(first), identities(second)];
    const differs = before.findIndex((identity, index) => identity !== after[index]);
    expect(differs < 0 ? before.length : differs).toBe(commonMessages);
  },
);

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
  // Only Gemini's results state the name of their tool, and only its calls have loose ids.
  const flat = (messages: readonly Message[]): unknown =>
    messages
      .flatMap((message) => message.parts)
      .map((part) => {
        if (part.kind === "tool-call") return { ...part, looseId: undefined };
        return part.kind === "tool-result"
          ? { ...part, name: undefined, looseId: undefined }
          : part;
      });
  for (const from of Object.values(wires)) {
    for (const to of Object.values(wires)) {
      const there = from.messages
        .encode(conversation)
        .map((message) => from.messages.decode(message));
      const back = to.messages.encode(there).map((message) => to.messages.decode(message));
      expect(flat(back)).toEqual(flat(conversation));
    }
  }
});

test("parallel results stand in one Anthropic message, before any text", () => {
  const encoded = wires.anthropic.messages.encode(conversation);
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
    const messagesField = wire.fields.messages;
    const maxField = messagesField === "input" ? "max_output_tokens" : "max_tokens";
    const limited = (most: JsonValue): JsonObject =>
      wire.name === "gemini"
        ? { generationConfig: { maxOutputTokens: most } }
        : { [maxField]: most };
    const read = (body: JsonObject): unknown =>
      wire.body.read(bytesOf(body), readSlices(bytesOf(body)));
    expect(() => read({ model: 7, [messagesField]: [] })).toThrowError("`model` must be a string.");
    expect(read({ [messagesField]: [], ...limited(-1) })).toEqual({ model: "", messages: [] });
    expect(() => read({ model: "m", [messagesField]: 7 })).toThrowError(
      `\`${messagesField}\` must be an array.`,
    );
    expect(() => read({ model: "m", [messagesField]: [], ...limited("many") })).toThrowError(
      wire.name === "gemini" ? "`maxOutputTokens`" : `\`${maxField}\``,
    );
  },
);

test.each(Object.values(wires))("$name: its own words for an overflow are recognised", (wire) => {
  const body = wire.errors.tooLong(410_000, 400_000);
  const overflow = { kind: "input", needTokens: 410_000, limitTokens: 400_000 };
  expect(recognizeOverflow({ status: 400, body })).toEqual(overflow);
});

test.each(Object.values(wires))("$name: an element that is no message is none", (wire) => {
  for (const json of [null, 7, true, []]) expect(wire.messages.asMessage(json)).toBeUndefined();
  const message = { role: "user", content: "a" };
  expect(wire.messages.asMessage(message)).toBe(message);
});

test("unknown blocks survive decoding and encoding as they came", () => {
  const block = { type: "future_block", payload: { deep: [1, null] } };
  const [encoded] = wires.anthropic.messages.encode([
    wires.anthropic.messages.decode({ role: "user", content: [block] }),
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
  });
  expect(answer.choices).toEqual([
    [{ role: "assistant", content: [{ type: "text", text: "hi" }] }],
  ]);
});

test("keys that reach for the prototype stay plain data", () => {
  const evil = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
  const start = `event: message_start\ndata: {"type":"message_start","message":{"role":"assistant","content":[]}}\n\n`;
  const delta = `event: message_delta\ndata: {"type":"message_delta","delta":${evil},"usage":${evil}}\n\n`;
  const block = `event: content_block_start\ndata: {"index":0,"content_block":${evil}}\n\n`;
  const chunk = `data: {"choices":[{"index":0,"delta":${evil},"__proto__":{"polluted":1}}],"__proto__":{"polluted":1}}\n\n`;
  const item = `data: {"type":"response.output_item.added","output_index":0,"item":${evil}}\n\n`;
  const part = `data: {"type":"response.content_part.added","output_index":0,"content_index":0,"part":${evil}}\n\n`;
  const end = `data: {"type":"response.completed","response":${evil},"__proto__":{"polluted":1}}\n\n`;
  const answers = [
    feed("anthropic", new TextEncoder().encode(start + block + delta), 1000).answer,
    feed("openai-responses", new TextEncoder().encode(item + part + end), 1000).answer,
    feed("openai-chat", new TextEncoder().encode(chunk), 1000).answer,
  ];
  for (const { response } of answers)
    expect((response as { polluted?: number }).polluted).toBeUndefined();
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

test.each([
  [
    "anthropic",
    ["max_tokens", "model_context_window_exceeded", "pause_turn", "refusal"],
    "tool_use",
  ],
  ["openai-chat", ["length", "content_filter"], "tool_calls"],
  ["openai-responses", ["max_output_tokens", "content_filter"], undefined],
] as const)(
  "%s: a call at the end of an answer that had to stop may be half of one",
  (name, cut, whole) => {
    const isCutShort = (stopReason: string | undefined): boolean =>
      wires[name].answer.isCutShort({
        outcome: "message",
        choices: [],
        ...(stopReason === undefined ? {} : { stopReason }),
      });
    expect(cut.map(isCutShort)).toEqual(cut.map(() => true));
    expect(isCutShort(whole)).toBe(false);
  },
);

test("a header gives a model of Anthropic's a larger window, and no other wire knows that header", () => {
  const headers = { "anthropic-beta": "interleaved-thinking-2025-05-14,context-1m-2025-08-07" };
  const named = Object.values(wires).map((wire) => wire.body.modelByHeaders("some-model", headers));
  expect(named).toEqual(["some-model[1m]", undefined, undefined, undefined]);
  expect(wires.anthropic.body.modelByHeaders("some-model", {})).toBeUndefined();
});

/** A call as a client wrote it, with its own spacing, and a message with these parts before it. */
const callsAfterText: Readonly<
  Record<
    Exclude<WireName, "openai-responses">,
    { readonly call: string; readonly message: (parts: readonly string[]) => string }
  >
> = {
  anthropic: {
    call: '{"type" : "tool_use", "id":"t1", "name":"read", "input": {"n": 1e400, "a":1, "a":2}}',
    message: (parts) => `{"role": "assistant",\n "content": [ ${parts.join(" ,\n")} ]}`,
  },
  "openai-chat": {
    call: '{"id":"t1", "type" : "function", "function": {"name":"read","arguments":"{ \\"n\\": 1e400 }"}}',
    message: (parts) =>
      `{"role": "assistant", "content": [ ${parts.slice(0, -1).join(" , ")} ], "tool_calls": [ ${parts.at(-1)} ]}`,
  },
  gemini: {
    call: '{"functionCall" : {"name":"read", "args": {"n": 1e400, "a":1, "a":2}}}',
    message: (parts) => `{"role": "model", "parts": [ ${parts.join(" ,\n")} ]}`,
  },
};

function textOn(wire: string, text: string, more: JsonObject = {}): string {
  return JSON.stringify({ ...(wire === "gemini" ? {} : { type: "text" }), text, ...more });
}

describe.each(Object.entries(callsAfterText))("%s: a text before a call", (name, written) => {
  const wire = wires[name as WireName];
  const { call } = written;
  const one = textOn(name, "I look. 船 \ud800");
  const two = textOn(name, "And I read.");
  const leaveOut = (parts: readonly string[], places: readonly number[]): string => {
    const bytes = new TextEncoder().encode(written.message(parts));
    const splices = places.flatMap((place) => wire.edit.leaveOut(bytes, place) ?? []);
    return new TextDecoder().decode(applySplices(bytes, splices));
  };
  const kindsIn = (message: string): readonly string[] =>
    wire.messages.decode(JSON.parse(message) as JsonObject).parts.map(({ kind }) => kind);

  test("is left out, and the call stays byte for byte", () => {
    const now = leaveOut([one, two, call], [0]);
    expect(kindsIn(now)).toEqual(["text", "tool-call"]);
    expect(now).toContain(call);
    expect(now).not.toContain("I look.");
    expect(now).toContain(two);
  });

  test("is left out together with another one", () => {
    const three = textOn(name, "Then I go on.");
    const now = leaveOut([one, two, three, call], [0, 1]);
    expect(kindsIn(now)).toEqual(["text", "tool-call"]);
    expect(now).toBe(leaveOut([three, call], []));
  });

  test("stays if the client has put a cache mark or a signature on it", () => {
    const mark: JsonObject =
      name === "gemini" ? { thoughtSignature: "c2ln" } : { cache_control: { type: "ephemeral" } };
    const message = [textOn(name, "I look.", mark), two, call];
    expect(leaveOut(message, [0])).toBe(written.message(message));
  });

  test("is all that goes: calls, the end of a list, and parts that are not there stay", () => {
    const message = [one, two, call];
    for (const place of [2, 3, -1, 99])
      expect(leaveOut(message, [place])).toBe(written.message(message));
    const bytes = bytesOf({ role: "user", content: "words", parts: { text: "words" } });
    expect(wire.edit.leaveOut(bytes, 0)).toBeUndefined();
  });
});

test("openai-chat: a text next to calls becomes null, after reasoning too, and stays without calls", () => {
  const { leaveOut } = wires["openai-chat"].edit;
  const calls = [{ id: "t1", type: "function", function: { name: "read", arguments: "{}" } }];
  const left = (message: JsonObject, place: number): unknown => {
    const splice = leaveOut(bytesOf(message), place);
    const now = splice && applySplices(bytesOf(message), [splice]);
    return now && JSON.parse(new TextDecoder().decode(now));
  };
  const message = { role: "assistant", content: "I look.", tool_calls: calls };
  expect(left(message, 0)).toEqual({ ...message, content: null });
  const thinking = { ...message, reasoning_content: "hm" };
  expect(left(thinking, 0)).toBeUndefined();
  expect(left(thinking, 1)).toEqual({ ...thinking, content: null });
  expect(left({ role: "assistant", content: "I look." }, 0)).toBeUndefined();
  expect(left({ ...message, tool_calls: [] }, 0)).toBeUndefined();
  expect(left({ ...message, content: null }, 0)).toBeUndefined();
});

test("gemini: a thought stays, because only the words of the model may go", () => {
  const message = {
    role: "model",
    parts: [
      { text: "hm", thought: true },
      { text: "so" },
      { functionCall: { name: "read", args: {} } },
    ],
  };
  expect(wires.gemini.edit.leaveOut(bytesOf(message), 0)).toBeUndefined();
  expect(wires.gemini.edit.leaveOut(bytesOf(message), 1)).toBeDefined();
});

test("openai-responses: nothing is left out, because a call is an item of its own", () => {
  const { edit, messages } = wires["openai-responses"];
  for (const item of messages.encode(conversation))
    for (const place of [0, 1]) expect(edit.leaveOut(bytesOf(item), place)).toBeUndefined();
});

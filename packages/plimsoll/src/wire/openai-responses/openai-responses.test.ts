/** Features that only the Responses wire has: items, server-side history, typed events. */

import fc from "fast-check";
import type OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";
import type { Message } from "../../message/message.ts";
import { splitUnits } from "../../message/unit.ts";
import { createJsonReader } from "../format/answer-reader.ts";
import { readSlices } from "../format/slices.ts";
import type { Answer, Progress, WireRequest } from "../format/wire.ts";
import { newViolations } from "../validate/validate.ts";
import { wires } from "../wires.ts";

const wire = wires["openai-responses"];
type Item = OpenAI.Responses.ResponseInputItem;
const json = (item: Item): JsonObject => item as unknown as JsonObject;
const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

function readBody(body: OpenAI.Responses.ResponseCreateParams): WireRequest & { sent: unknown[] } {
  const bytes = bytesOf(body);
  const request = wire.body.read(bytes, readSlices(bytes));
  const sent = request.messages.map(({ start, end }) =>
    JSON.parse(new TextDecoder().decode(bytes.subarray(start, end))),
  );
  return { ...request, sent };
}

test("a request gives its model, limit, head and items", () => {
  const request = readBody({
    model: "gpt-5.6",
    instructions: "Be brief.",
    max_output_tokens: 900,
    tools: [{ type: "web_search" }],
    input: [{ role: "user", content: "a" }, { id: "msg_1" }],
  });
  expect(request).toMatchObject({ model: "gpt-5.6", maxOutputTokens: 900 });
  expect(request.sent).toEqual([{ role: "user", content: "a" }, { id: "msg_1" }]);
  expect(request.system).toBeDefined();
  expect(request.tools).toBeDefined();
  expect(wire.body.decodeSystem("Be brief.")).toEqual([{ kind: "text", text: "Be brief." }]);
});

test("an input that is a text is one message of the user; no input is none", () => {
  const request = readBody({ model: "m", input: 'say "é"' });
  expect(request.sent).toEqual(['say "é"']);
  expect(wire.messages.asMessage('say "é"')).toEqual({
    type: "message",
    role: "user",
    content: 'say "é"',
  });
  expect(readBody({ model: "m", prompt: { id: "p" } }).messages).toEqual([]);
});

test.each<[OpenAI.Responses.ResponseCreateParams, string | undefined]>([
  [{ previous_response_id: "resp_1" }, "resp_1"],
  [{ previous_response_id: null, conversation: "conv_1" }, "conversation:conv_1"],
  [{ conversation: { id: "conv_1" } }, "conversation:conv_1"],
  [{ previous_response_id: null, conversation: null }, undefined],
])("%j continues %s", (body, continues) => {
  expect(readBody({ input: "a", ...body }).continues).toBe(continues);
});

test("a cache key names the session only where it is Codex's thread", () => {
  const thread = "3b1e6a52-0000-4000-8000-000000000001";
  expect(readBody({ input: "a", prompt_cache_key: thread }).clientSession).toBe(`codex:${thread}`);
  expect(readBody({ input: "a", prompt_cache_key: "my-app" }).clientSession).toBeUndefined();
});

const said = (text: string, extra: JsonObject = {}): JsonObject => ({
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text, ...extra }],
});

test.each<[string, JsonObject, JsonObject]>([
  [
    "names and states",
    { ...said("a", { annotations: [] }), id: "msg_1", status: "completed", phase: null },
    { role: "assistant", content: "a" },
  ],
  [
    "what describes the text",
    said("a", { annotations: [{ type: "url_citation" }], logprobs: [{}], parsed: { a: 1 } }),
    said("a"),
  ],
  [
    "one part or a text",
    { role: "developer", content: [{ type: "input_text", text: "a" }] },
    { type: "message", role: "developer", content: "a" },
  ],
  [
    "a breakpoint",
    {
      role: "user",
      content: [{ type: "input_text", text: "a", prompt_cache_breakpoint: { mode: "explicit" } }],
    },
    { role: "user", content: "a" },
  ],
  [
    "a result as one part or a text",
    {
      type: "function_call_output",
      call_id: "c",
      output: [{ type: "input_text", text: "a" }],
      id: "fco_1",
    },
    { type: "function_call_output", call_id: "c", output: "a" },
  ],
  [
    "a call with its extras",
    {
      type: "function_call",
      id: "fc_1",
      status: "completed",
      call_id: "c",
      name: "f",
      arguments: "{}",
      parsed_arguments: {},
    },
    { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
  ],
  [
    "readable reasoning dropped",
    { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text" }], encrypted_content: "e" },
    { type: "reasoning", summary: [], content: null, encrypted_content: "e" },
  ],
  [
    "reasoning that the provider kept",
    { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "a" }] },
    { type: "reasoning", id: "rs_1", summary: [], status: "completed" },
  ],
  ["a reference", { id: "msg_1" }, { type: "item_reference", id: "msg_1" }],
])("the same message: %s", (_, one, other) => {
  expect(wire.messages.identity(one)).toBe(wire.messages.identity(other));
});

test.each<[string, JsonObject, JsonObject]>([
  ["text", said("a"), said("b")],
  ["role", { role: "user", content: "a" }, { role: "assistant", content: "a" }],
  ["phase", { ...said("a"), phase: "commentary" }, { ...said("a"), phase: "final_answer" }],
  [
    "namespace",
    { type: "function_call", call_id: "c", name: "f", arguments: "{}", namespace: "n" },
    { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
  ],
  [
    "arguments",
    { type: "function_call", call_id: "c", name: "f", arguments: '{"a":1}' },
    { type: "function_call", call_id: "c", name: "f", arguments: '{"a": 1}' },
  ],
  [
    "reasoning",
    { type: "reasoning", id: "rs_1", encrypted_content: "e" },
    { type: "reasoning", id: "rs_1", encrypted_content: "f" },
  ],
  [
    "reasoning without anything but words",
    { type: "reasoning", summary: [{ type: "summary_text", text: "a" }] },
    { type: "reasoning", summary: [{ type: "summary_text", text: "b" }] },
  ],
  ["reference", { type: "item_reference", id: "a" }, { type: "item_reference", id: "b" }],
  [
    "whether a patch could be applied",
    { type: "apply_patch_call_output", call_id: "c", status: "completed" },
    { type: "apply_patch_call_output", call_id: "c", status: "failed" },
  ],
  ["unknown field", { type: "future", x: 1 }, { type: "future", x: 2 }],
])("another message: %s", (_, one, other) => {
  expect(wire.messages.identity(one)).not.toBe(wire.messages.identity(other));
});

test.each<[Item, Message]>([
  [
    { role: "developer", content: "a" },
    { role: "system", parts: [{ kind: "text", text: "a" }] },
  ],
  [
    {
      role: "user",
      content: [
        { type: "input_image", detail: "low", image_url: "data:image/png;base64,AAAA" },
        { type: "input_image", detail: "original", file_id: "f" },
        { type: "input_file", file_url: "https://example.com/a.pdf" },
        { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,BBBB" },
      ],
    },
    {
      role: "user",
      parts: [
        {
          kind: "image",
          media: { kind: "base64", mediaType: "image/png", data: "AAAA" },
          detail: "low",
        },
        { kind: "image", media: { kind: "file", id: "f" } },
        { kind: "document", media: { kind: "url", url: "https://example.com/a.pdf" } },
        {
          kind: "document",
          media: { kind: "base64", mediaType: "application/pdf", data: "BBBB" },
        },
      ],
    },
  ],
  [
    {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "a" }],
      content: [{ type: "reasoning_text", text: "b" }],
      encrypted_content: "e",
    },
    { role: "assistant", parts: [{ kind: "reasoning", text: "a\nb", signature: "e" }] },
  ],
  [
    { type: "function_call", call_id: "c", name: "f", arguments: '{ "a":1}' },
    { role: "assistant", parts: [{ kind: "tool-call", id: "c", name: "f", input: '{ "a":1}' }] },
  ],
  [
    { type: "custom_tool_call", call_id: "c", name: "apply_patch", input: "*** Begin" },
    {
      role: "assistant",
      parts: [{ kind: "tool-call", id: "c", name: "apply_patch", input: "*** Begin" }],
    },
  ],
  [
    { type: "shell_call", call_id: "c", action: { commands: ["ls"] } },
    {
      role: "assistant",
      parts: [{ kind: "tool-call", id: "c", name: "shell", input: '{"commands":["ls"]}' }],
    },
  ],
  [
    {
      type: "computer_call_output",
      call_id: "c",
      output: { type: "computer_screenshot", image_url: "https://example.com/a.png" },
    },
    {
      role: "tool",
      parts: [
        {
          kind: "tool-result",
          callId: "c",
          content: [{ kind: "image", media: { kind: "url", url: "https://example.com/a.png" } }],
          isError: false,
        },
      ],
    },
  ],
  [
    {
      type: "shell_call_output",
      call_id: "c",
      output: [{ stdout: "a", stderr: "b", outcome: { type: "exit", exit_code: 0 } }],
    },
    {
      role: "tool",
      parts: [
        {
          kind: "tool-result",
          callId: "c",
          content: [{ kind: "text", text: "a\nb" }],
          isError: false,
        },
      ],
    },
  ],
  [
    { type: "apply_patch_call_output", call_id: "c", status: "failed", output: "no" },
    {
      role: "tool",
      parts: [
        {
          kind: "tool-result",
          callId: "c",
          content: [{ kind: "text", text: "no" }],
          isError: true,
        },
      ],
    },
  ],
  [
    { type: "local_shell_call_output", id: "c", output: "done" },
    {
      role: "tool",
      parts: [
        {
          kind: "tool-result",
          callId: "c",
          content: [{ kind: "text", text: "done" }],
          isError: false,
        },
      ],
    },
  ],
])("%j is decoded", (item, message) => {
  expect(wire.messages.decode(json(item))).toEqual(message);
});

const unpaired: readonly Item[] = [
  { type: "compaction", encrypted_content: "e" },
  { type: "item_reference", id: "msg_1" },
  {
    type: "web_search_call",
    id: "ws_1",
    status: "completed",
    action: { type: "search", query: "a" },
  },
  { type: "mcp_call", id: "m", name: "f", arguments: "{}", server_label: "s", output: "x" },
  { type: "tool_search_call", call_id: "c", execution: "server", arguments: {} },
  { type: "tool_search_output", call_id: "c", execution: "server", tools: [] },
];

test.each(unpaired)("what has no partner is kept as it came, on the model's side: %j", (item) => {
  const message = wire.messages.decode(json(item));
  expect(message).toMatchObject({ role: "assistant", parts: [{ kind: "opaque", json: item }] });
  expect(wire.messages.encode([message])).toEqual([item]);
  expect(wire.messages.toolCalls(json(item))).toEqual([]);
});

test("what one agent says to another counts as the user's words, and stays whole", () => {
  const content = [{ type: "input_text", text: "Read the log." }];
  const item = { type: "agent_message", author: "/root", recipient: "/root/job", content };
  expect(wire.messages.decode(item)).toEqual({
    role: "user",
    parts: [{ kind: "text", text: "Read the log." }],
    stays: "whole",
  });
});

test("tools that a developer adds stand on the developer's side", () => {
  const item: Item = { type: "additional_tools", role: "developer", tools: [] };
  expect(wire.messages.decode(json(item)).role).toBe("system");
});

test.each<[string, readonly Item[]]>([
  [
    "a search of the client's tools",
    [
      { type: "tool_search_call", call_id: "c", execution: "client", arguments: { q: "a" } },
      { type: "tool_search_output", call_id: "c", execution: "client", tools: [] },
    ],
  ],
  [
    "an approval",
    [
      { type: "mcp_approval_request", id: "c", name: "f", arguments: "{}", server_label: "s" },
      { type: "mcp_approval_response", approval_request_id: "c", approve: true },
    ],
  ],
  [
    "a program and the calls that it makes",
    [
      { type: "program", id: "p", call_id: "c", code: "f()", fingerprint: "x" },
      {
        type: "function_call",
        call_id: "d",
        name: "f",
        arguments: "{}",
        caller: { type: "program", caller_id: "c" },
      },
      { type: "function_call_output", call_id: "d", output: "1" },
      { type: "program_output", id: "o", call_id: "c", result: "1", status: "completed" },
    ],
  ],
  [
    "reasoning, a search, words and a call",
    [
      { type: "reasoning", id: "rs_1", summary: [] },
      { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search" } },
      { role: "assistant", content: "I look.", phase: "commentary" },
      { type: "function_call", call_id: "d", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "d", output: "1" },
    ],
  ],
] as readonly [string, readonly Item[]][])("one unit: %s", (_, items) => {
  const around: Item = { role: "user", content: "a" };
  const units = splitUnits(
    [around, ...items, around].map((item) => wire.messages.decode(json(item))),
  );
  expect(units.map(({ first, last }) => [first, last])).toEqual([
    [0, 0],
    [1, items.length],
    [items.length + 1, items.length + 1],
  ]);
});

/** One answer of the model: reasoning, text, searches and calls in any order, then the results of the calls. */
const step = fc.record({
  lead: fc.constantFrom<readonly string[]>(["reasoning"], ["reasoning", "reasoning"], []),
  items: fc.array(
    fc.constantFrom("message", "web_search_call", "function_call", "custom_tool_call"),
    { minLength: 1, maxLength: 4 },
  ),
  isReversed: fc.boolean(),
});

function itemsOfStep(
  {
    lead,
    items,
    isReversed,
  }: { lead: readonly string[]; items: readonly string[]; isReversed: boolean },
  turn: number,
): readonly JsonObject[] {
  const written = [...lead, ...items].map((type, index): JsonObject => {
    const id = `${type}_${turn}_${index}`;
    if (type === "message") return { type, id, role: "assistant", content: id };
    return { type, id, ...(type.includes("tool") || type.includes("func") ? { call_id: id } : {}) };
  });
  const results = written.flatMap(({ type, call_id }) =>
    call_id === undefined ? [] : [{ type: `${type}_output`, call_id, output: "r" }],
  );
  const user = { type: "message", role: "user", content: `u${turn}` };
  return [user, ...written, ...(isReversed ? results.reverse() : results)];
}

test("whatever unit is taken out, what is left breaks no rule about calls and reasoning", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 5 }), (steps) => {
      const input = steps.flatMap(itemsOfStep);
      const original = { model: "m", input };
      const units = splitUnits(input.map((item) => wire.messages.decode(item)));
      for (const { first, last } of units) {
        const ours = wire.edit.ownMessage({ text: "left out" });
        const body = { model: "m", input: input.toSpliced(first, last - first + 1, ours) };
        const found = newViolations({ wire: "openai-responses", body, original });
        expect(found.filter(({ rule }) => /^R[1-6]$/.test(rule))).toEqual([]);
      }
    }),
    tries({ runs: 300, seed: 20261116 }),
  );
});

test("calls that the client must run, and only those, are its tool calls", () => {
  const calls: readonly Item[] = [
    { type: "function_call", call_id: "1", name: "f", arguments: "{}" },
    { type: "custom_tool_call", call_id: "2", name: "g", input: "x" },
    { type: "program", id: "p", call_id: "3", code: "f()", fingerprint: "x" },
    { type: "mcp_approval_request", id: "4", name: "f", arguments: "{}", server_label: "s" },
    { role: "assistant", content: "a" },
  ];
  expect(calls.flatMap((item) => wire.messages.toolCalls(json(item)).map(({ id }) => id))).toEqual([
    "1",
    "2",
  ]);
});

test("an item has the name that it was given; a reference has none, and gives another's", () => {
  expect(wire.messages.ownIds({ ...said("a"), id: "msg_1" })).toEqual(["msg_1"]);
  expect(wire.messages.ownIds({ id: "resp_1", object: "response", output: [] })).toEqual([
    "resp_1",
  ]);
  expect(wire.messages.ownIds(said("a"))).toEqual([]);
  for (const reference of [{ type: "item_reference", id: "msg_1" }, { id: "msg_1" }]) {
    expect(wire.messages.referenceTo(reference)).toBe("msg_1");
    expect(wire.messages.ownIds(reference)).toEqual([]);
  }
  expect(wire.messages.referenceTo({ ...said("a"), id: "msg_1" })).toBeUndefined();
  expect(wire.messages.ownIds({ type: "local_shell_call_output", id: "c", output: "" })).toEqual(
    [],
  );
});

test("items that have a neutral form survive decoding and encoding with their identity", () => {
  const items: readonly Item[] = [
    { type: "message", role: "user", content: [{ type: "input_text", text: "a" }] },
    {
      type: "message",
      role: "user",
      content: [
        { type: "input_text", text: "a" },
        { type: "input_image", detail: "high", image_url: "data:image/png;base64,AAAA" },
        { type: "input_file", file_id: "f" },
      ],
    },
    { type: "message", role: "system", content: "b" },
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "e" },
    { type: "message", role: "assistant", content: "c" },
    { type: "function_call", id: "fc_1", call_id: "c", name: "f", arguments: '{ "a": 1 }' },
    { type: "function_call_output", call_id: "c", output: "d" },
    {
      type: "function_call_output",
      call_id: "c",
      output: [
        { type: "input_text", text: "e" },
        { type: "input_image", detail: "auto", file_id: "f" },
      ],
    },
    ...unpaired,
    { type: "future_item", data: [1, null] } as unknown as Item,
  ];
  const encoded = wire.messages.encode(items.map((item) => wire.messages.decode(json(item))));
  expect(encoded.map((item) => wire.messages.identity(item))).toEqual(
    items.map((item) => wire.messages.identity(json(item))),
  );
});

test("one neutral message becomes as many items as it needs; foreign reasoning is left out", () => {
  const encoded = wire.messages.encode([
    {
      role: "assistant",
      parts: [
        { kind: "reasoning", text: "unsigned" },
        { kind: "text", text: "a" },
        { kind: "tool-call", id: "c", name: "f", input: "{}" },
        { kind: "text", text: "b" },
      ],
    },
  ]);
  expect(encoded).toEqual([
    said("a"),
    { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
    said("b"),
  ]);
});

test("a body is composed in the provider's words", () => {
  const body: OpenAI.Responses.ResponseCreateParamsStreaming = {
    model: "m",
    max_output_tokens: 9,
    instructions: "s",
    tools: [{ type: "function", name: "f", description: "d", parameters: { a: 1 }, strict: false }],
    input: [{ role: "user", content: "a" }],
    stream: true,
  };
  const composed = wire.body.compose({
    model: "m",
    system: "s",
    messages: [{ role: "user", content: "a" }],
    tools: [{ name: "f", description: "d", parameters: { a: 1 } }],
    maxOutputTokens: 9,
    extra: { stream: true },
  });
  expect(composed).toEqual(body);
});

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

function take(events: readonly Event[]): { answer: Answer; progress: readonly Progress[] } {
  const accumulator = wire.answer.open();
  const progress = events.map((event) =>
    accumulator.take({ name: event.type, data: JSON.stringify(event) }),
  );
  return { answer: accumulator.finish(), progress };
}

const response = { id: "resp_1", object: "response", status: "in_progress", output: [] };
const created: Event = { type: "response.created", response };
const added = (index: number, item: JsonObject): Event => ({
  type: "response.output_item.added",
  output_index: index,
  item,
});
const message = { id: "msg_1", type: "message", role: "assistant", status: "in_progress" };

describe("answers", () => {
  test("nothing is said before the first item, and all of it with the last event", () => {
    const text = { type: "response.output_text.delta", output_index: 0, content_index: 0 };
    const { answer, progress } = take([
      created,
      { type: "response.in_progress", response },
      { type: "response.future" },
      added(0, { ...message, content: [] }),
      { ...text, delta: "Hel" },
      { ...text, delta: "lo" },
      { type: "response.completed", response: { ...response, status: "completed" } },
    ]);
    const opening = ["opening", "opening", "opening"];
    expect(progress).toEqual([...opening, "content", "content", "content", "terminal"]);
    // The last event had no output, so the streamed items are the answer.
    const content = [{ type: "output_text", text: "Hello" }];
    expect(answer).toMatchObject({ outcome: "message", choices: [[{ ...message, content }]] });
    expect(answer.response).toMatchObject({ id: "resp_1", status: "completed" });
  });

  test("whatever grows, grows by its own events, in the item that they name", () => {
    const at = (index: number, type: string, more: JsonObject): Event => ({
      type: `response.${type}`,
      output_index: index,
      ...more,
    });
    const { answer } = take([
      created,
      added(0, { type: "reasoning", id: "rs_1", summary: [] }),
      at(0, "reasoning_summary_part.added", { summary_index: 0, part: { type: "summary_text" } }),
      at(0, "reasoning_summary_text.delta", { summary_index: 0, delta: "a" }),
      at(0, "reasoning_text.delta", { content_index: 0, delta: "b" }),
      added(2, { type: "function_call", call_id: "c", name: "f", arguments: "" }),
      added(1, { ...message, content: [{ type: "output_text", text: "" }] }),
      at(1, "output_text.annotation.added", { content_index: 0, annotation: { url: "u" } }),
      at(1, "refusal.delta", { content_index: 1, delta: "no" }),
      at(1, "output_text.delta", { content_index: 9, delta: "out of bounds" }),
      at(2, "function_call_arguments.delta", { delta: '{"a":' }),
      at(2, "function_call_arguments.done", { arguments: '{"a":1}' }),
      added(3, { type: "shell_call", call_id: "s" }),
      at(3, "shell_call_command.added", { command_index: 0, command: "" }),
      at(3, "shell_call_command.delta", { command_index: 0, delta: "ls" }),
      added(4, { type: "shell_call_output", call_id: "s" }),
      at(4, "shell_call_output_content.delta", { command_index: 0, delta: { stdout: "x" } }),
      added(5, { type: "web_search_call", status: "in_progress" }),
      at(5, "web_search_call.searching", {}),
      at(7, "output_text.delta", { content_index: 0, delta: "to nobody" }),
    ]);
    const summary = [{ type: "summary_text", text: "a" }];
    expect(answer.outcome).toBe("cut");
    expect(answer.choices).toEqual([
      [
        {
          type: "reasoning",
          id: "rs_1",
          summary,
          content: [{ type: "reasoning_text", text: "b" }],
        },
        {
          ...message,
          content: [
            { type: "output_text", text: "", annotations: [{ url: "u" }] },
            { type: "refusal", refusal: "no" },
          ],
        },
        { type: "function_call", call_id: "c", name: "f", arguments: '{"a":1}' },
        { type: "shell_call", call_id: "s", action: { commands: ["ls"] } },
        {
          type: "shell_call_output",
          call_id: "s",
          output: [{ stdout: "x", stderr: "", outcome: { type: "exit", exit_code: 0 } }],
        },
        { type: "web_search_call", status: "searching" },
      ],
    ]);
  });

  const error = { code: "server_error", message: "No." };
  test.each<[string, Event]>([
    ["an event", { type: "error", ...error }],
    ["an event around the error", { type: "error", error: { type: "x", ...error } }],
    ["an error without a type", { type: "", error }],
    ["a response", { type: "response.failed", response: { ...response, status: "failed", error } }],
  ])("%s says that it failed; what was said stays", (_, event) => {
    const { answer, progress } = take([created, added(0, { ...message, content: [] }), event]);
    expect(progress.at(-1)).toBe("terminal");
    expect(answer).toMatchObject({
      outcome: "error",
      error: { type: "server_error", message: "No." },
      choices: [[message]],
      response: { id: "resp_1" },
    });
  });

  function readJson(body: JsonValue): Answer {
    const reader = createJsonReader(wire);
    reader.push(bytesOf(body));
    return reader.finish();
  }

  test("one JSON body is read like its stream, without what the client library added to it", () => {
    const answer = readJson({
      ...response,
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [
        said("a", { parsed: null }),
        { type: "function_call", call_id: "c", name: "f", arguments: "{}", parsed_arguments: {} },
      ],
      usage: {
        input_tokens: 10,
        output_tokens: 5,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 },
        output_tokens_details: { reasoning_tokens: 2 },
      },
    });
    expect(answer).toMatchObject({ outcome: "message", stopReason: "max_output_tokens" });
    expect(answer.choices).toEqual([
      [said("a"), { type: "function_call", call_id: "c", name: "f", arguments: "{}" }],
    ]);
    expect(answer.usage).toEqual({
      inputTokens: 10,
      outputTokens: 5,
      cacheReadTokens: 4,
      cacheWriteTokens: 3,
      reasoningTokens: 2,
    });
  });

  test.each<[string, JsonValue, Answer["outcome"]]>([
    ["an error body", { error: { message: "No.", type: "x", code: null } }, "error"],
    ["a failed response", { ...response, status: "failed" }, "error"],
    ["one that runs in the background", { ...response, status: "queued" }, "cut"],
    ["something else", { object: "list", data: [] }, "unread"],
    ["no object", [1], "unread"],
  ])("%s", (_, body, outcome) => {
    const answer = readJson(body);
    expect(answer.outcome).toBe(outcome);
    expect(answer.choices).toEqual([]);
    expect(isObject(answer.error)).toBe(outcome === "error");
  });
});

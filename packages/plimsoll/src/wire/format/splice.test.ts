import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../message/json.ts";
import { wires } from "../wires.ts";
import { readSlices } from "./slices.ts";
import { applySplices, elementsRange } from "./splice.ts";
import type { PartPlace, Wire, WireName } from "./wire.ts";

const bytesOf = (value: unknown, indent?: number): Uint8Array =>
  new TextEncoder().encode(JSON.stringify(value, null, indent));
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

test("elements are taken out whole, and the bytes before them stay as they were", () => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 1, maxLength: 6 }),
      fc.nat(5),
      fc.nat(5),
      fc.constantFrom(undefined, 2),
      (messages, from, count, indent) => {
        const first = from % messages.length;
        const last = Math.min(messages.length - 1, first + count);
        const bytes = bytesOf({ model: "m", messages, stream: true }, indent);
        const elements = readSlices(bytes).elements.get("messages") ?? [];
        const range = elementsRange(elements, first, last);
        const cut = applySplices(bytes, range === undefined ? [] : [{ ...range, text: "" }]);
        const expected = JSON.parse(textOf(bytes)) as { messages: unknown[] };
        expected.messages.splice(first, last - first + 1);
        expect(JSON.parse(textOf(cut))).toEqual(expected);
        const kept = elements[first - 1]?.end ?? elements[0]?.start ?? 0;
        expect(cut.subarray(0, kept)).toEqual(bytes.subarray(0, kept));
      },
    ),
  );
});

test("splices that overlap are refused", () => {
  const bytes = bytesOf("abcdef");
  expect(() =>
    applySplices(bytes, [
      { start: 1, end: 4, text: "" },
      { start: 3, end: 5, text: "" },
    ]),
  ).toThrowError(/overlap/);
  expect(
    textOf(
      applySplices(bytes, [
        { start: 4, end: 6, text: "Z" },
        { start: 1, end: 3, text: "XY!" },
      ]),
    ),
  ).toBe('"XY!cZf"');
});

type Places = readonly PartPlace[];
const every: Places = [{ part: 0 }, { part: 1 }, { part: 2 }];
const image = "data:image/png;base64,iVBORw0KGgo=";

/** Messages with every kind of part that can be replaced, and the places of these parts. */
const replaceable: Readonly<Record<WireName, readonly (readonly [JsonObject, Places])[]>> = {
  gemini: [
    [
      {
        role: "user",
        parts: [
          { text: "one" },
          { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } },
          { fileData: { mimeType: "application/pdf", fileUri: "https://example.com/a.pdf" } },
        ],
      },
      every,
    ],
    [
      {
        role: "user",
        parts: [
          { functionResponse: { name: "read", response: { output: "result \u0000 é" } } },
          {
            function_response: { id: "a", name: "read", response: { name: "read", content: "so" } },
          },
          { functionResponse: { name: "list", response: { files: ["a", "b"], total: 2 } } },
        ],
      },
      [...every, { part: 0, inner: 0 }],
    ],
    [{ parts: { text: "without brackets" } }, [{ part: 0 }]],
    [
      {
        role: "model",
        parts: [
          { text: "hm", thought: true },
          { text: "so", thoughtSignature: "QQ==" },
        ],
      },
      [{ part: 1 }],
    ],
  ],
  anthropic: [
    [{ role: "user", content: "plain words" }, [{ part: 0 }]],
    [
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "t", content: "result \u0000 é" },
          { type: "text", text: "one", cache_control: { type: "ephemeral" } },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw" } },
        ],
      },
      every,
    ],
    [
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "t",
            content: [
              { type: "text", text: "in a block" },
              { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
            ],
            is_error: true,
          },
          { type: "document", source: { type: "file", file_id: "f" }, title: "T" },
        ],
      },
      [{ part: 0 }, { part: 1 }, { part: 0, inner: 0 }, { part: 0, inner: 1 }],
    ],
  ],
  "openai-chat": [
    [{ role: "tool", tool_call_id: "c", content: "the result" }, [{ part: 0 }]],
    [{ role: "user", content: "plain words" }, [{ part: 0 }]],
    [
      {
        role: "user",
        content: [
          { type: "text", text: "one" },
          { type: "image_url", image_url: { url: image } },
          { type: "file", file: { file_id: "f" } },
        ],
      },
      every,
    ],
    [
      {
        role: "tool",
        tool_call_id: "c",
        content: [
          { type: "text", text: "one" },
          { type: "text", text: "two" },
        ],
      },
      [{ part: 0 }, { part: 0, inner: 0 }, { part: 0, inner: 1 }],
    ],
    [{ role: "assistant", reasoning_content: "hm", content: "so" }, [{ part: 1 }]],
  ],
  "openai-responses": [
    [{ role: "user", content: "plain words" }, [{ part: 0 }]],
    [
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "one", prompt_cache_breakpoint: { mode: "explicit" } },
          { type: "input_image", detail: "low", image_url: image },
          { type: "input_file", file_id: "f" },
        ],
      },
      every,
    ],
    [
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "said", annotations: [] }],
      },
      [{ part: 0 }],
    ],
    ...["function_call_output", "custom_tool_call_output", "local_shell_call_output"].map(
      (type) => [{ type, call_id: "c", output: "result \u0000 é" }, [{ part: 0 }]] as const,
    ),
    [
      { type: "apply_patch_call_output", call_id: "c", status: "failed", output: "no such file" },
      [{ part: 0 }, { part: 0, inner: 0 }],
    ],
    [
      {
        type: "function_call_output",
        call_id: "c",
        output: [
          { type: "input_text", text: "shot" },
          { type: "input_image", detail: "auto", image_url: "https://example.com/a.png" },
        ],
      },
      [{ part: 0 }, { part: 0, inner: 0 }, { part: 0, inner: 1 }],
    ],
    [
      {
        type: "shell_call_output",
        call_id: "c",
        output: [
          { stdout: "a", stderr: "b", outcome: { type: "exit", exit_code: 1 } },
          { stdout: "c", stderr: "", outcome: { type: "timeout" } },
        ],
      },
      [{ part: 0 }, { part: 0, inner: 0 }, { part: 0, inner: 1 }],
    ],
  ],
};

/** The parts of a message, or of its result if the place is inside one. */
function partsOf(wire: Wire, message: JsonObject, { part, inner }: PartPlace): readonly string[] {
  const { parts } = wire.messages.decode(message);
  const result = inner === undefined ? undefined : parts[part];
  const shown = result?.kind === "tool-result" ? result.content : parts;
  return shown.map((shownPart) => JSON.stringify(shownPart));
}

function replaced(wire: Wire, message: JsonObject, place: PartPlace): JsonObject {
  const bytes = bytesOf(message, 1);
  const splice = wire.edit.replacePart(bytes, place, 'short "é"');
  if (splice === undefined) throw new TypeError("nothing to splice");
  return JSON.parse(textOf(applySplices(bytes, [splice]))) as JsonObject;
}

describe.each(Object.values(wires))("$name", (wire) => {
  const cases = replaceable[wire.name].flatMap(([message, places]) =>
    places.map((place) => ({ message, place, name: JSON.stringify([message, place]) })),
  );
  test.each(cases)("a part is replaced, and nothing else changes: $name", ({ message, place }) => {
    const edited = replaced(wire, message, place);
    const [before, after] = [partsOf(wire, message, place), partsOf(wire, edited, place)];
    const changed = place.inner ?? place.part;
    expect(after[changed]).toContain(JSON.stringify('short "é"').slice(1, -1));
    expect(after.toSpliced(changed, 1)).toEqual(before.toSpliced(changed, 1));
    const outside = ({ content: _content, output: _output, parts: _parts, ...rest }: JsonObject) =>
      rest;
    expect(outside(edited)).toEqual(outside(message));
  });

  test("the bytes of the message change only where the splice says", () => {
    for (const { message, place } of cases) {
      const bytes = bytesOf(message, 1);
      const splice = wire.edit.replacePart(bytes, place, "x");
      const same =
        splice &&
        applySplices(bytes, [{ ...splice, text: bytes.subarray(splice.start, splice.end) }]);
      expect(same).toEqual(bytes);
      expect(() => JSON.parse(String(splice?.text))).not.toThrow();
    }
  });

  test("what is not there has no place for another text", () => {
    for (const [message] of replaceable[wire.name])
      expect(wire.edit.replacePart(bytesOf(message), { part: 7 }, "x")).toBeUndefined();
  });
});

const ephemeral = { type: "ephemeral", ttl: "1h" };
const explicit = { mode: "explicit" };

test.each<[WireName, JsonObject, PartPlace]>([
  [
    "anthropic",
    {
      role: "user",
      content: [
        { type: "image", source: { type: "file", file_id: "f" }, cache_control: ephemeral },
      ],
    },
    { part: 0 },
  ],
  [
    "anthropic",
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "t",
          content: [{ type: "text", text: "a", cache_control: ephemeral }],
        },
      ],
    },
    { part: 0 },
  ],
  [
    "openai-chat",
    {
      role: "user",
      content: [{ type: "image_url", image_url: { url: image }, cache_control: ephemeral }],
    },
    { part: 0 },
  ],
  [
    "openai-chat",
    {
      role: "tool",
      tool_call_id: "c",
      content: [{ type: "text", text: "a", cache_control: ephemeral }],
    },
    { part: 0 },
  ],
  [
    "openai-responses",
    {
      role: "user",
      content: [
        { type: "input_text", text: "a" },
        { type: "input_image", detail: "low", file_id: "f", prompt_cache_breakpoint: explicit },
      ],
    },
    { part: 1 },
  ],
  [
    "openai-responses",
    {
      type: "function_call_output",
      call_id: "c",
      output: [
        { type: "input_text", text: "a" },
        { type: "input_text", text: "b", prompt_cache_breakpoint: explicit },
      ],
    },
    { part: 0 },
  ],
])("%s: a cache mark stays where the text now ends: %j", (name, message, place) => {
  const wire = wires[name];
  const mark = name === "openai-responses" ? explicit : ephemeral;
  expect(wire.cache.markIn(bytesOf(message))).toEqual(mark);
  const edited = replaced(wire, message, place);
  expect(wire.cache.markIn(bytesOf(edited))).toEqual(mark);
  expect(JSON.stringify(edited)).toContain("short");
});

test.each(Object.values(wires))("$name: text of ours carries the mark that it is given", (wire) => {
  const bare = wire.edit.ownMessage({ text: "ours" });
  const mark = wire.name === "openai-responses" ? explicit : ephemeral;
  const carrying = wire.edit.ownMessage({ text: "ours", mark });
  expect(wire.cache.markIn(bytesOf(bare))).toBeUndefined();
  const isMarking = wire.cache.markField !== undefined;
  expect(wire.cache.markIn(bytesOf(carrying))).toEqual(isMarking ? mark : undefined);
  const decoded = { role: "user", parts: [{ kind: "text", text: "ours" }] };
  expect([wire.messages.decode(bare), wire.messages.decode(carrying)]).toEqual([decoded, decoded]);
});

test.each<[WireName, JsonObject | string]>([
  ["anthropic", { role: "assistant", content: [{ type: "thinking", thinking: "t" }] }],
  ["anthropic", { role: "assistant", content: [{ type: "future", x: 1 }] }],
  ["gemini", { role: "model", parts: [{ text: "t", thought: true }] }],
  ["gemini", { role: "model", parts: [{ text: "", thoughtSignature: "QQ==" }] }],
  ["gemini", { role: "model", parts: [{ future: 1 }] }],
  [
    "gemini",
    { role: "model", parts: [{ functionCall: { name: "f", args: {} }, thoughtSignature: "QQ==" }] },
  ],
  ["anthropic", { role: "assistant", content: [{ type: "tool_use", id: "t", input: {} }] }],
  [
    "openai-chat",
    { role: "assistant", content: null, tool_calls: [{ id: "c", function: { arguments: "{}" } }] },
  ],
  ["openai-chat", { role: "assistant", content: null, refusal: "no" }],
  ["openai-chat", { role: "assistant", content: "", reasoning_content: "hm" }],
  ["openai-responses", { type: "function_call", call_id: "c", name: "f", arguments: "{}" }],
  ["openai-responses", { type: "custom_tool_call", call_id: "c", name: "f", input: "x" }],
  ["openai-responses", { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "e" }],
  ["openai-responses", { type: "compaction", encrypted_content: "e" }],
  ["openai-responses", { type: "item_reference", id: "msg_1" }],
  ["openai-responses", { role: "assistant", content: [{ type: "refusal", refusal: "no" }] }],
  ["openai-responses", { role: "user", content: [{ type: "future", text: "x" }] }],
  ["openai-responses", { type: "mcp_call", id: "m", output: "x" }],
  ["openai-responses", { type: "program_output", id: "p", call_id: "c", result: "2" }],
  ["openai-responses", { type: "apply_patch_call_output", call_id: "c", status: "completed" }],
  ["openai-responses", { type: "tool_search_output", call_id: "c", tools: [{ name: "f" }] }],
  [
    "openai-responses",
    {
      type: "computer_call_output",
      call_id: "c",
      output: { type: "computer_screenshot", image_url: image },
    },
  ],
])("%s: what must stay as it is has no place for another text: %j", (name, message) => {
  const bytes = bytesOf(message);
  expect(wires[name].edit.replacePart(bytes, { part: 0 }, "x")).toBeUndefined();
  expect(wires[name].edit.replacePart(bytes, { part: 0, inner: 0 }, "x")).toBeUndefined();
});

test("beside a refusal, or reasoning, the words may change", () => {
  const chat = wires["openai-chat"];
  const refusal = bytesOf({ role: "assistant", content: "so", refusal: "no" });
  expect(chat.edit.replacePart(refusal, { part: 0 }, "x")).toBeDefined();
  expect(chat.edit.replacePart(refusal, { part: 1 }, "x")).toBeUndefined();
});

test("Responses: an input that is a text is replaced as a whole, and has no mark", () => {
  const bytes = bytesOf("hello");
  const splice = wires["openai-responses"].edit.replacePart(bytes, { part: 0 }, "x");
  expect(splice && textOf(applySplices(bytes, [splice]))).toBe('"x"');
  expect(wires["openai-responses"].edit.replacePart(bytes, { part: 1 }, "x")).toBeUndefined();
  expect(wires["openai-responses"].cache.markIn(bytes)).toBeUndefined();
});

test("Responses: each command of a shell keeps its outcome", () => {
  const outcome = { type: "exit", exit_code: 1 };
  const entry = (stdout: string, stderr: string) => ({ stdout, stderr, outcome });
  const message = {
    type: "shell_call_output",
    call_id: "c",
    output: [entry("a", "b"), entry("c", "d")],
  };
  const wire = wires["openai-responses"];
  const text = 'short "é"';
  expect(replaced(wire, message, { part: 0 })["output"]).toEqual([entry(text, ""), entry("", "")]);
  const inner = replaced(wire, message, { part: 0, inner: 1 });
  expect(inner["output"]).toEqual([entry("a", "b"), entry(text, "")]);
});

test.each([
  [
    "anthropic",
    { role: "user", content: "one" },
    { role: "user", content: [{ type: "text", text: "two" }] },
  ],
  [
    "anthropic",
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "r" }] },
    { role: "user", content: "two" },
  ],
  ["openai-chat", { role: "user", content: "one" }, { role: "user", content: "two" }],
] as const)(
  "%s: two messages of the user become one that says what both said",
  (name, first, second) => {
    const wire = wires[name];
    const joined = wire.edit.joinMessages(bytesOf(first, 1), bytesOf(second));
    const { role, parts } = wire.messages.decode(
      JSON.parse(textOf(joined ?? new Uint8Array())) as JsonObject,
    );
    expect(role).toBe("user");
    expect(parts).toEqual([
      ...wire.messages.decode(first).parts,
      ...wire.messages.decode(second).parts,
    ]);
  },
);

test.each([
  [
    "anthropic",
    { role: "user", content: "one" },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "r" }] },
  ],
  ["anthropic", { role: "assistant", content: "one" }, { role: "user", content: "two" }],
  ["anthropic", { role: "user", content: [] }, { role: "user", content: "two" }],
  [
    "openai-chat",
    { role: "tool", tool_call_id: "c", content: "r" },
    { role: "user", content: "two" },
  ],
  ["openai-responses", { role: "user", content: "one" }, { role: "user", content: "two" }],
] as const)("%s: what cannot be one message is not joined", (name, first, second) => {
  expect(wires[name].edit.joinMessages(bytesOf(first), bytesOf(second))).toBeUndefined();
});

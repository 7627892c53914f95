import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../message/json.ts";
import { readSlices } from "./slices.ts";
import { applySplices, elementsRange } from "./splice.ts";
import { wires } from "./wires.ts";

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

const messages: Readonly<Record<string, readonly JsonObject[]>> = {
  anthropic: [
    { role: "user", content: "plain words" },
    {
      role: "user",
      content: [
        { type: "text", text: "one" },
        { type: "tool_result", tool_use_id: "t", content: "result \u0000 é" },
      ],
    },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "t",
          content: [{ type: "text", text: "in a block" }],
          is_error: true,
        },
      ],
    },
  ],
  "openai-chat": [
    { role: "tool", tool_call_id: "c", content: "the result" },
    { role: "user", content: "plain words" },
    {
      role: "user",
      content: [
        { type: "text", text: "one" },
        { type: "text", text: "two" },
      ],
    },
  ],
};

test.each(Object.values(wires))(
  "$name: the text of a part is replaced in its own bytes, and nothing else changes",
  (wire) => {
    for (const message of messages[wire.name] ?? []) {
      const bytes = bytesOf(message, 1);
      const { parts } = wire.decode(message);
      for (const index of parts.keys()) {
        const range = wire.textRange(bytes, index);
        expect(range).toBeDefined();
        if (range === undefined) continue;
        const edited = JSON.parse(
          textOf(applySplices(bytes, [{ ...range, text: JSON.stringify("[shortened]") }])),
        ) as JsonObject;
        const after = wire.decode(edited).parts;
        const texts = after.map((part) => JSON.stringify(part));
        expect(texts[index]).toContain("[shortened]");
        expect(texts.toSpliced(index, 1)).toEqual(
          parts.map((part) => JSON.stringify(part)).toSpliced(index, 1),
        );
      }
    }
  },
);

test("what must stay as it is has no place for another text", () => {
  const thinking = bytesOf({
    role: "assistant",
    content: [
      { type: "thinking", thinking: "t", signature: "s" },
      { type: "future", x: 1 },
    ],
  });
  expect([
    wires.anthropic.textRange(thinking, 0),
    wires.anthropic.textRange(thinking, 1),
    wires.anthropic.textRange(thinking, 7),
  ]).toEqual([undefined, undefined, undefined]);
  const call = bytesOf({
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
  });
  expect(wires["openai-chat"].textRange(call, 0)).toBeUndefined();
  const refusal = bytesOf({ role: "assistant", content: "so", refusal: "no" });
  expect(wires["openai-chat"].textRange(refusal, 0)).toBeDefined();
  expect(wires["openai-chat"].textRange(refusal, 1)).toBeUndefined();
});

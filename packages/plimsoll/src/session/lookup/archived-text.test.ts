import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { called, result, said, tell } from "../../../test/generate/told-sessions.ts";
import { tries } from "../../../test/harness/effort.ts";
import type { JsonObject, JsonValue } from "../../message/json.ts";
import { describeResult, utf8Bytes } from "../../offload/reference-text.ts";
import { createMemoryStore } from "../../store/memory.ts";
import type { ArchiveSource, Store } from "../../store/store.ts";
import type { WireName } from "../../wire/format/wire.ts";
import { openArchived, openMessage } from "./archived-text.ts";

const id = "ses_1";

async function told(
  messages: readonly JsonObject[],
  wire: WireName = "openai-chat",
): Promise<Store> {
  const store = createMemoryStore();
  await tell(store, { session: id, tenant: "t", wire, messages });
  return store;
}

async function textOf(opening: ReturnType<typeof openMessage>): Promise<readonly string[]> {
  const opened = await opening;
  if (opened.kind !== "text") return [opened.kind];
  return [opened.what, new TextDecoder().decode(opened.bytes)];
}

const messages = (first: number, last: number): { readonly source: ArchiveSource } => ({
  source: { kind: "messages", runs: [[first, last, 1]] },
});
const part = (seq: number, index: number): { readonly source: ArchiveSource } => ({
  source: { kind: "part", seq, part: index },
});

test("results are named after their calls, also several of them", async () => {
  const store = await told([
    {
      role: "assistant",
      content: "Both at once.",
      tool_calls: ["ls", "cat"].map((name) => ({
        id: name,
        type: "function",
        function: { name, arguments: "{}" },
      })),
    },
    result("ls", "a.txt"),
    result("cat", "hello"),
  ]);
  const session = { id, wire: "openai-chat" };
  expect(await textOf(openArchived(store, session, messages(1, 3)))).toEqual([
    "3 messages, #1 to #3",
    "#1 assistant\nBoth at once.\n[call ls] {}\n[call cat] {}\n\n#2 tool result of ls\na.txt\n\n#3 tool result of cat\nhello\n\n",
  ]);
  expect(await textOf(openMessage(store, session, 3))).toEqual(["tool result of cat", "hello"]);
  expect(await textOf(openArchived(store, session, part(3, 0)))).toEqual([
    "result of cat",
    "hello",
  ]);
});

test("results in one message are told apart; what failed, was thought or is unknown is marked", async () => {
  const store = await told(
    [
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "s" },
          { type: "tool_use", id: "a", name: "ls", input: {} },
          { type: "tool_use", id: "b", name: "cat", input: { path: "x" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: "a.txt" },
          { type: "tool_result", tool_use_id: "b", content: "no such file", is_error: true },
          { type: "future", value: 1 },
        ],
      },
    ],
    "anthropic",
  );
  const session = { id, wire: "anthropic" };
  expect(await textOf(openMessage(store, session, 1))).toEqual([
    "assistant",
    '[reasoning] hm\n[call ls] {}\n[call cat] {"path":"x"}',
  ]);
  expect(await textOf(openMessage(store, session, 2))).toEqual([
    "user",
    '[result of ls]\na.txt\n[result of cat]\n[failed]\nno such file\n{"type":"future","value":1}',
  ]);
});

test("items of the Responses wire are messages like others", async () => {
  const store = await told(
    [
      { type: "function_call", call_id: "c", name: "ls", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "a.txt" },
    ],
    "openai-responses",
  );
  const session = { id, wire: "openai-responses" };
  expect(await textOf(openMessage(store, session, 2))).toEqual(["tool result of ls", "a.txt"]);
  expect(await textOf(openArchived(store, session, part(2, 0)))).toEqual(["result of ls", "a.txt"]);
});

test("what would be too much ends with the number to read on from", async () => {
  const store = await told([1, 2, 3].map((n) => said("user", `${n}`.repeat(40))));
  const session = { id, wire: "openai-chat" };
  expect(await textOf(openArchived(store, session, messages(1, 3), 120))).toEqual([
    "3 messages, #1 to #3",
    `#1 user\n${"1".repeat(40)}\n\n#2 user\n${"2".repeat(40)}\n\n[The next message is #3: read "#3".]\n`,
  ]);
});

test("half a character is read as the mark for one, and all around it as it is", async () => {
  const store = await told([
    said("user", "a\ud800b"),
    called("c", "x", {}),
    result("c", "1\n\udc00\n3"),
    {
      role: "assistant",
      tool_calls: [{ id: "d", type: "function", function: { name: "x", arguments: "{\ud800}" } }],
    },
  ]);
  const session = { id, wire: "openai-chat" };
  expect(await textOf(openMessage(store, session, 1))).toEqual(["user", "a\ufffdb"]);
  expect(await textOf(openArchived(store, session, part(3, 0)))).toEqual([
    "result of x",
    "1\n\ufffd\n3",
  ]);
  expect(await textOf(openArchived(store, session, part(4, 0)))).toEqual([
    "arguments of x",
    "{\ufffd}",
  ]);
});

describe("what a reference says of a result", () => {
  const asText = (text: string): JsonValue => text;
  const asBlock = (text: string): JsonValue => [{ type: "text", text }];
  const asDocument = (data: string): JsonValue => [
    { type: "document", title: "t", source: { type: "text", media_type: "text/plain", data } },
  ];

  test.each([
    ["text", asText],
    ["a block of text", asBlock],
    ["a document of text", asDocument],
  ])("is true of what its handle opens: %s", async (_, contentOf) => {
    const piece = fc.constantFrom("one line\n", "\ud800", "\udfff", "\n", "é😀", '"\\', "x");
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1 }), async (pieces) => {
        const text = pieces.join("");
        const content = contentOf(text);
        const block = { type: "tool_result", tool_use_id: "a", content };
        const store = await told([{ role: "user", content: [block] }], "anthropic");
        const source = { kind: "part", seq: 1, part: 0, inner: 0 } as const;
        const opened = await openArchived(store, { id, wire: "anthropic" }, { source });
        const { length } = opened.kind === "text" ? opened.bytes : [];
        const [, shown = ""] = await textOf(Promise.resolve(opened));
        expect(shown).toBe(text.toWellFormed());
        const lines = shown.replace(/\n$/, "").split("\n").length;
        const handle = "pl_0123456789ABCDEFGHIJKL";
        expect(describeResult({ text, bytes: utf8Bytes(text), handle })).toContain(
          ` ${length} bytes, ${lines === 1 ? "1 line" : `${lines} lines`};`,
        );
      }),
      tries({ runs: 100, seed: 20_260_730 }),
    );
  });

  test("is true of a document that no result brought, too", async () => {
    const source = { type: "text", media_type: "text/plain", data: "one\ntwo" };
    const store = await told(
      [{ role: "user", content: [{ type: "document", source }] }],
      "anthropic",
    );
    expect(await textOf(openArchived(store, { id, wire: "anthropic" }, part(1, 0)))).toEqual([
      "text of the user",
      "one\ntwo",
    ]);
  });
});

test("a session of an unknown wire is read as it lies there, a message that is not there not at all", async () => {
  const store = await told([said("user", "hello")]);
  const session = { id, wire: "" };
  expect(await textOf(openMessage(store, session, 1))).toEqual([
    "message 1",
    '{"role":"user","content":"hello"}',
  ]);
  expect(await textOf(openMessage(store, session, 2))).toEqual(["absent"]);
  expect(await textOf(openArchived(store, session, part(2, 0)))).toEqual(["absent"]);
});

/** The library as an agent uses it: the same log as the proxy's, on any wire, and there again tomorrow. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { runAgent } from "../../../../examples/agent.ts";
import { openPlimsoll, type Plimsoll, type PlimsollEvent } from "../../src/index.ts";
import { engineOf } from "../../src/plimsoll.ts";
import { call, reply, text } from "../harness/answer.ts";
import { startUpstream, type Upstream } from "../harness/upstream.ts";

const folder = mkdtempSync(join(tmpdir(), "plimsoll-library-"));
const open: Plimsoll[] = [];
let upstream: Upstream;

beforeAll(async () => {
  upstream = await startUpstream({
    script: ({ body }) => {
      const last = JSON.stringify((body["messages"] as readonly unknown[]).at(-1));
      return last.includes("tool_result")
        ? reply(text(last.includes("forty-two") ? "It says forty-two." : "It cannot be read."))
        : reply(
            text("Let me look."),
            call("toolu_1", "read_file", { path: join(folder, "note.txt") }),
            call("toolu_2", "read_file", { path: join(folder, "none.txt") }),
          );
    },
  });
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});
afterAll(async () => {
  await upstream.close();
  rmSync(folder, { recursive: true });
});

async function fresh(
  options: Parameters<typeof openPlimsoll>[0] = { store: "memory" },
): Promise<Plimsoll> {
  const plimsoll = await openPlimsoll(options);
  open.push(plimsoll);
  return plimsoll;
}

const anthropicAnswer = (content: unknown): unknown => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  content,
  stop_reason: "end_turn",
  usage: { input_tokens: 30, output_tokens: 5 },
});
const chatAnswer = (message: object): unknown => ({
  id: "c",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }],
  usage: { prompt_tokens: 30, completion_tokens: 5 },
});

test("the example agent reads a file through its tool and says what is in it", async () => {
  writeFileSync(join(folder, "note.txt"), "forty-two");
  vi.stubEnv("ANTHROPIC_BASE_URL", upstream.url);
  vi.stubEnv("ANTHROPIC_API_KEY", "key-of-the-example");
  vi.spyOn(console, "log").mockImplementation(() => undefined);
  const data = join(folder, "agent");
  expect(await runAgent("What does the note say?", data)).toBe("It says forty-two.");
  expect(upstream.requests.map(({ status }) => status)).toEqual([200, 200]);
  const plimsoll = await fresh({ data });
  const [session] = await engineOf(plimsoll).store.sessions({ limit: 5 });
  expect(session).toMatchObject({
    agent: "reader",
    wire: "anthropic",
    branches: 1,
    turns: 2,
    messages: 4,
  });
});

test("a session goes on after the process has ended, with everything that was said", async () => {
  const data = join(folder, "resume");
  const before = await openPlimsoll({ data });
  const session = await before.session();
  await session.append({ role: "user", content: "remember 7" });
  await session.prepare({ target: "anthropic/claude-x" });
  await session.commit(anthropicAnswer([{ type: "text", text: "I will." }]));
  await before.close();

  const after = await fresh({ data });
  const resumed = await after.session(session.id);
  await resumed.append({ role: "user", content: "which number?" });
  const turn = await resumed.prepare({ target: "anthropic/claude-x" });
  expect(turn.request["messages"]).toEqual([
    { role: "user", content: "remember 7" },
    { role: "assistant", content: [{ type: "text", text: "I will." }] },
    { role: "user", content: "which number?" },
  ]);
  await resumed.commit(anthropicAnswer([{ type: "text", text: "7" }]));
  const records = await engineOf(after).store.messages(session.id, { limit: 10 });
  expect(records.map(({ seq, parent, source }) => [seq, parent, source])).toEqual([
    [1, null, "request"],
    [2, 1, "answer"],
    [3, 2, "request"],
    [4, 3, "answer"],
  ]);
  await expect(after.session("ses_0000000000000000000000")).rejects.toMatchObject({
    code: "SESSION_UNKNOWN",
  });
});

test("a conversation that began on one wire goes on over another", async () => {
  const session = await (await fresh()).session();
  await session.append({ role: "user", content: "look it up" });
  const first = await session.prepare({ target: "openai/gpt-4o" });
  const answer = chatAnswer({
    content: null,
    tool_calls: [
      { id: "call_1", type: "function", function: { name: "find", arguments: '{"q":1}' } },
    ],
  });
  await session.commit(answer);
  expect(first.toolCalls(answer)).toEqual([
    { kind: "tool-call", id: "call_1", name: "find", input: '{"q":1}' },
  ]);
  await session.append({ role: "tool", tool_call_id: "call_1", content: "found" });
  const second = await session.prepare({ target: "anthropic/claude-x" });
  expect(second.request["messages"]).toEqual([
    { role: "user", content: [{ type: "text", text: "look it up" }] },
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "call_1", name: "find", input: { q: 1 } }],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "call_1", content: [{ type: "text", text: "found" }] },
      ],
    },
  ]);
  await session.commit(anthropicAnswer([{ type: "text", text: "There." }]));
  const third = await session.prepare({ target: "openai/gpt-4o" });
  expect(third.request["messages"]).toMatchObject([
    { role: "user" },
    { role: "assistant" },
    { role: "tool" },
    { role: "assistant", content: "There." },
  ]);
});

test("a streamed answer is committed from its events", async () => {
  const session = await (await fresh()).session();
  const ended: PlimsollEvent[] = [];
  session.on("turn-end", (event) => ended.push(event));
  await session.append({ role: "user", content: "stream" });
  await session.prepare({ target: "openai/gpt-4o" });
  const chunk = (delta: object, finish: string | null): object => ({
    id: "c",
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const stream = async function* () {
    yield chunk({ role: "assistant", content: "Hel" }, null);
    yield chunk({ content: "lo" }, "stop");
    yield { id: "c", choices: [], usage: { prompt_tokens: 9, completion_tokens: 2 } };
  };
  await session.commit(stream());
  expect(ended).toMatchObject([{ status: "complete", usage: { inputTokens: 9, outputTokens: 2 } }]);
  const { request } = await session.prepare({ target: "openai/gpt-4o" });
  expect(request["messages"]).toMatchObject([{ content: "stream" }, { content: "Hello" }]);
});

test("what a turn measures is what its parts measure, and reported usage corrects it", async () => {
  const session = await (await fresh()).session();
  const tools = [{ name: "t", description: "does ".repeat(50), parameters: { type: "object" } }];
  await session.append({ role: "user", content: "word ".repeat(400) });
  const first = await session.prepare({
    target: "anthropic/claude-sonnet-4-5",
    system: "Be brief.",
    tools,
  });
  const { system, skills, tools: schemas, conversation, total } = first.measurement;
  expect(system + skills + schemas + conversation).toBe(total);
  expect([system > 0, schemas > 50, conversation > 400]).toEqual([true, true, true]);
  await session.commit({
    ...(anthropicAnswer([{ type: "text", text: "ok" }]) as object),
    usage: { input_tokens: total * 2, output_tokens: 1 },
  });
  await session.append({ role: "user", content: "and?" });
  const second = await session.prepare({
    target: "anthropic/claude-sonnet-4-5",
    system: "Be brief.",
    tools,
  });
  expect(second.measurement.total).toBeGreaterThan(total * 1.8);
});

test.each([
  ["a target without a model", { target: "anthropic" }, /provider\/model/],
  ["a provider that nobody knows", { target: "nobody/m" }, /There is no provider/],
])("%s gets a sentence", async (_name, options, sentence) => {
  const session = await (await fresh()).session();
  await session.append({ role: "user", content: "x" });
  await expect(session.prepare(options)).rejects.toThrowError(sentence);
});

test("what cannot be sent is refused when it is appended, and takes nothing with it", async () => {
  const session = await (await fresh()).session();
  await session.append({ role: "user", content: "keep me" });
  await expect(
    session.append({ role: "user", content: 1n as unknown as string }),
  ).rejects.toThrowError(/JSON can represent/);
  await expect(session.append("hello" as unknown as Record<string, string>)).rejects.toThrowError(
    /message object/,
  );
  const { request } = await session.prepare({ target: "anthropic/claude-x" });
  expect(request["messages"]).toEqual([{ role: "user", content: "keep me" }]);
  await expect(session.prepare({ target: "constructor/x" })).rejects.toThrowError(
    /There is no provider/,
  );
});

test("a stream that breaks is recorded as far as it came, and the error is handed on", async () => {
  const plimsoll = await fresh();
  const session = await plimsoll.session();
  await session.append({ role: "user", content: "stream" });
  await session.prepare({ target: "openai/gpt-4o" });
  const broken = async function* () {
    yield { id: "c", choices: [{ index: 0, delta: { content: "Hal" }, finish_reason: null }] };
    throw new Error("the line is dead");
  };
  await expect(session.commit(broken())).rejects.toThrowError(/the line is dead/);
  const records = await engineOf(plimsoll).store.messages(session.id, { limit: 9 });
  expect(records.map(({ isComplete }) => isComplete)).toEqual([true, false]);
  const { request } = await session.prepare({ target: "openai/gpt-4o" });
  expect(request["messages"]).toEqual([{ role: "user", content: "stream" }]);
});

test("a turn that nobody committed is stored when Plimsoll closes", async () => {
  const data = join(folder, "unfinished");
  const before = await openPlimsoll({ data });
  const session = await before.session();
  await session.append({ role: "user", content: "and then the agent crashed" });
  await session.prepare({ target: "anthropic/claude-x" });
  await before.close();
  const after = await fresh({ data });
  expect(await engineOf(after).store.messages(session.id, { limit: 9 })).toHaveLength(1);
  expect(await engineOf(after).store.turns(session.id, 1)).toMatchObject([{ status: "aborted" }]);
});

test("two processes that write to one session both keep what they said", async () => {
  const data = join(folder, "shared");
  const one = await fresh({ data });
  const first = await one.session();
  await first.append({ role: "user", content: "from one" });
  await first.prepare({ target: "anthropic/claude-x" });
  await first.commit(anthropicAnswer([{ type: "text", text: "1" }]));
  const other = await fresh({ data });
  const second = await other.session(first.id);
  await second.append({ role: "user", content: "from the other" });
  await second.prepare({ target: "anthropic/claude-x" });
  expect(await second.commit(anthropicAnswer([{ type: "text", text: "2" }]))).toBe("stored");
  await first.append({ role: "user", content: "from one again" });
  await first.prepare({ target: "anthropic/claude-x" });
  expect(await first.commit(anthropicAnswer([{ type: "text", text: "3" }]))).toBe("unsaved");
  await first.append({ role: "user", content: "and again" });
  await first.prepare({ target: "anthropic/claude-x" });
  expect(await first.commit(anthropicAnswer([{ type: "text", text: "4" }]))).toBe("stored");
  const texts = (await engineOf(one).store.messages(first.id, { limit: 20 })).map(({ body }) =>
    new TextDecoder().decode(body),
  );
  for (const words of ["from one", "from the other", "from one again", "and again", '"3"', '"4"']) {
    expect(texts.filter((text) => text.includes(words)).length).toBeGreaterThan(0);
  }
});

test("commit without prepare says so, and a second prepare ends the first as aborted", async () => {
  const plimsoll = await fresh();
  const session = await plimsoll.session();
  await expect(session.commit(anthropicAnswer([]))).rejects.toThrowError(/prepare first/);
  await session.append({ role: "user", content: "x" });
  await session.prepare({ target: "anthropic/claude-x" });
  await session.prepare({ target: "anthropic/claude-x" });
  await session.commit(anthropicAnswer([{ type: "text", text: "y" }]));
  const statuses = (await engineOf(plimsoll).store.turns(session.id, 5))
    .map(({ status }) => status)
    .sort();
  expect(statuses).toEqual(["aborted", "complete"]);
  expect((await engineOf(plimsoll).store.messages(session.id, { limit: 9 })).length).toBe(2);
});

test.each(["session", { provider: "session" } as const])(
  "a summariser that only the service can ask is refused, with a sentence that says what to do: %j",
  async (summariser) => {
    await expect(openPlimsoll({ store: "memory", config: { summariser } })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("In the library, name a model"),
    });
  },
);

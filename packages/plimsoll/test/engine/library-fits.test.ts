/** A library agent whose conversation outgrows its window: what it is handed, what it may do about it, and what stays. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { openPlimsoll, type Plimsoll, type Strategy } from "../../src/index.ts";
import { engineOf } from "../../src/plimsoll.ts";
import { reply, text } from "../harness/answer.ts";
import { startUpstream } from "../harness/upstream.ts";
import { prose } from "../harness/words.ts";

const folder = mkdtempSync(join(tmpdir(), "plimsoll-fits-"));
afterAll(() => rmSync(folder, { recursive: true }));
const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const model = (contextWindow: number) => ({
  contextWindow,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
});
const config = {
  providers: {
    anthropic: { models: { small: model(8_000), large: model(60_000) } },
    openai: { models: { small: model(8_000) } },
  },
};

type Options = Parameters<typeof openPlimsoll>[0];
async function fresh(options: Options = { store: "memory" }): Promise<Plimsoll> {
  const plimsoll = await openPlimsoll({ config, ...options });
  open.push(plimsoll);
  return plimsoll;
}

const answer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Noted, and on to the next." }],
  stop_reason: "end_turn",
};
interface Request {
  readonly messages: readonly object[];
  readonly tools?: readonly { readonly name: string }[];
}
type Session = Awaited<ReturnType<Plimsoll["session"]>>;

async function talk(session: Session, turns: number, seed = 1, target = "anthropic/small") {
  const random = diceOf(seed);
  const requests: { readonly kind: string; readonly request: Request }[] = [];
  for (let turn = 0; turn < turns; turn++) {
    await session.append({ role: "user", content: prose(random, 300) });
    const { request, outcome } = await session.prepare<Request>({ target, cacheMarks: false });
    requests.push({ kind: outcome.kind, request });
    await session.commit(answer);
  }
  return requests;
}

test("a conversation of five windows keeps fitting, and its beginning stays the same between compactions", async () => {
  const plimsoll = await fresh();
  const session = await plimsoll.session({ agent: "coder" });
  const turns = await talk(session, 110);
  const compactions = turns.filter(({ kind }) => kind === "compacted").length;
  expect(compactions).toBeGreaterThan(5);
  expect(compactions).toBeLessThan(15);
  for (const [index, { kind, request }] of turns.entries()) {
    const before = turns[index - 1];
    if (kind === "compacted" || before === undefined) continue;
    // A note that the window fills stands in the last message of the request that it came with.
    const kept = before.request.messages.slice(0, -1);
    expect(request.messages.slice(0, kept.length)).toEqual(kept);
  }
});

test("what was compacted is compacted after a restart, in the same words", async () => {
  const data = join(folder, "again");
  const first = await fresh({ data });
  const session = await first.session();
  const turns = await talk(session, 30);
  const edited = turns.at(-1)?.request.messages ?? [];
  await first.close();
  open.length = 0;
  const second = await fresh({ data });
  const resumed = await second.session(session.id);
  await resumed.append({ role: "user", content: "And now?" });
  const { request, outcome } = await resumed.prepare<Request>({
    target: "anthropic/small",
    cacheMarks: false,
  });
  expect(outcome.kind).toBe("edited");
  expect(request.messages.slice(0, edited.length)).toEqual(edited);
});

test("undo, checkpoint, restore and compact are at hand", async () => {
  const plimsoll = await fresh();
  const session = await plimsoll.session();
  await talk(session, 10, 2, "anthropic/large");
  const checkpoint = await session.checkpoint("all of it");
  await session.compact({ keep: "lastTwo" });
  const [short] = await talk(session, 1, 3, "anthropic/large");
  expect(short?.request.messages.length).toBeLessThan(12);
  await session.undo();
  const [whole] = await talk(session, 1, 4, "anthropic/large");
  expect(whole?.request.messages).toHaveLength(23);
  await session.restore({ seq: 2 });
  const [shortAgain] = await talk(session, 1, 5, "anthropic/large");
  expect(shortAgain?.request.messages.slice(0, 7)).toEqual(short?.request.messages.slice(0, 7));
  await session.restore({ checkpoint });
  const [all] = await talk(session, 1, 6, "anthropic/large");
  expect(all?.request.messages).toHaveLength(27);
  await expect(session.restore({ checkpoint: "cp_999" })).rejects.toMatchObject({
    code: "POINT_UNKNOWN",
  });
});

test("Restrict tools to agent__final_report only: the last turn asks for it, and sets no other choice", async () => {
  const plimsoll = await fresh();
  const session = await plimsoll.session();
  await session.append({ role: "user", content: prose(diceOf(7), 7_600) });
  const tools = [{ name: "read_file", parameters: { type: "object" } }];
  const { request, outcome } = await session.prepare<Request & { tool_choice?: unknown }>({
    target: "anthropic/small",
    tools,
    extra: { tool_choice: { type: "tool", name: "read_file" } },
  });
  expect(outcome.kind).toBe("final");
  expect(request.tools?.map(({ name }) => name)).toEqual(["agent__final_report"]);
  expect(request.tool_choice).toEqual({ type: "auto" });
  const words = JSON.stringify(request.messages.at(-1));
  expect(words).toContain("Call agent__final_report now");
  expect(words).not.toContain("Do not call");
  const errors = await engineOf(plimsoll).store.errors({ limit: 5 });
  await session.commit(answer);
  expect([...errors, ...(await engineOf(plimsoll).store.errors({ limit: 5 }))]).toContainEqual(
    expect.objectContaining({ code: "TOKEN_LIMIT_EXCEEDED" }),
  );
});

test("what no window holds is refused, and said so", async () => {
  const plimsoll = await fresh();
  const session = await plimsoll.session();
  await session.append({ role: "user", content: prose(diceOf(8), 9_000) });
  const { outcome } = await session.prepare({ target: "anthropic/small" });
  expect(outcome.kind).toBe("refused");
});

test("a provider that finds a request too long is sent a smaller one, through its own client", async () => {
  const upstream = await startUpstream({
    script: () => reply(text("Fine now.")),
    window: { tokens: 4_000 },
  });
  const client = new OpenAI({ baseURL: `${upstream.url}/v1`, apiKey: "k", maxRetries: 0 });
  type Asked = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming;
  const plimsoll = await fresh();
  const session = await plimsoll.session();
  const random = diceOf(9);
  let overflows = 0;
  for (let turn = 0; turn < 30; turn++) {
    await session.append({ role: "user", content: prose(random, 300) });
    const prepared = await session.prepare<Asked>({ target: "openai/small" });
    const completion = await client.chat.completions
      .create(prepared.request)
      .catch(async (error: unknown) => {
        overflows++;
        const smaller = await session.overflowed<Asked>(error);
        if (smaller === undefined) throw error;
        return client.chat.completions.create(smaller.request);
      });
    await session.commit(completion);
  }
  expect(overflows).toBe(1);
  expect(upstream.refusals).toMatchObject({ overflow: 1, invalid: [] });
  expect(await session.overflowed(new Error("rate limit reached"))).toBeUndefined();
  await upstream.close();
});

test("the Responses wire is one option away", async () => {
  const plimsoll = await fresh();
  const session = await plimsoll.session();
  await session.append({ role: "user", content: "hi" });
  const options = { target: "openai/small", wire: "openai-responses" } as const;
  const { request } = await session.prepare(options);
  expect(request).toMatchObject({ model: "small", input: [{ role: "user", content: "hi" }] });
  await expect(
    session.prepare({ target: "anthropic/small", wire: "openai-responses" }),
  ).rejects.toThrow("does not support the wire");
});

test("a strategy of one's own is one value, and a bad one does no harm", async () => {
  const heard: string[] = [];
  const dropPlans: Strategy = {
    name: "drop_plans",
    propose: ({ messages, units }) =>
      units
        .slice(2, -2)
        .filter(({ first }) => JSON.stringify(messages[first]?.message).includes("the plan is"))
        .map(({ first, last }) => ({
          kind: "remove",
          first,
          last,
          reason: "An old plan.",
          textFor: ({ handle }) => `[plan kept under ${handle}]`,
        })),
  };
  const broken: Strategy = {
    name: "broken",
    propose: () => {
      throw new Error("not today");
    },
  };
  const plimsoll = await fresh({
    store: "memory",
    parts: { strategies: (usual) => [broken, dropPlans, ...usual] },
  });
  plimsoll.on("degraded", ({ reason }) => heard.push(reason));
  plimsoll.on("compaction-end", (event) => heard.push(event.strategies.join(" ")));
  const session = await plimsoll.session();
  await talk(session, 4, 10);
  await session.append({ role: "user", content: `the plan is ${prose(diceOf(11), 3_000)}` });
  await session.prepare({ target: "anthropic/small" });
  await session.commit(answer);
  await talk(session, 12, 12);
  expect(heard).toContain("broken: not today");
  // What a compaction did is said while the next things happen.
  await vi.waitFor(() => expect(heard.join("\n")).toContain("drop_plans"), 10_000);
  const texts = (await engineOf(plimsoll).store.edits(session.id))
    .filter(({ strategy }) => strategy === "drop_plans")
    .flatMap(({ action }) => ("handle" in action && "text" in action ? [action] : []));
  expect(texts.length).toBeGreaterThan(0);
  for (const { text, handle } of texts) expect(text).toBe(`[plan kept under ${handle}]`);
});

test("retry policies: the usual one, and one for a tool", async () => {
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: {
      context_config: {
        retry_policies: {
          default: { max_attempts: 2, backoff_base_seconds: 0 },
          per_tool: { flaky: { max_attempts: 4 } },
        },
      },
    },
  });
  open.push(plimsoll);
  const attempts: number[] = [];
  const work = async (attempt: number): Promise<string> => {
    attempts.push(attempt);
    if (attempt < 3) throw new Error("not yet");
    return "done";
  };
  await expect(plimsoll.retrying("other", work)).rejects.toThrow("not yet");
  await expect(plimsoll.retrying("flaky", work)).resolves.toBe("done");
  expect(attempts).toEqual([1, 2, 1, 2, 3]);
});

test("an answer is as long as the caller asks for while there is room, and shorter then", async () => {
  const session = await (await fresh()).session();
  const random = diceOf(3);
  const thinking = { type: "enabled", budget_tokens: 3_000 };
  const lengths: (readonly [number, number])[] = [];
  for (let turn = 0; turn < 16; turn++) {
    await session.append({ role: "user", content: prose(random, 300) });
    const { request } = await session.prepare<{
      readonly max_tokens: number;
      readonly thinking: { readonly budget_tokens: number };
    }>({ target: "anthropic/small", maxOutputTokens: 4_000, extra: { thinking } });
    lengths.push([request.max_tokens, request.thinking.budget_tokens]);
    await session.commit(answer);
  }
  expect(lengths[0]).toEqual([4_000, 3_000]);
  expect(lengths.at(-1)?.[0]).toBeLessThan(4_000);
  for (const [most, budget] of lengths) {
    expect(most).toBeGreaterThan(budget);
    expect(most).toBeGreaterThanOrEqual(2_000);
  }
});

/** A library agent that runs tools: what of their results goes in, what is left outside and read again, and when it must end. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { openPlimsoll, type Plimsoll, type Session, type ToolCallPart } from "../../src/index.ts";
import { engineOf } from "../../src/plimsoll.ts";
import { call, reply, text } from "../harness/answer.ts";
import type { AnswerPart } from "../harness/answer-parts.ts";
import { startUpstream, type Upstream } from "../harness/upstream.ts";
import { prose } from "../harness/words.ts";

const folder = mkdtempSync(join(tmpdir(), "plimsoll-tools-"));
afterAll(() => rmSync(folder, { recursive: true }));
const open: (Plimsoll | Upstream)[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

const model = {
  contextWindow: 8_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
const config = {
  providers: {
    anthropic: { models: { "claude-small": model } },
    openai: { models: { small: model } },
  },
};
const tools = [
  { name: "read_file", description: "Reads a file.", parameters: { type: "object" } },
  { name: "shell", description: "Runs a command.", parameters: { type: "object" } },
];
type Json = Record<string, unknown>;
const target = "anthropic/claude-small";

/** A provider's own client against a provider that takes nothing wrong; it answers with these, one after the other. */
async function provider(...answers: readonly (readonly AnswerPart[])[]) {
  const left = [...answers];
  const upstream = await startUpstream({
    script: () => reply(...(left.shift() ?? [text("Done.")])),
  });
  open.push(upstream);
  const client = new Anthropic({ baseURL: upstream.url, apiKey: "k", maxRetries: 0 });
  const create = (request: unknown): Promise<Anthropic.Message> =>
    client.messages.create(request as Anthropic.MessageCreateParamsNonStreaming);
  return { upstream, anthropic: { messages: { create } } };
}

let folders = 0;
const stores = [
  ["in memory", () => ({ store: "memory" }) as const],
  ["in SQLite", () => ({ data: join(folder, String(folders++)) })],
] as const;

describe.each(stores)("%s", (_name, where) => {
  async function fresh(): Promise<Plimsoll> {
    const plimsoll = await openPlimsoll({ config, ...where() });
    open.push(plimsoll);
    return plimsoll;
  }

  test("the example of the interface runs as it stands", async () => {
    const { anthropic, upstream } = await provider([
      text("I look."),
      call("toolu_1", "read_file", { path: "login.test.ts" }),
    ]);
    const runTool = async ({ name, input }: ToolCallPart): Promise<string> => `${name} ${input}`;
    const receipts: unknown[] = [];

    const plimsoll = await openPlimsoll({ ...where(), config });
    open.push(plimsoll);
    const session = await plimsoll.session({ agent: "coder", priority: 1 });
    await session.append({ role: "user", content: "Fix the login test" });
    const turn = await session.prepare({ target: "anthropic/claude-small", tools });
    expect(turn.outcome.kind).toBe("passthrough");
    const answer = await anthropic.messages.create(turn.request);
    await session.commit(answer);
    for (const call of turn.toolCalls(answer)) {
      const own = await session.answer(call);
      const grant = own ?? session.toolBudget.reserve(call, await runTool(call));
      await session.append(grant.message);
    }
    session.on("compaction-end", (event) => receipts.push(event.receipt));

    const next = await session.prepare({ target: "anthropic/claude-small", tools });
    await session.commit(await anthropic.messages.create(next.request));
    expect((next.request["messages"] as Json[]).at(-1)).toEqual({
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: [{ type: "text", text: 'read_file {"path":"login.test.ts"}' }],
        },
      ],
    });
    expect(upstream.refusals.invalid).toEqual([]);
  });

  test("a result that is too large is in the log to the byte, stands there as a reference, and is read back through the session", async () => {
    const plimsoll = await fresh();
    const { anthropic, upstream } = await provider([
      text("I look."),
      call("toolu_1", "read_file", {}),
    ]);
    const whole = prose(diceOf(1), 9_000);
    const session = await plimsoll.session();
    await session.append({ role: "user", content: "What does it say?" });
    const turn = await session.prepare({ target, tools });
    expect(names(turn)).toEqual(["read_file", "shell"]);
    const answer = await anthropic.messages.create(turn.request);
    await session.commit(answer);
    const [asked] = turn.toolCalls(answer) as [ToolCallPart];
    expect(await session.answer(asked)).toBeNull();
    const before = session.toolBudget.remaining;
    const grant = session.toolBudget.reserve(asked, whole);
    expect(grant).toMatchObject({ kind: "handle" });
    expect(before - session.toolBudget.remaining).toBe(grant.tokens);
    await session.append(grant.message);

    const next = await session.prepare({ target, tools });
    expect(next.outcome.kind).toBe("edited");
    expect(names(next)).toEqual(["read_file", "shell", "read_result", "recall", "compact_context"]);
    const shown = JSON.stringify((next.request["messages"] as Json[]).at(-1));
    const [handle = ""] = /pl_[0-9A-Za-z]{22}/.exec(shown) ?? [];
    expect(shown).toContain(whole.slice(0, 50));
    expect(shown).not.toContain(whole.slice(0, 500));
    await session.commit(await anthropic.messages.create(next.request));
    expect((await wholeOf(session, handle)) === whole).toBe(true);
    expect(await session.answer(ownCall("read_result", { ref_id: "pl_nothing" }))).toMatchObject({
      isError: true,
    });
    const bodies = (await engineOf(plimsoll).store.messages(session.id, { limit: 9 })).map(
      ({ body }) => new TextDecoder().decode(body),
    );
    expect(bodies[2]).toContain(JSON.stringify(whole));
    expect(upstream.refusals.invalid).toEqual([]);
  });

  test("tools that end at the same time share one budget, and what was granted fits into the next turn", async () => {
    const plimsoll = await fresh();
    const ids = Array.from({ length: 20 }, (_, index) => `toolu_${index}`);
    const { anthropic, upstream } = await provider(ids.map((id) => call(id, "read_file", {})));
    const random = diceOf(2);
    const session = await plimsoll.session();
    await session.append({ role: "user", content: prose(random, 1_500) });
    const turn = await session.prepare({ target, tools });
    const answer = await anthropic.messages.create(turn.request);
    await session.commit(answer);
    const before = session.toolBudget.remaining;
    const grants = await Promise.all(
      turn.toolCalls(answer).map(async (asked, index) => {
        const output = prose(random, 700);
        for (let ticks = 0; ticks < (index * 7) % 5; ticks++) await Promise.resolve();
        return session.toolBudget.reserve(asked, output);
      }),
    );
    for (const grant of grants) await session.append(grant.message);
    const kinds = new Set(grants.map(({ kind }) => kind));
    expect(kinds).toEqual(new Set(["whole", "handle"]));
    const granted = grants.reduce((sum, { tokens }) => sum + tokens, 0);
    expect(granted).toBeLessThanOrEqual(before);
    expect(session.toolBudget.remaining).toBe(before - granted);
    expect(session.toolBudget.isExceeded).toBe(false);
    const next = await session.prepare({ target, tools });
    expect(next.outcome.tokensAfter).toBeLessThanOrEqual(next.limit.limit);
    await session.commit(await anthropic.messages.create(next.request));
    const made = (await engineOf(plimsoll).store.edits(session.id)).filter(
      ({ strategy }) => strategy === "tool_budget",
    );
    expect(made).toHaveLength(grants.filter(({ kind }) => kind === "handle").length);
    for (const { tokensBefore, tokensAfter } of made)
      expect(tokensAfter).toBeLessThan(tokensBefore);
    expect(upstream.refusals.invalid).toEqual([]);
  });

  test("toolBudgetExceeded: canExecuteTool() returns false, tool outputs are replaced with failure messages, and a final turn asks for agent__final_report", async () => {
    const plimsoll = await fresh();
    const ids = Array.from({ length: 30 }, (_, index) => `toolu_${index}`);
    const { anthropic, upstream } = await provider(
      ids.map((id) => call(id, "read_file", {})),
      [call("toolu_last", "agent__final_report", { report: "It is a file." })],
    );
    const heard: unknown[] = [];
    plimsoll.on("guard-enforced", ({ action, reason }) => heard.push([action, reason]));
    const random = diceOf(3);
    const session = await plimsoll.session();
    await session.append({ role: "user", content: prose(random, 4_500) });
    const turn = await session.prepare({ target, tools });
    const answer = await anthropic.messages.create(turn.request);
    await session.commit(answer);
    const kinds: string[] = [];
    for (const asked of turn.toolCalls(answer)) {
      const isFree = session.toolBudget.canExecute(asked.name);
      const grant = session.toolBudget.reserve(asked, prose(random, 800));
      kinds.push(grant.kind);
      if (!isFree) expect(grant.kind).toBe("denied");
      await session.append(grant.message);
    }
    const first = kinds.indexOf("denied");
    expect(first).toBeGreaterThan(1);
    expect(new Set(kinds.slice(first))).toEqual(new Set(["denied"]));
    expect(session.toolBudget.isExceeded).toBe(true);

    // A request that was never answered is prepared again: it is still the last.
    await session.prepare({ target, tools });
    const last = await session.prepare({ target, tools });
    expect(last.outcome.kind).toBe("final");
    expect(names(last)).toEqual(["agent__final_report"]);
    const words = JSON.stringify((last.request["messages"] as Json[]).at(-1));
    expect(words).toContain("Call agent__final_report now");
    expect(words).not.toMatch(/compact_context|Do not call/);
    expect(session.toolBudget.canExecute("read_file")).toBe(false);
    const report = await anthropic.messages.create(last.request);
    await session.commit(report);
    expect(heard).toContainEqual(["final", "context"]);
    const [done] = last.toolCalls(report) as [ToolCallPart];
    expect(session.toolBudget.canExecute(done.name)).toBe(true);
    await session.append(session.toolBudget.reserve(done, "ok").message);
    const more = { kind: "text", text: "And now something else." } as const;
    await session.append({ role: "user", parts: [more] });

    const after = await session.prepare({ target, tools });
    expect(after.outcome.kind).not.toBe("final");
    expect(names(after)).toContain("read_file");
    await session.commit(await anthropic.messages.create(after.request));
    expect(upstream.refusals.invalid).toEqual([]);
  });

  test("what the model compacts, searches and looks up itself is answered in the session", async () => {
    const plimsoll = await fresh();
    const { anthropic, upstream } = await provider();
    const random = diceOf(4);
    const session = await plimsoll.session();
    for (let index = 0; index < 7; index++) {
      const secret = index === 2 ? "The harbour master keeps the key under the blue anchor." : "";
      await session.append({
        role: "user",
        content: `${prose(random, 400)} ${secret} ${prose(random, 400)}`,
      });
      const turn = await session.prepare({ target, tools });
      await session.commit(await anthropic.messages.create(turn.request));
    }
    const before = session.toolBudget.remaining;
    const smaller = await session.answer(ownCall("compact_context", {}));
    expect(smaller?.text).toMatch(/^Compacted: \d+ → \d+ tokens, \d+ → \d+ messages/);
    // What is older was never in the way of results: only the answer itself takes of their room.
    const taken = before - session.toolBudget.remaining;
    expect(taken).toBeLessThan(session.toolBudget.countTokens(smaller?.text ?? "") + 10);
    const nothing = await session.answer(ownCall("compact_context", {}));
    expect(nothing?.text).toContain("nothing to take out");
    const found = await session.answer(ownCall("recall", { query: "key of the harbour master" }));
    expect(found?.text).toContain("under the blue anchor");
    expect(found).toEqual({
      text: found?.text,
      isError: false,
      message: {
        role: "tool",
        parts: [
          {
            kind: "tool-result",
            callId: "toolu_own",
            name: "recall",
            content: [{ kind: "text", text: found?.text }],
            isError: false,
          },
        ],
      },
    });
    expect(upstream.refusals.invalid).toEqual([]);
  });
});

test("answers that are asked for at once never take more than is left", async () => {
  const plimsoll = await openPlimsoll({ config, store: "memory" });
  open.push(plimsoll);
  const { anthropic } = await provider([call("toolu_1", "read_file", {})]);
  const session = await plimsoll.session();
  await session.append({ role: "user", content: prose(diceOf(5), 2_000) });
  const handle = await oneHandle(session, anthropic);
  const before = session.toolBudget.remaining;
  const answers = await Promise.all(
    Array.from({ length: 12 }, () =>
      session.answer(ownCall("read_result", { ref_id: handle, limit: 20_000 })),
    ),
  );
  expect(answers.filter((given) => given?.isError === false).length).toBeGreaterThan(1);
  const taken = answers
    .filter((given) => given?.isError === false)
    .reduce((sum, given) => sum + session.toolBudget.countTokens(given?.text ?? ""), 0);
  expect(taken).toBeLessThan(before);
  expect(answers.at(-1)?.isError).toBe(true);
});

const roomBesideAnAnswer = model.contextWindow - model.maxOutputTokens;

test("whatever the tools give: what was granted fits into the next turn, and only what was exceeded ends it", async () => {
  const plimsoll = await openPlimsoll({ config, store: "memory" });
  open.push(plimsoll);
  const outcomes = new Set<string>();
  for (let seed = 1; seed <= 24; seed++) {
    const random = diceOf(seed);
    const session = await plimsoll.session();
    await session.append({ role: "user", content: prose(random, 100 + random() * 6_200) });
    await session.prepare({ target, tools });
    const ids = Array.from(
      { length: 1 + Math.floor(random() ** 2 * 60) },
      (_, index) => `toolu_${index}`,
    );
    const content = ids.map((id) => ({ type: "tool_use", id, name: "shell", input: {} }));
    const usage = { input_tokens: 0, output_tokens: 0 };
    const stop_reason = "tool_use";
    await session.commit({
      id: "m",
      type: "message",
      role: "assistant",
      content,
      stop_reason,
      usage,
    });
    const before = session.toolBudget.remaining;
    let granted = 0;
    for (const id of ids) {
      const output = prose(random, random() < 0.3 ? 30 : random() * 2_000);
      const grant = session.toolBudget.reserve({ id, name: "shell" }, output);
      granted += grant.tokens;
      await session.append(grant.message);
    }
    expect(granted).toBeLessThanOrEqual(before);
    const { isExceeded } = session.toolBudget;
    const next = await session.prepare({ target, tools });
    expect(next.outcome.kind === "final").toBe(isExceeded);
    if (!isExceeded) expect(next.outcome.tokensAfter).toBeLessThanOrEqual(roomBesideAnAnswer);
    outcomes.add(next.outcome.kind);
  }
  // None is compacted: there is nothing old, and results are seen whole before they are shortened.
  expect([...outcomes].toSorted()).toEqual(["edited", "final", "passthrough"]);
});

test("tools that may not be used are not offered, and a call of one is denied without ending anything", async () => {
  const plimsoll = await openPlimsoll({ config, store: "memory" });
  open.push(plimsoll);
  const session = await plimsoll.session();
  await session.append({ role: "user", content: "Go." });
  const only = await session.prepare({ target, tools, toolsAllowed: ["read_*"] });
  expect(names(only)).toEqual(["read_file"]);
  const turn = await session.prepare({ target, tools, toolsDenied: ["shell"] });
  expect(names(turn)).toEqual(["read_file"]);
  expect(turn.measurement.tools).toBeLessThan(
    (await session.prepare({ target, tools })).measurement.tools,
  );
  await session.prepare({ target, tools, toolsDenied: ["shell"] });
  expect(session.toolBudget.canExecute("shell")).toBe(false);
  expect(session.toolBudget.canExecute("read_file")).toBe(true);
  const denied = session.toolBudget.reserve({ id: "toolu_1", name: "shell" }, "rm -rf");
  expect(denied).toMatchObject({ kind: "denied", reason: "rules", tokens: 0 });
  expect(denied.message.parts).toMatchObject([{ callId: "toolu_1", isError: true }]);
  expect(session.toolBudget.isExceeded).toBe(false);
});

test("a client's own read_result stays the client's, and ours go by another name", async () => {
  const plimsoll = await openPlimsoll({
    config: { ...config, own_tools: "first-request" },
    store: "memory",
  });
  open.push(plimsoll);
  const session = await plimsoll.session();
  expect(await session.answer(ownCall("read_result", {}))).toBeNull();
  await session.append({ role: "user", content: "Go." });
  const theirs = { name: "read_result", description: "Ours.", parameters: { type: "object" } };
  const turn = await session.prepare({ target, tools: [theirs] });
  expect(names(turn)).toEqual([
    "read_result",
    "plimsoll_read_result",
    "plimsoll_recall",
    "plimsoll_compact_context",
  ]);
  expect(await session.answer(ownCall("read_result", { ref_id: "x" }))).toBeNull();
  expect(await session.answer(ownCall("plimsoll_read_result", {}))).toMatchObject({
    isError: true,
  });
  const forced = { tool_choice: { type: "tool", name: "read_result" } };
  expect(names(await session.prepare({ target, tools: [theirs], extra: forced }))).toEqual([
    "read_result",
  ]);
  expect(names(await session.prepare({ target }))).toEqual([]);
});

test.each([
  ["openai-chat", { target: "openai/small" }],
  ["openai-responses", { target: "openai/small", wire: "openai-responses" }],
] as const)(
  "on %s, too, a large result among small ones is a reference",
  async (_wire, options) => {
    const plimsoll = await openPlimsoll({ config, store: "memory" });
    open.push(plimsoll);
    const session = await plimsoll.session();
    await session.append({ role: "user", content: "Go." });
    await session.prepare({ ...options, tools });
    const calls = ["a", "b", "c"].map((id) => ({
      kind: "tool-call",
      id,
      name: "shell",
      input: "{}",
    }));
    await session.append({ role: "assistant", parts: calls } as never);
    const outputs = ["small", { rows: Array.from({ length: 9_000 }, (_, row) => row) }, "tiny"];
    for (const [index, output] of outputs.entries()) {
      const id = calls[index]?.id ?? "";
      await session.append(session.toolBudget.reserve({ id, name: "shell" }, output).message);
    }
    const turn = await session.prepare({ ...options, tools });
    const body = JSON.stringify(turn.request);
    const [handle = ""] = /pl_[0-9A-Za-z]{22}/.exec(body) ?? [];
    expect(body).toContain("small");
    expect(body).toContain("tiny");
    expect(body).not.toContain("8998,8999");
    expect(JSON.parse(await wholeOf(session, handle, { ...options, tools }))).toEqual(outputs[1]);
  },
);

test("references stand after a restart, and when another wire goes on", async () => {
  const data = join(folder, "restart");
  const before = await openPlimsoll({ config, data });
  const { anthropic } = await provider([call("toolu_1", "read_file", {})]);
  const session = await before.session();
  await session.append({ role: "user", content: "Go." });
  const handle = await oneHandle(session, anthropic);
  await before.close();
  const after = await openPlimsoll({ config, data });
  open.push(after);
  const resumed = await after.session(session.id);
  await resumed.append({ role: "user", content: "And?" });
  const turn = await resumed.prepare({ target: "openai/small", tools });
  expect(JSON.stringify(turn.request["messages"])).toContain(handle);
  expect(names(turn)).toContain("read_result");
  expect((await wholeOf(resumed, handle)) === large).toBe(true);
});

const large = prose(diceOf(9), 9_000);

/** One turn in which a tool gives too much, up to the answer that has seen its reference. */
async function oneHandle(
  session: Session,
  anthropic: Awaited<ReturnType<typeof provider>>["anthropic"],
): Promise<string> {
  const turn = await session.prepare({ target, tools });
  const answer = await anthropic.messages.create(turn.request);
  await session.commit(answer);
  const [asked] = turn.toolCalls(answer) as [ToolCallPart];
  await session.append(session.toolBudget.reserve(asked, large).message);
  const next = await session.prepare({ target, tools });
  await session.commit(await anthropic.messages.create(next.request));
  return /pl_[0-9A-Za-z]{22}/.exec(JSON.stringify(next.request))?.[0] ?? "";
}

function ownCall(name: string, input: Json): ToolCallPart {
  return { kind: "tool-call", id: "toolu_own", name, input: JSON.stringify(input) };
}

/** The names of the tools of a request, on any wire. */
function names({ request }: { readonly request: Json }): readonly unknown[] {
  const given = (request["tools"] ?? []) as readonly {
    name?: string;
    function?: { name: string };
  }[];
  return given.map((tool) => tool.name ?? tool.function?.name);
}

/** All pages of a handle, put together. Each turn has room for some of them. */
async function wholeOf(
  session: Session,
  handle: string,
  options: Parameters<Session["prepare"]>[0] = { target, tools },
): Promise<string> {
  const pages: string[] = [];
  let offset = 0;
  for (let page = 0; page < 100; page++) {
    await session.prepare(options);
    const given = await session.answer(ownCall("read_result", { ref_id: handle, offset }));
    const [, head = "", content = ""] = /^(\[[^\n]*\])\n([\s\S]*)$/.exec(given?.text ?? "") ?? [];
    pages.push(content);
    const next = /next offset (\d+)/.exec(head)?.[1];
    if (next === undefined) break;
    offset = Number(next);
  }
  return pages.join("");
}

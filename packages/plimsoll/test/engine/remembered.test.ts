/** What a session remembers is stored at the moment that matters: whoever closes, evicts or comes late loses nothing of it. */

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { type Engine, type EngineOptions, openEngine } from "../../src/engine.ts";
import type { Session } from "../../src/session/library/session.ts";
import { mcpTools } from "../harness/tool-catalogue.ts";

const folders: string[] = [];
const engines: Engine[] = [];
const servers: Server[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const target = "anthropic/small";
const small = {
  contextWindow: 14_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "approximate",
};
const providers = { anthropic: { models: { small } } };

function freshFolder(): string {
  const data = mkdtempSync(join(tmpdir(), "plimsoll-remembered-"));
  folders.push(data);
  return data;
}

async function open(data: string, options: EngineOptions = {}): Promise<Engine> {
  const engine = await openEngine({ data, config: { providers }, ...options });
  engines.push(engine);
  return engine;
}

const usage = { input_tokens: 3000, output_tokens: 20 };

async function say(session: Session, number: number): Promise<string> {
  await session.append({ role: "user", content: `Question ${number}: what of berth_${number}?` });
  const { outcome } = await session.prepare({ target });
  const text = `Week ${number}. ${"It was grey, and nothing moved in the harbour. ".repeat(18)}`;
  await session.commit({
    role: "assistant",
    stop_reason: "end_turn",
    content: [{ type: "text", text }],
  });
  return outcome.kind;
}

test("a milestone holds when the product closes in the middle of the turn that would take it", async () => {
  const data = freshFolder();
  const engine = await open(data);
  const session = await engine.session();
  for (let number = 0; number < 8; number++) await say(session, number);
  await session.milestone({ reason: "Done." });
  const closed = new Promise<void>((resolve) => {
    engine.subscribe(({ event }) => {
      if (event.type === "context-breaking-update" && event.phase === "recovery")
        resolve(engine.close());
    });
  });
  await session.append({ role: "user", content: "Next" });
  await expect(session.prepare({ target })).rejects.toMatchObject({ code: "CLOSED" });
  await closed;
  const again = await (await open(data)).session(session.id);
  expect(await say(again, 9)).toBe("recovered");
});

test("tools that a search found are stored before anybody goes on", async () => {
  const data = freshFolder();
  const engine = await open(data);
  const session = await engine.session();
  const tools = mcpTools(60);
  await session.append({ role: "user", content: "Find it." });
  const prepared = await session.prepare({ target, tools });
  const input = { query: tools[7]?.description ?? "" };
  const call = { type: "tool_use", id: "t1", name: "tool_search", input };
  const response = { role: "assistant", stop_reason: "tool_use", content: [call], usage };
  await session.commit(response);
  for (const one of prepared.toolCalls(response)) await session.answer(one);
  const stored = (await engine.store.snapshot(session.id))?.memories.get("main");
  expect(stored).toMatchObject({ found: { names: expect.arrayContaining([expect.any(String)]) } });
});

/** A model that answers when it is told to. */
async function slowModel(): Promise<{
  readonly baseUrl: string;
  readonly asked: ServerResponse[];
}> {
  const asked: ServerResponse[] = [];
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => asked.push(response));
  });
  servers.push(server);
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}

test("a summary that a model writes late takes nothing back", async () => {
  const { baseUrl, asked } = await slowModel();
  process.env["PLIMSOLL_TEST_KEY"] = "key";
  const summariser = {
    provider: "compatible",
    model: "tiny",
    baseUrl,
    apiKeyEnv: "PLIMSOLL_TEST_KEY",
    timeoutMs: 60_000,
  } as const;
  const config = { providers, summariser };
  const engine = await open(freshFolder(), { config, parts: { sessionsInMemory: 0 } });
  const session = await engine.session();
  const sayAndEvict = async (number: number): Promise<void> => {
    await say(session, number);
    await engine.session();
    await wait(10);
  };
  let number = 0;
  while (asked.length === 0 && number < 80) await sayAndEvict(number++);
  await sayAndEvict(number++);
  await engine.steering.milestone(session.id, { reason: "Done." });
  const before = await engine.store.snapshot(session.id);
  const prepared = new Promise<void>((resolve) => {
    engine.on("summary-prepared", () => resolve());
  });
  const message = {
    role: "assistant",
    content: "## Answered\n- #1 noted: Question 0: what of berth_0?",
  };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  asked[0]?.writeHead(200, { "content-type": "application/json" });
  asked[0]?.end(JSON.stringify({ id: "c", object: "chat.completion", model: "tiny", choices }));
  await prepared;
  const after = await engine.store.snapshot(session.id);
  expect(asked).toHaveLength(1);
  expect(after?.branches.map(({ tipSeq }) => tipSeq)).toEqual(
    before?.branches.map(({ tipSeq }) => tipSeq),
  );
  expect(after?.memories.get("main")).toMatchObject({ mustRecover: "Done.", summary: {} });
});

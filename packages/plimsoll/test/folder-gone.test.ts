/** The data folder of a running service is deleted, replaced, or locked by another process: people are told, agents go on. */

import { existsSync, renameSync, rmSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import type { JsonObject } from "./harness/json.ts";
import { handlesIn } from "./harness/kept.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import {
  makeDataFolder,
  readEdits,
  readLog,
  type Service,
  startService,
} from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually } from "./harness/waiting.ts";

const LIMIT_MS = 20_000;
let upstream: Upstream;
let service: Service;
let data: string;
let history: JsonObject[];
let session: string;

beforeEach(async () => {
  data = await makeDataFolder();
  history = [];
  let answers = 0;
  upstream = await startUpstream({ script: () => reply(text(`Answer ${++answers}.`)) });
  const settings = {
    contextWindow: 2500,
    maxOutputTokens: 1000,
    contextWindowBufferTokens: 50,
    tokenizer: "tiktoken:o200k_base",
  };
  service = await startService({
    upstreams: {},
    data,
    config: { providers: { anthropic: { baseUrl: upstream.url, ...settings } } },
  });
});
afterEach(async () => {
  await service.kill("SIGKILL");
  await upstream.close();
  for (const folder of [data, `${data}-away`]) rmSync(folder, { recursive: true, force: true });
});

/** A turn of a conversation that grows; the upstream answers whatever comes. */
async function takeTurn(words: number): Promise<number> {
  const content = `Message ${history.length}: ${"lorem ipsum dolor ".repeat(words)}`;
  history.push({ role: "user", content });
  const body = bodyOf("anthropic", history);
  const { status, message, sessionId } = await ask(service.url, { wire: "anthropic", body });
  history.push(message);
  session = sessionId === "" ? session : sessionId;
  return status;
}

async function health(): Promise<{ readonly status: number; readonly body: JsonObject }> {
  const response = await fetch(`${service.url}/healthz`);
  return { status: response.status, body: (await response.json()) as JsonObject };
}

const gone = {
  status: 503,
  body: {
    status: "failing",
    problems: [
      expect.stringContaining("plimsoll.db was deleted or replaced while Plimsoll was running"),
    ],
  },
};

test("a folder that is gone is said at once, no edit is made meanwhile, and all is stored when it is back", async () => {
  await takeTurn(10);
  expect(await health()).toMatchObject({ status: 200, body: { status: "ok" } });
  renameSync(data, `${data}-away`);
  const before = upstream.requests.length;
  const statuses = [
    await takeTurn(10),
    await takeTurn(200),
    await takeTurn(200),
    await takeTurn(200),
  ];
  expect(statuses).toEqual([200, 200, 200, 200]);
  expect(await health()).toMatchObject(gone);
  expect(service.stderr).toMatch(/not stored, will be retried: .* was deleted or replaced/);
  const sent = upstream.requests.slice(before).map(({ body }) => body.toString("utf8"));
  expect(sent.flatMap((body) => handlesIn(body))).toEqual([]);
  expect(existsSync(data)).toBe(false);

  renameSync(`${data}-away`, data);
  await takeTurn(10);
  expect(await health()).toMatchObject({ status: 200, body: { status: "ok" } });
  const log = await readLog(service, session);
  expect(log.map(({ message }) => message)).toHaveLength(history.length);
  // What was put off is done now.
  expect((await readEdits(service, session)).length).toBeGreaterThan(0);
});

test("another folder in its place is left alone, and said", async () => {
  await takeTurn(10);
  await cp(data, `${data}-away`, { recursive: true });
  rmSync(data, { recursive: true });
  renameSync(`${data}-away`, data);
  expect([await takeTurn(10), await takeTurn(10)]).toEqual([200, 200]);
  expect(await health()).toMatchObject(gone);
  const copy = new Database(join(data, "plimsoll.db"), { readonly: true });
  expect(copy.prepare("SELECT count(*) AS stored FROM messages").get()).toEqual({ stored: 2 });
  copy.close();
});

test("a locked database holds nobody up for longer than one wait, and all is stored when it is free", async () => {
  await takeTurn(10);
  const other = new Database(join(data, "plimsoll.db"));
  other.exec("BEGIN IMMEDIATE");
  const others = Array.from({ length: 4 }, (_, index) =>
    ask(service.url, {
      wire: "anthropic",
      body: bodyOf("anthropic", [{ role: "user", content: `Somebody else, ${index}.` }]),
    }),
  );
  const answers = await Promise.all(others);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(await takeTurn(10)).toBe(200);
  // Those behind the first do not wait until the service gives up on the disk.
  expect(service.stderr).toMatch(/is locked by another process/);
  expect(service.stderr).not.toMatch(/has not answered/);
  expect((await health()).status).toBe(503);
  other.exec("COMMIT");
  other.close();
  await takeTurn(10);
  await eventually(LIMIT_MS, "everything to be stored", async () =>
    (await health()).status === 200 ? true : undefined,
  );
  expect(await readLog(service, session)).toHaveLength(history.length);
});

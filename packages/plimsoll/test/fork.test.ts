/** Fork and diff from outside: over HTTP and from the command line, with a running service and without one. */

import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import type { JsonObject } from "./harness/json.ts";
import { type Asked, ask, bodyOf } from "./harness/raw-client.ts";
import {
  makeDataFolder,
  OWNER_TOKEN,
  type Service,
  type SessionSummary,
  startService,
} from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { prose } from "./harness/words.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
let upstream: Upstream;
let service: Service;
let data: string;
let session: string;
const history: JsonObject[] = [];
const sent: string[] = [];

beforeAll(async () => {
  upstream = await startUpstream({
    script: ({ body }) => {
      sent.push(JSON.stringify(body));
      return reply(text("Noted."));
    },
  });
  data = await makeDataFolder();
  service = await startService({
    upstreams: {},
    data,
    config: { providers: { anthropic: { baseUrl: upstream.url } } },
  });
  const random = diceOf(23);
  for (let turn = 0; turn < 10; turn++) {
    history.push({ role: "user", content: `Number ${turn}. ${prose(random, 120)}` });
    const asked = await say("the talk", history);
    session = asked.sessionId;
    history.push(asked.message);
  }
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
  await rm(data, { recursive: true, force: true });
});

function say(name: string, messages: readonly JsonObject[]): Promise<Asked> {
  return ask(service.url, {
    wire: "anthropic",
    body: bodyOf("anthropic", [...messages]),
    headers: { "x-plimsoll-session": name },
  });
}

async function post(path: string, body: JsonObject): Promise<{ status: number; body: JsonObject }> {
  const response = await fetch(`${service.url}/api/sessions/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
}

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(...words: readonly string[]): Promise<Ran> {
  return runAs(OWNER_TOKEN, words);
}

function runAs(token: string, words: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [program, ...words, "--data", data],
      { env: childEnvironment({ PLIMSOLL_TOKEN: token }) },
      (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
    );
  });
}

async function sessionIds(): Promise<readonly string[]> {
  const { items } = await service.api<{ items: readonly SessionSummary[] }>("/api/sessions");
  return items.map(({ id }) => id);
}

test("POST …/fork makes a new session, and each of the two goes on under its own name", async () => {
  const { status, body } = await post(`${session}/fork`, { message: 6 });
  expect([status, body["messages"], body["from"]]).toEqual([200, 6, session]);
  const id = String(body["id"]);
  expect(await sessionIds()).toContain(id);

  const another = [...history.slice(0, 6), { role: "user", content: "Another way." }];
  expect((await say(id, another)).sessionId).toBe(id);
  // The client of the first session knows nothing of the fork.
  const onward = [...history, { role: "user", content: "Onward." }];
  expect((await say("the talk", onward)).sessionId).toBe(session);
  const log = await service.api<{ items: readonly JsonObject[] }>(`/api/sessions/${id}/log`);
  expect(JSON.stringify(log.items)).toContain("Another way.");
  expect(JSON.stringify(log.items)).not.toContain("Onward.");
});

test("a client that names no session stays in its own, whatever was forked from it", async () => {
  const sayUnnamed = (messages: readonly JsonObject[]): Promise<Asked> =>
    ask(service.url, {
      wire: "anthropic",
      body: bodyOf("anthropic", [...messages]),
      apiKey: "key-unnamed",
    });
  const messages: JsonObject[] = [{ role: "user", content: "Which harbour is the deepest?" }];
  const first = await sayUnnamed(messages);
  messages.push(first.message, { role: "user", content: "And the second deepest?" });
  await post(`${first.sessionId}/fork`, {});
  expect((await sayUnnamed(messages)).sessionId).toBe(first.sessionId);
});

test("a fork of an unknown session or point gets a clear sentence", async () => {
  const gone = await post("ses_0000000000000000000000/fork", {});
  expect([gone.status, JSON.stringify(gone.body)]).toEqual([
    404,
    expect.stringContaining("There is no such session; it may have been deleted before."),
  ]);
  const point = await post(`${session}/fork`, { checkpoint: "cp_99" });
  expect([point.status, JSON.stringify(point.body)]).toEqual([
    404,
    expect.stringContaining("There is no checkpoint cp_99 in this session."),
  ]);
});

test("a command with another token than the service's gets a clear sentence", async () => {
  const { code, stderr } = await runAs("another-token-0123456789abcdefghijklmn", ["fork", session]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("was started with another token")]);
});

test("plimsoll fork and plimsoll diff, beside a running service and on the folder alone", async () => {
  const whole = await run("fork", session);
  expect(whole, whole.stderr).toMatchObject({ code: 0 });
  expect(await sessionIds()).toContain(whole.stdout.trim());
  expect(whole.stderr).toContain(`of ${session} up to #`);

  const nothing = await run("diff", session);
  expect(nothing.stdout).toMatch(/messages as before/);
  await post(`${session}/compact`, { keep: "lastTwo" });
  const compacted = await run("diff", session);
  expect(compacted.stdout).toMatch(/^\d+ tokens in \d+ messages → \d+ tokens in \d+ messages\n/);
  expect(compacted.stdout).toMatch(/^- user:\n- {3}Number 3\./m);
  expect(JSON.parse((await run("diff", session, "--json")).stdout)).toHaveProperty("rows");

  const point = await run("fork", session, "#999");
  expect([point.code, point.stderr]).toEqual([1, expect.stringContaining("no message 999")]);
  const word = await run("fork", session, "yesterdayish");
  expect([word.code, word.stderr]).toEqual([2, expect.stringContaining("a message (#17)")]);
  const unknown = await run("fork", "ses_0000000000000000000000");
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("no session")]);

  const before = await run("diff", session);
  await service.stop();
  const after = await run("diff", session);
  expect(after.stdout).toBe(before.stdout);
  const alone = await run("fork", session, "#4", "--json");
  expect(JSON.parse(alone.stdout)).toMatchObject({ from: session, messages: 4, last: 4 });
  const log = await run("log", JSON.parse(alone.stdout).id as string);
  expect(log.stdout).toContain("Number 1.");
  expect(log.stdout).not.toContain("Number 2.");
});

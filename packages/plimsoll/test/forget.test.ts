/**
 * Deleting sessions through the running service and from the command line: no byte of a session stays in any file of the data
 * folder, and another session goes on as if nothing had happened.
 */

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { type Answer, reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import type { JsonObject } from "./harness/json.ts";
import { runInTerminal } from "./harness/pseudo-terminal.ts";
import { type Asked, ask, bodyOf } from "./harness/raw-client.ts";
import {
  makeDataFolder,
  OWNER_TOKEN,
  readLog,
  readSessions,
  type Service,
  startService,
} from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { prose } from "./harness/words.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const model = {
  contextWindow: 40_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
const tools = [{ name: "look", description: "Looks.", input_schema: { type: "object" } }];

/** Random, so that it occurs nowhere by chance, and so that no compression can shorten it. */
const planted: string[] = [];
function secret(): string {
  planted.push(`pw${randomBytes(12).toString("hex")}`);
  return planted.at(-1) ?? "";
}
const secrets = (count: number): string =>
  Array.from({ length: count }, () => `The password is ${secret()} here.`).join("\n");

let upstream: Upstream;
let service: Service;
let data: string;
/** The model's next answers. Without one, it says that it has understood. */
const script: Answer[] = [];

const start = (folder: string): Promise<Service> =>
  startService({
    upstreams: {},
    data: folder,
    config: {
      providers: { anthropic: { baseUrl: upstream.url, models: { "claude-sonnet-4-6": model } } },
    },
  });

beforeAll(async () => {
  upstream = await startUpstream({
    script: () => script.shift() ?? reply(text("Noted, and on to the next.")),
  });
  data = await makeDataFolder();
  service = await start(data);
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
  await rm(data, { recursive: true, force: true });
});

/** A client that sends its whole conversation every time. */
class Talk {
  readonly history: JsonObject[] = [];
  readonly #name: string;
  readonly #system: string;
  readonly #random: ReturnType<typeof diceOf>;
  session = "";
  #calls = 0;

  constructor(name: string, system: string, seed: number) {
    this.#name = name;
    this.#system = system;
    this.#random = diceOf(seed);
  }

  async send(to: Service = service, fields: JsonObject = {}): Promise<Asked> {
    const body = bodyOf("anthropic", [...this.history], fields);
    const asked = await ask(to.url, {
      wire: "anthropic",
      body: { ...body, system: this.#system, tools },
      headers: { "x-plimsoll-session": this.#name },
    });
    this.session = asked.sessionId;
    return asked;
  }

  async say(words: string): Promise<Asked> {
    this.history.push({ role: "user", content: words });
    const asked = await this.send();
    expect(asked.status, asked.answer).toBe(200);
    this.history.push(asked.message);
    return asked;
  }

  /** A question, a call with these arguments, and its result. */
  async call(argument: string, result: string): Promise<Asked> {
    const id = `toolu_${this.#name.slice(0, 4)}_${this.#calls++}`;
    this.history.push(
      { role: "user", content: `Look at ${this.#calls}.` },
      { role: "assistant", content: [{ type: "tool_use", id, name: "look", input: { argument } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] },
    );
    const asked = await this.send();
    expect(asked.status, asked.answer).toBe(200);
    this.history.push(asked.message);
    return asked;
  }

  /** Until Plimsoll has compacted the conversation. */
  async fill(): Promise<void> {
    for (let turn = 0; turn < 40; turn++) {
      const asked = await this.say(prose(this.#random, 2_500));
      if (asked.headers.get("x-plimsoll-action") === "compacted") return;
    }
    throw new Error("40 turns, and no compaction.");
  }
}

function filesOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Which of these words occur in the bytes of which file. */
function found(folder: string, words: readonly string[]): readonly string[] {
  return filesOf(folder).flatMap((file) => {
    const bytes = readFileSync(file, "latin1");
    return words.filter((word) => bytes.includes(word)).map((word) => `${word} in ${file}`);
  });
}

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(...words: readonly string[]): Promise<Ran> {
  const env = childEnvironment({ PLIMSOLL_TOKEN: OWNER_TOKEN });
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, ...words, "--data", data],
      { env, timeout: 30_000 },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

async function api(
  method: string,
  path: string,
  body?: JsonObject,
): Promise<{ readonly status: number; readonly body: JsonObject }> {
  const response = await fetch(`${service.url}/api/${path}`, {
    method,
    headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
}

const idsNow = async (): Promise<readonly string[]> =>
  (await readSessions(service)).map(({ id }) => id);

/** Puts secrets wherever a conversation can carry them. */
async function plant(): Promise<Talk> {
  const talk = new Talk(`talk-${secret()}`, `You are careful.\n${secrets(4)}`, 3);
  await talk.say(`My title is ${secret()}.`);
  await talk.say(secrets(6));
  script.push(reply(text(`I shall remember.\n${secrets(4)}`)));
  await talk.say("What do you remember?");
  await talk.call(secrets(4), secrets(4));
  // So large that Plimsoll replaces it by a reference.
  const noise = diceOf(9);
  const large = Array.from({ length: 4 }, () => `${prose(noise, 9_000)}\n${secrets(1)}`).join("\n");
  await talk.call("the large file", large);
  script.push({
    kind: "failure",
    status: 400,
    body: {
      type: "error",
      error: { type: "invalid_request_error", message: `No: ${secret()} and ${secret()}.` },
    },
  });
  talk.history.push({ role: "user", content: "Go on." });
  expect((await talk.send()).status).toBe(400);
  talk.history.pop();
  await talk.fill();
  await talk.say(secrets(2));
  expect(
    (await api("POST", `sessions/${talk.session}/checkpoint`, { label: secrets(2) })).status,
  ).toBe(200);
  const task = `${secret()} ${secret()}`;
  expect((await api("POST", `sessions/${talk.session}/reset`, { task })).status).toBe(200);
  await talk.call(secrets(2), secrets(2));
  const search = await api("GET", `search?session=${talk.session}&q=password`);
  expect(JSON.stringify(search.body)).toContain("password");
  return talk;
}

describe("a session with forty secrets, and another with the same words otherwise", () => {
  let one: Talk;
  let other: Talk;
  let twin: Service;
  let twinData: string;
  const marker = "the harbour of Nykøbing";

  beforeAll(async () => {
    one = await plant();
    other = new Talk("other", "You are careful.", 3);
    await other.say(`Remember ${marker}.`);
    await other.call("the large file", prose(diceOf(9), 9_000));
    await other.fill();
    await other.say("Go on.");
    // The same data without a deletion: what the other session would have sent.
    await service.kill("SIGTERM");
    twinData = await makeDataFolder();
    cpSync(data, twinData, { recursive: true });
    [service, twin] = await Promise.all([start(data), start(twinData)]);
  });
  afterAll(async () => {
    await twin.stop();
    await rm(twinData, { recursive: true, force: true });
  });

  test("the secrets are in the files, until the session is forgotten", async () => {
    expect(planted).toHaveLength(40);
    // The others are in compressed bodies.
    expect(found(data, planted).length).toBeGreaterThan(20);
    const before = await readLog(service, other.session);
    const held = await api("GET", `sessions/${one.session}/holdings`);
    expect(held.body).toMatchObject({ sessions: 1 });
    const unasked = await run("forget", one.session);
    expect(unasked).toMatchObject({ code: 2, stdout: "" });
    expect(unasked.stderr).toMatch(/This would delete 1 session, \d+ messages, .* add --yes\.$/m);
    expect(await idsNow()).toContain(one.session);

    const { code, stdout, stderr } = await run("forget", one.session, "--yes");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /^Deleted: 1 session, \d\d messages, [1-9]\d* archive entr(?:y|ies), [\d.]+ kB\.\n$/,
    );
    expect(found(data, planted)).toEqual([]);
    expect(await idsNow()).toEqual([other.session]);
    expect(await readLog(service, other.session)).toEqual(before);
    for (const path of ["", "/log", "/view", "/holdings"])
      expect((await api("GET", `sessions/${one.session}${path}`)).status).toBe(404);
    expect(JSON.stringify((await api("GET", `errors?session=${one.session}`)).body)).toBe(
      '{"items":[]}',
    );
  });

  test("the other session's next turn has the bytes that it would have had", async () => {
    other.history.push({ role: "user", content: "And now?" });
    const sent: string[] = [];
    for (const to of [twin, service]) {
      const asked = await other.send(to);
      expect([asked.status, asked.headers.get("x-plimsoll-action")]).toEqual([200, "edited"]);
      sent.push(upstream.requests.at(-1)?.body.toString("utf8") ?? "");
    }
    expect(sent[0]).toContain(marker);
    expect(sent[1] === sent[0]).toBe(true);
  });

  test("reports, lists and a restart bring nothing of it back", async () => {
    const report = join(data, "report.html");
    expect((await run("report", other.session, "--html", report)).code).toBe(0);
    expect(readFileSync(report, "utf8").length).toBeGreaterThan(1000);
    await service.kill("SIGTERM");
    service = await start(data);
    expect(found(data, planted)).toEqual([]);
    const listed = await run("sessions", "--json");
    expect(listed.stdout).toContain(other.session);
    expect(listed.stdout).not.toContain(one.session);
  });

  test("it cannot be deleted twice, and no unknown session can be deleted", async () => {
    for (const id of [one.session, "ses_AAAAAAAAAAAAAAAAAAAAAA"]) {
      const again = await run("forget", id, "--yes");
      expect(again.code).toBe(1);
      expect(again.stderr).toMatch(/There is no session ses_\w+; it may have been deleted before/);
      expect(await api("DELETE", `sessions/${id}`)).toMatchObject({
        status: 404,
        body: { error: { code: "SESSION_UNKNOWN" } },
      });
    }
    const wrong = await run("forget", "--yes");
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(/Say what to forget/);
    expect((await run("forget", "--older-than", "soon", "--yes")).code).toBe(2);
    expect(await idsNow()).toEqual([other.session]);
  });

  test("its client that comes again begins a new session", async () => {
    const before = one.session;
    one.history.push({ role: "user", content: "Are you still there?" });
    expect((await one.send()).status).toBe(200);
    expect(one.session).not.toBe(before);
    expect((await idsNow()).toSorted()).toEqual([one.session, other.session].toSorted());
  });
});

describe("a turn that is running", () => {
  test("ends for its client, and nothing of it is recorded", async () => {
    const talk = new Talk("running", "Short.", 5);
    const marks = [secret(), secret(), secret()];
    await talk.say(`First: ${marks[0]}.`);
    const deleted = talk.session;
    script.push({
      ...reply(text(...Array.from({ length: 20 }, () => "slow "), `${marks[1]}.`)),
      delayBetweenEventsMs: 100,
    });
    const arrival = upstream.received(upstream.requests.length + 1);
    talk.history.push({ role: "user", content: `Second: ${marks[2]}.` });
    const running = talk.send(service, { stream: true });
    await arrival;
    expect(await api("DELETE", `sessions/${deleted}`)).toMatchObject({
      status: 200,
      body: { sessions: 1, unfinished: [] },
    });
    const asked = await running;
    // The service does not even try to store it.
    expect(service.stderr).not.toContain("not stored");
    expect([asked.status, asked.isComplete]).toEqual([200, true]);
    expect(asked.answer).toContain(marks[1]);
    expect(await idsNow()).not.toContain(deleted);
    await service.kill("SIGTERM");
    expect(found(data, marks)).toEqual([]);
    service = await start(data);
    expect(await idsNow()).not.toContain(deleted);
    talk.history.push(asked.message, { role: "user", content: "Third." });
    expect((await talk.send()).status).toBe(200);
    expect(talk.session).not.toBe(deleted);
  });
});

describe("several sessions", () => {
  test("only those that are old enough go, and a terminal asks first", async () => {
    const ids = (await idsNow()).length;
    const none = await run("forget", "--older-than", "1d", "--yes");
    expect(none).toMatchObject({ code: 0, stderr: "" });
    expect(none.stdout).toBe("Deleted: 0 sessions, 0 messages, 0 archive entries, 0 bytes.\n");
    const terminal = runInTerminal(["forget", "--all", "--data", data]);
    await terminal.shows(new RegExp(`Delete ${ids} sessions, .* for good\\? \\[y/N\\]`));
    terminal.press("n\r");
    expect((await terminal.exited).code).toBe(1);
    expect(await idsNow()).toHaveLength(ids);
  });

  test("without a service, the command empties the store itself", async () => {
    const talk = new Talk("last", "Short.", 6);
    const mark = secret();
    await talk.say(`Last: ${mark}.`);
    await service.kill("SIGTERM");
    const { code, stdout, stderr } = await run("forget", "--all", "--yes", "--json");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ sessions: expect.any(Number), unfinished: [] });
    expect(found(data, [...planted, mark])).toEqual([]);
    service = await start(data);
    expect(await idsNow()).toEqual([]);
  });
});

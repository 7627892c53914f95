/** Undo, restore, checkpoint, pin and compact through the running service and from the command line, and the way back. */

import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import type { JsonObject } from "./harness/json.ts";
import { handlesIn } from "./harness/kept.ts";
import { type Asked, ask, bodyOf, modelHeaders } from "./harness/raw-client.ts";
import {
  makeDataFolder,
  OWNER_TOKEN,
  readArchive,
  readEdits,
  type Service,
  startService,
} from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { prose } from "./harness/words.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const WINDOW = 8_000;
const settings = {
  contextWindow: WINDOW,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
const LIMIT = WINDOW - 1000;

let upstream: Upstream;
let service: Service;
let data: string;

function start(window: number = WINDOW): Promise<Service> {
  const models = { "claude-sonnet-4-6": { ...settings, contextWindow: window } };
  return startService({
    upstreams: {},
    data,
    config: { providers: { anthropic: { baseUrl: upstream.url, models } } },
    env: { CONTEXT_DEBUG: "true" },
  });
}

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text("Noted, and on to the next.")) });
  data = await makeDataFolder();
  service = await start();
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
  await rm(data, { recursive: true, force: true });
});

/** A talk of so many questions, of about 300 tokens each, that grows turn by turn. */
class Growing {
  readonly history: JsonObject[] = [];
  readonly #name: string;
  readonly #random: ReturnType<typeof diceOf>;
  session = "";

  constructor(name: string, seed: number) {
    this.#name = name;
    this.#random = diceOf(seed);
  }

  /** Says something new. `sent` is what the client sent then. */
  sent: JsonObject = {};

  async say(headers: Record<string, string> = {}): Promise<Asked> {
    this.history.push({ role: "user", content: prose(this.#random, 300) });
    this.sent = { ...bodyOf("anthropic", [...this.history]), max_tokens: 500 };
    const asked = await ask(service.url, {
      wire: "anthropic",
      body: this.sent,
      headers: { "x-plimsoll-session": this.#name, ...headers },
    });
    expect(asked.status, asked.answer).toBe(200);
    this.session = asked.sessionId;
    this.history.push(asked.message);
    return asked;
  }

  /** Until the first compaction. */
  async fill(): Promise<Asked> {
    for (let turn = 0; turn < 60; turn++) {
      const asked = await this.say();
      if (asked.headers.get("x-plimsoll-action") === "compacted") return asked;
    }
    throw new Error("60 turns, and no compaction.");
  }
}

const lastSent = (): string => upstream.requests.at(-1)?.body.toString("utf8") ?? "";

async function steer(
  session: string,
  action: string,
  wish: JsonObject = {},
): Promise<{ readonly status: number; readonly body: JsonObject }> {
  const response = await fetch(`${service.url}/api/sessions/${session}/${action}`, {
    method: "POST",
    headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(wish),
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
}

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(...words: string[]): Promise<Ran> {
  const env = childEnvironment({ PLIMSOLL_TOKEN: OWNER_TOKEN });
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, ...words, "--data", data],
      { env, timeout: 20_000 },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

/** Whole bodies are too long to be read in a failure: where two part is what matters. */
function difference(one: string, other: string): string {
  if (one === other) return "none";
  const at = [...one].findIndex((letter, index) => letter !== other[index]);
  return `at ${at}: ${one.slice(at, at + 120)} / ${other.slice(at, at + 120)}`;
}

/** Up to the end of its last message, which a later request goes on from. */
function head(body: string): string {
  return body.slice(0, body.lastIndexOf("]"));
}

describe("a conversation that was compacted", () => {
  const talk = new Growing("compacted", 1);

  beforeAll(async () => {
    await talk.fill();
    await talk.say();
    await talk.say();
  });

  test("says so in its headers, its edits and its view", async () => {
    const edits = await readEdits(service, talk.session);
    const cut = edits.findLast(({ action }) => ["remove", "replace"].includes(action.kind));
    expect(cut).toMatchObject({ strategy: "excerpt", branch: "main" });
    expect(cut?.tokensAfter).toBeLessThan(cut?.tokensBefore ?? 0);
    const view: { messages: JsonObject[]; tokens: number; limit: number } = await service.api(
      `/api/sessions/${talk.session}/view`,
    );
    expect(view.limit).toBe(LIMIT);
    expect(view.tokens).toBeLessThan(LIMIT);
    expect(JSON.stringify(view.messages).includes(cut?.action.handle ?? "?")).toBe(true);
    const lengthOf = (messages: readonly JsonObject[]): number => JSON.stringify(messages).length;
    expect(lengthOf(view.messages)).toBeLessThan(lengthOf(talk.history));
  });

  test("cannot be undone while it would not fit, and says how many tokens are missing", async () => {
    const before = await readEdits(service, talk.session);
    const { status, body } = await steer(talk.session, "undo");
    expect(status).toBe(409);
    expect(body["error"]).toMatchObject({ code: "TOKEN_LIMIT_EXCEEDED" });
    expect(JSON.stringify(body)).toMatch(/[1-9]\d* tokens too large/);
    expect(await readEdits(service, talk.session)).toEqual(before);
  });

  test("goes out byte for byte once it is undone under a larger window, and edited again by a redo", async () => {
    await service.stop();
    service = await start(WINDOW * 4);
    await talk.say();
    const edited = lastSent();
    // The note that the window fills came before the compaction, and is a step of its own.
    const undone = [await steer(talk.session, "undo"), await steer(talk.session, "undo")];
    expect(undone.map(({ status }) => status)).toEqual([200, 200]);
    const plain = await talk.say();
    expect(difference(lastSent(), JSON.stringify(talk.sent))).toBe("none");
    expect(plain.headers.get("x-plimsoll-action")).toBe("passthrough");
    const edits = await readEdits(service, talk.session);
    const reverts = edits.filter(
      ({ action, strategy }) => action.kind === "revert" && strategy === "undo",
    );
    // What was undone together is done again together.
    const redone: number[] = [];
    for (const { seq } of reverts.toReversed())
      redone.push((await steer(talk.session, "undo", { edit: seq })).status);
    expect(redone.filter((status) => status === 200)).toHaveLength(2);
    await talk.say();
    expect(difference(lastSent().slice(0, head(edited).length), head(edited))).toBe("none");
  });
});

interface Diff {
  readonly from: { readonly seq: number; readonly messages: number };
  readonly to: { readonly seq: number };
  readonly rows: readonly { readonly kind: string }[];
}

describe("a conversation that is steered", () => {
  const talk = new Growing("steered", 5);

  beforeAll(async () => {
    for (let turn = 0; turn < 12; turn++) await talk.say();
  });

  test("is restored to a checkpoint, to an edit or to a time, with everything that was said since", async () => {
    expect((await steer(talk.session, "compact", { keep: "half" })).status).toBe(200);
    await talk.say();
    const atCheckpoint = lastSent();
    const { body: named } = await steer(talk.session, "checkpoint", { label: "before the storm" });
    const at = Date.now();
    expect((await steer(talk.session, "compact", { keep: "lastTwo" })).status).toBe(200);
    await talk.say();
    expect(lastSent().startsWith(head(atCheckpoint))).toBe(false);
    const restored = await steer(talk.session, "restore", { checkpoint: named["id"] ?? "" });
    expect(restored.status, JSON.stringify(restored.body)).toBe(200);
    await talk.say();
    const now = lastSent().slice(0, head(atCheckpoint).length);
    expect(difference(now, head(atCheckpoint))).toBe("none");
    expect((await steer(talk.session, "restore", { at })).status).toBe(200);
    await talk.say();
    expect(lastSent().startsWith(head(atCheckpoint))).toBe(true);
    expect((await steer(talk.session, "restore", { seq: 0 })).status).toBe(200);
    await talk.say();
    expect(difference(lastSent(), JSON.stringify(talk.sent))).toBe("none");
    const { items } = await service.api<{ items: { id: string; label: string }[] }>(
      `/api/sessions/${talk.session}/checkpoints`,
    );
    const found = items.find(({ id }) => id === named["id"]);
    expect(found?.label).toBe("before the storm");
  });

  test("two of its views are held against each other", async () => {
    const edits = await readEdits(service, talk.session);
    const diff = (query: string): Promise<Diff> =>
      service.api<Diff>(`/api/sessions/${talk.session}/diff?${query}`);
    const all = await diff("from=0");
    expect(all.to.seq).toBe(edits.at(-1)?.seq);
    expect(all.from.messages).toBe(talk.history.length);
    const kinds = new Set(all.rows.map(({ kind }) => kind));
    expect(kinds.has("same")).toBe(true);
    const nothing = await diff(`from=${all.to.seq}&to=${all.to.seq}`);
    expect(nothing.rows.every(({ kind }) => kind === "same")).toBe(true);
    await expect(diff("from=yesterday")).rejects.toThrow("400");
    await expect(diff("from=cp_999999")).rejects.toThrow("404");
  });

  test("what comes back is pinned, and stays when the next compaction comes", async () => {
    const pinned = new Growing("pinned", 2);
    for (let turn = 0; turn < 12; turn++) await pinned.say();
    expect((await steer(pinned.session, "compact", { keep: "half" })).status).toBe(200);
    expect((await steer(pinned.session, "undo")).status).toBe(200);
    expect((await steer(pinned.session, "compact", { keep: "half" })).status).toBe(409);
    const [pin] = (await readEdits(service, pinned.session)).filter(
      ({ action }) => action.kind === "pin",
    );
    const released = await steer(pinned.session, "pin", { release: pin?.seq ?? 0 });
    expect(released.status, JSON.stringify(released.body)).toBe(200);
    expect((await steer(pinned.session, "compact", { keep: "half" })).status).toBe(200);
  });

  test("a message that is pinned by hand is not cut", async () => {
    const pinned = new Growing("pinned by hand", 3);
    for (let turn = 0; turn < 12; turn++) await pinned.say();
    const { body } = await steer(pinned.session, "pin", { first: 5 });
    expect(body).toMatchObject({ id: 1 });
    await steer(pinned.session, "compact", { budget: 1500 });
    const edits = await readEdits(service, pinned.session);
    expect(edits.filter(({ action }) => action.kind === "remove").length).toBeGreaterThan(1);
    await pinned.say();
    expect(lastSent().includes(JSON.stringify(pinned.history[4]?.["content"]))).toBe(true);
    expect(lastSent().includes(JSON.stringify(pinned.history[6]?.["content"]))).toBe(false);
  });

  test.each([
    ["restore", { checkpoint: "cp_99999" }, 404, /plimsoll checkpoints/],
    ["restore", { seq: 99_999 }, 404, /plimsoll edits/],
    ["restore", {}, 400, /checkpoint/],
    ["undo", { edit: 99_999 }, 404, /plimsoll edits/],
    ["undo", { edit: "seven" }, 400, /edit/],
    ["undo", { branch: "nowhere" }, 404, /branch/],
    ["pin", { first: 99_999 }, 404, /plimsoll log/],
    ["pin", {}, 400, /./],
    ["pin", { release: 99_999 }, 404, /pin/],
    ["compact", { keep: "everything" }, 400, /keep/],
    ["checkpoint", { label: 7 }, 400, /label/],
  ] as const)("%s %j is answered %i with a sentence", async (action, wish, status, sentence) => {
    const answered = await steer(talk.session, action, wish);
    expect(answered.status).toBe(status);
    expect(JSON.stringify(answered.body)).toMatch(sentence);
  });

  test("a session of nobody, and a body that is not JSON", async () => {
    expect((await steer("ses_0000000000000000000000", "undo")).status).toBe(404);
    const response = await fetch(`${service.url}/api/sessions/${talk.session}/undo`, {
      method: "POST",
      headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
      body: "{",
    });
    expect(response.status).toBe(400);
  });

  test("x-plimsoll-off sends the client's own bytes", async () => {
    await talk.say({ "x-plimsoll-off": "1" });
    expect(difference(lastSent(), JSON.stringify(talk.sent))).toBe("none");
  });

  test("the guard says what it thinks when it is asked", () => {
    const topics = new Set(service.stderr.match(/^context-guard\/[a-z-]+/gm));
    expect([...topics].sort()).toEqual([
      "context-guard/build-metrics",
      "context-guard/evaluate",
      "context-guard/evaluate-target",
      "context-guard/init-counters",
      "context-guard/loop-init",
      "context-guard/provider-eval",
      "context-guard/schema-estimate",
    ]);
    expect(service.stderr).toMatch(/evaluate-target \{[^}]*contextWindow: \d+,[^}]*limit: \d+/s);
  });
});

describe("from the command line", () => {
  const talk = new Growing("by hand", 4);

  beforeAll(async () => {
    for (let turn = 0; turn < 12; turn++) await talk.say();
    expect((await steer(talk.session, "compact", { keep: "half" })).status).toBe(200);
  });

  test("edits and checkpoints are listed, for people and as JSON", async () => {
    const listed = await run("edits", talk.session);
    expect(listed).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/remove.*truncate_half/),
    });
    const json = JSON.parse((await run("edits", talk.session, "--json")).stdout) as JsonObject;
    expect(json["items"]).toHaveLength(1);
    expect((await run("checkpoints", talk.session)).stdout).toContain("cp_0");
  });

  test("an edit is undone through the service that runs, and without one", async () => {
    const undone = await run("undo", talk.session);
    expect(undone).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Done: /) });
    await talk.say();
    expect(difference(lastSent(), JSON.stringify(talk.sent))).toBe("none");
    await service.stop();
    const restored = await run("restore", "1", "--session", talk.session);
    expect(restored, restored.stderr).toMatchObject({ code: 0 });
    service = await start(WINDOW * 4);
    await talk.say();
    expect(handlesIn(lastSent())).toHaveLength(1);
    const [handle = ""] = handlesIn(lastSent());
    const cut = JSON.parse(await readArchive(service, handle, 1000)) as JsonObject[];
    expect(talk.history.map((message) => JSON.stringify(message))).toEqual(
      expect.arrayContaining(cut.map((message) => JSON.stringify(message))),
    );
  });

  test("inspect measures what the model sees, not what was said", async () => {
    const inspected = JSON.parse((await run("inspect", talk.session, "--json")).stdout) as {
      units: object[];
      used: number;
    };
    const { items } = await service.api<{ items: { tokens: number }[] }>(
      `/api/sessions/${talk.session}/log?limit=1000`,
    );
    expect(inspected.units.length).toBeLessThan(items.length);
    expect(inspected.used).toBeLessThan(items.reduce((sum, { tokens }) => sum + tokens, 0));
  });

  test("log, inspect and edits give each message the number by which a model reads it", async () => {
    const { units } = JSON.parse((await run("inspect", talk.session, "--json")).stdout) as {
      readonly units: readonly { readonly messages: string; readonly begins: string }[];
    };
    const { items } = await service.api<{
      readonly items: readonly { readonly seq: number; readonly role: string }[];
    }>(`/api/sessions/${talk.session}/log?limit=1000`);
    const log = (await run("log", talk.session)).stdout;
    const logged = [...log.matchAll(/^ *(#\d+) /gm)].map(([, number]) => number);
    expect(logged).toEqual(items.map(({ seq }) => `#${seq}`));
    const [first, last] = [units[0], units.at(-1)];
    expect(first?.messages).toMatch(/^#1(–|$)/);
    expect(last?.messages.split("–").at(-1)).toBe(`#${items.at(-1)?.seq}`);
    const number = last?.messages.split("–")[0] ?? "";
    const line = log.split("\n").find((one) => one.trimStart().startsWith(`${number} `)) ?? "";
    expect(line).toContain((last?.begins ?? "").slice(0, 20));
  });

  test("what cannot be done is said in a sentence", async () => {
    const nowhere = await run("restore", "cp_77", "--session", talk.session);
    expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining("no checkpoint") });
    const nonsense = await run("restore", "yesterday-ish");
    expect(nonsense).toMatchObject({ code: 2, stderr: expect.stringContaining("not a point") });
    const unknown = await run("undo", "ses_0000000000000000000000");
    expect(unknown).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("plimsoll sessions"),
    });
  });
});

describe("a client that only counts", () => {
  test("is told what would be sent, and nothing is recorded", async () => {
    const talk = new Growing("counted", 6);
    for (let turn = 0; turn < 12; turn++) await talk.say();
    await steer(talk.session, "compact", { keep: "half" });
    const before = await service.api<JsonObject>(`/api/sessions/${talk.session}`);
    const { max_tokens: _max, ...body } = talk.sent;
    const response = await fetch(`${service.url}/v1/messages/count_tokens`, {
      method: "POST",
      headers: { ...modelHeaders("anthropic"), "x-plimsoll-session": "counted" },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    expect(handlesIn(lastSent())).toHaveLength(1);
    expect(await service.api(`/api/sessions/${talk.session}`)).toEqual(before);
  });
});

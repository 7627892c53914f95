/** Receipts and fresh starts through the running service: what the API and the command line tell of a compaction, and that it is so. */

import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import type { JsonObject } from "./harness/json.ts";
import { handlesIn, rangeTexts } from "./harness/kept.ts";
import { type Asked, ask, bodyOf } from "./harness/raw-client.ts";
import {
  makeDataFolder,
  OWNER_TOKEN,
  readArchive,
  type Service,
  startService,
} from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually } from "./harness/waiting.ts";
import { prose } from "./harness/words.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const WINDOW = 6_000;
const rule = "Never touch the tests in tests/shop.";
const goal = "Make the import in src/shop/importer.py faster.";

/** As the interface page has it. */
interface ReceiptLine {
  readonly facts: number;
  readonly verbatim: number;
  readonly behindHandle: number;
  readonly verbatimExamples: readonly { readonly text: string; readonly number: number }[];
}
interface Item {
  readonly type: string;
  readonly turn: string;
  readonly reason: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly strategies: readonly string[];
  readonly edits: readonly number[];
  readonly handles: readonly string[];
  readonly receipt: {
    readonly classes: Readonly<Record<string, ReceiptLine>>;
    readonly tokensBefore: number;
    readonly tokensAfter: number;
    readonly milliseconds: number;
    readonly strategies: readonly string[];
    readonly coherence: number;
    readonly handles: readonly string[];
  };
}
const CLASSES = ["constraint", "error", "decision", "task", "command", "path", "id", "number"];

let upstream: Upstream;
let service: Service;
let data: string;

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text("Noted, and on to the next.")) });
  data = await makeDataFolder();
  const model = {
    contextWindow: WINDOW,
    maxOutputTokens: 500,
    contextWindowBufferTokens: 500,
    tokenizer: "tiktoken:o200k_base",
  };
  const models = { "claude-sonnet-4-6": model };
  const config = { providers: { anthropic: { baseUrl: upstream.url, models } } };
  service = await startService({ upstreams: {}, data, config });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
  await rm(data, { recursive: true, force: true });
});

/** A talk of questions of about 300 tokens. */
class Growing {
  readonly history: JsonObject[] = [];
  readonly #name: string;
  readonly #random = diceOf(11);
  session = "";

  constructor(name: string) {
    this.#name = name;
  }

  async say(words?: string): Promise<Asked> {
    this.history.push({ role: "user", content: words ?? prose(this.#random, 300) });
    const asked = await ask(service.url, {
      wire: "anthropic",
      body: { ...bodyOf("anthropic", [...this.history]), max_tokens: 500 },
      headers: { "x-plimsoll-session": this.#name },
    });
    expect(asked.status, asked.answer).toBe(200);
    this.session = asked.sessionId;
    this.history.push(asked.message);
    return asked;
  }

  async fill(action: string): Promise<Asked> {
    for (let turn = 0; turn < 60; turn++) {
      const asked = await this.say();
      if (asked.headers.get("x-plimsoll-action") === action) return asked;
    }
    throw new Error(`60 turns, and none was ${action}.`);
  }
}

async function receiptsOf(session: string, count: number): Promise<readonly Item[]> {
  return eventually(5_000, `${count} receipts`, async () => {
    const { items } = await service.api<{ items: Item[] }>(`/api/sessions/${session}/receipts`);
    return items.length >= count ? items : undefined;
  });
}

interface Ran {
  readonly code: number;
  readonly stdout: string;
}

function run(...words: string[]): Promise<Ran> {
  const env = childEnvironment({ PLIMSOLL_TOKEN: OWNER_TOKEN });
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, ...words, "--data", data],
      { env, timeout: 20_000 },
      (_error, stdout) => resolve({ code: child.exitCode ?? -1, stdout }),
    );
  });
}

async function steer(
  session: string,
  action: string,
  wish: JsonObject,
): Promise<{ readonly status: number; readonly body: JsonObject }> {
  const response = await fetch(`${service.url}/api/sessions/${session}/${action}`, {
    method: "POST",
    headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(wish),
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
}

const lastSent = (): string => upstream.requests.at(-1)?.body.toString("utf8") ?? "";

describe("after compactions", () => {
  const talk = new Growing("receipts");
  let items: readonly Item[] = [];

  beforeAll(async () => {
    await talk.say("Hello there.");
    await talk.say(`${goal} ${rule}`);
    await talk.fill("compacted");
    await talk.fill("compacted");
    items = await receiptsOf(talk.session, 2);
  });

  test("there is a receipt for each, with classes, tokens, strategies and coherence", () => {
    expect(items).toHaveLength(2);
    for (const { type, receipt, tokensAfter, strategies, edits } of items) {
      expect(type).toBe("compaction-end");
      expect(Object.keys(receipt.classes)).toEqual(CLASSES);
      for (const { facts, verbatim, behindHandle } of Object.values(receipt.classes))
        expect(verbatim + behindHandle).toBe(facts);
      expect(receipt.tokensAfter).toBe(tokensAfter);
      expect(receipt.tokensAfter).toBeLessThan(receipt.tokensBefore);
      expect(strategies.length).toBeGreaterThan(0);
      expect(receipt.strategies).toEqual(strategies);
      expect(receipt.coherence).toBeGreaterThan(0);
      expect(receipt.coherence).toBeLessThanOrEqual(1);
      expect(edits.length).toBeGreaterThan(0);
    }
  });

  test("a rule of the user is listed as still said, and the provider was sent it", () => {
    for (const { receipt } of items) {
      const said = receipt.classes["constraint"]?.verbatimExamples.map((one) => one.text);
      expect(said).toContain(rule);
    }
    expect(lastSent()).toContain(rule);
  });

  test("the handles open, and the newest one stands in the request", async () => {
    for (const { receipt } of items)
      for (const handle of receipt.handles) {
        const content = await readArchive(service, handle, 4_000);
        expect(rangeTexts(content)?.length).toBeGreaterThan(0);
      }
    expect(handlesIn(lastSent())).toEqual(
      expect.arrayContaining([...(items.at(-1)?.handles ?? [])]),
    );
  });

  test("the event stream carries the same receipts", async () => {
    const leaving = new AbortController();
    const response = await fetch(`${service.url}/events?session=${talk.session}`, {
      headers: { authorization: `Bearer ${OWNER_TOKEN}`, "last-event-id": "0" },
      signal: leaving.signal,
    });
    let stream = "";
    const heard = (): readonly Item[] =>
      stream
        .split("\n\n")
        .slice(0, -1)
        .flatMap((one) => /^data: (.*)$/m.exec(one)?.[1] ?? [])
        .map((json) => JSON.parse(json) as Item)
        .filter(({ type }) => type === "compaction-end");
    for await (const chunk of response.body ?? []) {
      stream += Buffer.from(chunk).toString("utf8");
      if (heard().length === items.length) break;
    }
    leaving.abort();
    expect(heard().map(({ receipt }) => receipt)).toEqual(items.map(({ receipt }) => receipt));
  });

  test("the command line shows them, as a table and as JSON", async () => {
    const { code, stdout } = await run("receipts", talk.session);
    expect(code).toBe(0);
    for (const name of CLASSES) expect(stdout).toContain(name);
    expect(stdout).toContain(items[0]?.handles[0]);
    const json = await run("receipts", talk.session, "--json");
    expect(JSON.parse(json.stdout)).toEqual({ items });
  });

  test("reset starts afresh: the handover has goal, rule and task, and there is a receipt for it too", async () => {
    const { status, body } = await steer(talk.session, "reset", {
      task: "ship-17",
      reason: "Enough.",
    });
    expect([status, body["strategies"]]).toEqual([200, ["fresh_start"]]);
    await talk.say("And now?");
    const sent = lastSent();
    for (const words of ["Handover.", "Continue task ship-17.", "src/shop/importer.py", rule])
      expect(sent).toContain(words);
    const [, , reset] = await receiptsOf(talk.session, 3);
    expect(reset).toMatchObject({ reason: "reset", strategies: ["fresh_start"] });
  });

  test("reset refuses what it does not know", async () => {
    expect((await steer(talk.session, "reset", { tusk: "x" })).status).toBe(400);
    expect((await steer("ses_0000000000000000000000", "reset", {})).status).toBe(404);
  });
});

test("a session without a compaction has none, and says so", async () => {
  const talk = new Growing("quiet");
  await talk.say("Hello.");
  const { items } = await service.api<{ items: Item[] }>(`/api/sessions/${talk.session}/receipts`);
  expect(items).toEqual([]);
  const { code, stdout } = await run("receipts", talk.session);
  expect([code, stdout]).toEqual([0, expect.stringContaining("Nothing was compacted")]);
  expect((await steer(talk.session, "reset", {})).status).toBe(409);
});

test("receipts of a session that is not there, or of somebody else, are not found", async () => {
  const unknown = `${service.url}/api/sessions/ses_0000000000000000000000/receipts`;
  const owner = { authorization: `Bearer ${OWNER_TOKEN}` };
  expect((await fetch(unknown, { headers: owner })).status).toBe(404);
  expect((await fetch(unknown)).status).toBe(401);
});

/** The MCP server as its clients see it: both generations, over HTTP and over standard input and output. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import { isObject, type JsonObject, parseJson } from "./harness/json.ts";
import {
  connectMcp,
  GENERATIONS,
  type McpClient,
  type McpPlace,
  PROGRAM,
} from "./harness/mcp-clients.ts";
import { ask, bodyOf, type RawAnswer, sendRaw } from "./harness/raw-client.ts";
import {
  type Edit,
  makeDataFolder,
  OWNER_TOKEN,
  readEdits,
  type Service,
  startService,
} from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually, within } from "./harness/waiting.ts";
import { prose } from "./harness/words.ts";

const SESSION_TOOLS = ["read_result", "recall", "compact_context", "session_status"];
const WORK_TOOLS = ["reportTaskStatus", "createTicket", "askQuestion", "listTasks", "getTask"];
const READING = ["read_result", "recall", "session_status", "listTasks", "getTask"];
const TOKENS = {
  alice: "plimsoll-test-token-of-alice-0123456789abcd",
  bob: "plimsoll-test-token-of-bob-0123456789abcdef",
};
const MODEL = {
  contextWindow: 6_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};

/** A session of a tenant that was compacted, and what stands behind one of its handles. */
interface Told {
  readonly session: string;
  /** Some turns more, so that there is something to take out. */
  readonly goOn: () => Promise<void>;
  readonly handle: string;
  /** A line that only this tenant ever said. */
  readonly secret: string;
}

let upstream: Upstream;
let service: Service;
let data: string;
let alice: Told;
let bob: Told;

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text("Noted, and on to the next.")) });
  data = await makeDataFolder();
  service = await startSmall(data);
  alice = await talkOf(service, "alice", "The harbour gate of alice opens with heron-4471.");
  bob = await talkOf(service, "bob", "The lighthouse of bob is painted in saffron-9023.");
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
  await rm(data, { recursive: true, force: true });
});

/** A service whose model holds little. */
function startSmall(folder: string): Promise<Service> {
  const models = { "claude-sonnet-4-6": MODEL };
  const providers = { anthropic: { baseUrl: upstream.url, models } };
  return startService({ upstreams: {}, data: folder, config: { providers, tokens: TOKENS } });
}

/** Talks until what was said at first is behind a handle. */
async function talkOf(at: Service, name: keyof typeof TOKENS, secret: string): Promise<Told> {
  const random = diceOf(name.length);
  const history: JsonObject[] = [];
  const say = async (content: string): Promise<{ session: string; action: string | null }> => {
    history.push({ role: "user", content });
    const asked = await ask(at.url, {
      wire: "anthropic",
      body: { ...bodyOf("anthropic", [...history]), max_tokens: 500 },
      headers: { "x-plimsoll-token": TOKENS[name] },
    });
    expect(asked.status, asked.answer).toBe(200);
    history.push(asked.message);
    return { session: asked.sessionId, action: asked.headers.get("x-plimsoll-action") };
  };
  const goOn = async (): Promise<void> => {
    for (let turn = 0; turn < 30; turn++) {
      const { session } = await say(prose(random, 300));
      const path = `/api/sessions/${session}/measurement`;
      const { percentage } = await at.api<{ percentage: number }>(path);
      if (percentage > 75) return;
    }
    throw new Error("30 turns, and the window was never full.");
  };
  await say(`Good morning from ${name}.`);
  await say(`Before we begin.\n${secret}\n${prose(random, 2_500)}`);
  for (let turn = 0; turn < 60; turn++) {
    const { session, action } = await say(prose(random, 300));
    if (action !== "compacted") continue;
    const handle = await eventually(5_000, "a handle", async () =>
      (await readEdits(at, session)).map(handleOf).find((found) => found !== undefined),
    );
    return { session, handle, secret, goOn };
  }
  throw new Error("60 turns, and none was compacted.");
}

function handleOf({ action }: Edit): string | undefined {
  return action.handle;
}

const http = (token: string): McpPlace => ({ url: service.url, token });
const stdio = (): McpPlace => ({ data, env: { PLIMSOLL_TOKEN: OWNER_TOKEN } });
const textOf = ({ structured }: { readonly structured: JsonObject | undefined }): string =>
  String(structured?.["text"]);

describe.each(
  GENERATIONS.flatMap((generation) => [
    { generation, transport: "http" as const },
    { generation, transport: "stdio" as const },
  ]),
)("a client of $generation over $transport", ({ generation, transport }) => {
  let client: McpClient;
  const connect = (): Promise<McpClient> =>
    connectMcp(generation, transport === "http" ? http(OWNER_TOKEN) : stdio());

  beforeAll(async () => {
    client = await connect();
  });
  afterAll(async () => {
    await client.close();
  });

  test("speaks its own generation", () => {
    expect(client.version).toMatch(generation === "2025" ? /^2025/ : /^2026-07-28$/);
  });

  test("gets nine tools in their order, the same every time, with what they do to the world", async () => {
    const first = await client.list();
    const other = await connect();
    const second = await other.list();
    await other.close();
    expect(JSON.stringify(second)).toBe(JSON.stringify(first));
    expect(first.map(({ name }) => name)).toEqual([...SESSION_TOOLS, ...WORK_TOOLS]);
    for (const { name, annotations, outputSchema, inputSchema } of first) {
      const isReading = READING.includes(String(name));
      expect(annotations).toEqual({
        readOnlyHint: isReading,
        idempotentHint: isReading,
        destructiveHint: false,
        openWorldHint: false,
      });
      expect(outputSchema).toMatchObject({ type: "object" });
      if (SESSION_TOOLS.includes(String(name)))
        expect(inputSchema).toMatchObject({ properties: { session: { type: "string" } } });
    }
  });

  test("reads what is behind a handle, page by page", async () => {
    const page = await client.call("read_result", { ref_id: alice.handle, limit: 2_000 });
    expect(page.isError, page.text).toBe(false);
    expect(parseJson(page.text)).toEqual(page.structured);
    expect(textOf(page)).toContain(alice.handle);
    const offset = Number(/next offset (\d+)\]/.exec(textOf(page))?.[1]);
    expect(offset).toBeGreaterThan(0);
    const next = await client.call("read_result", { ref_id: alice.handle, offset, limit: 2_000 });
    expect(textOf(next)).not.toBe(textOf(page));
    expect(next.isError).toBe(false);
  });

  test("finds a line by a pattern, and a message by its number", async () => {
    const found = await client.call("read_result", {
      ref_id: alice.handle,
      grep: "heron-\\d+",
    });
    expect(textOf(found)).toContain("heron-4471");
    const message = await client.call("read_result", { ref_id: "#3", session: alice.session });
    expect(textOf(message)).toContain(alice.secret);
    expect(message.structured).toMatchObject({ session: alice.session });
  });

  test("searches what was said", async () => {
    const found = await client.call("recall", {
      query: "What opens the harbour gate?",
      session: alice.session,
    });
    expect(found.isError, found.text).toBe(false);
    expect(textOf(found)).toContain(alice.secret);
    expect(found.structured).toMatchObject({ session: alice.session });
  });

  test("is told how the session stands", async () => {
    const { structured, text: asText } = await client.call("session_status", {
      session: alice.session,
    });
    expect(parseJson(asText)).toEqual(structured);
    expect(structured).toMatchObject({
      session: alice.session,
      context: {
        model: "claude-sonnet-4-6",
        window: MODEL.contextWindow,
        limit: 5_000,
        certainty: expect.any(String),
        components: { conversation: expect.any(Number) },
      },
      handles: expect.arrayContaining([alice.handle]),
      lastCompaction: { strategies: expect.any(Array), tokensBefore: expect.any(Number) },
    });
    const { messages, messagesShown, turns, editsThatHold, context } = structured ?? {};
    expect(Number(messages)).toBeGreaterThanOrEqual(Number(messagesShown));
    expect(Number(turns)).toBeGreaterThan(1);
    expect(Number(editsThatHold)).toBeGreaterThan(0);
    const { used, limit, percentage } = isObject(context) ? context : {};
    expect(percentage).toBeCloseTo((Number(used) / Number(limit)) * 100, 0);
  });

  test("is told in a sentence what is wrong with a call", async () => {
    const wrong: readonly (readonly [string, JsonObject, string])[] = [
      ["read_result", {}, "ref_id"],
      ["read_result", { ref_id: "../../etc/passwd" }, "opens nothing here"],
      ["read_result", { ref_id: alice.handle, offset: -1 }, "offset"],
      ["read_result", { ref_id: alice.handle, session: bob.session }, "opens nothing here"],
      ["recall", { query: "" }, "query"],
      ["session_status", { session: "ses_0000000000000000000000" }, "There is no such session"],
      ["session_status", { session: "../plimsoll.db" }, "There is no such session"],
      ["compact_context", { session: 7 }, "There is no such session"],
    ];
    for (const [name, input, sentence] of wrong) {
      const answer = await client.call(name, input);
      expect([answer.isError, answer.structured]).toEqual([true, undefined]);
      expect(answer.text).toContain(sentence);
    }
  });

  test("gets an error of the protocol for a tool that is not there", async () => {
    for (const name of ["no_such_tool", "constructor", "__proto__"])
      await expect(client.call(name)).rejects.toMatchObject({ code: -32602 });
  });
});

describe("over HTTP", () => {
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "t", version: "1" },
    },
  };
  const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
  const send = (
    headers: Readonly<Record<string, string>>,
    { method = "POST", body = JSON.stringify(initialize) } = {},
  ): Promise<RawAnswer> =>
    sendRaw(service.port, {
      method,
      path: "/mcp",
      headers: {
        host: `127.0.0.1:${service.port}`,
        authorization: `Bearer ${OWNER_TOKEN}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body,
    });

  test("nobody comes in without the token", async () => {
    expect((await send({})).status).toBe(200);
    for (const authorization of ["", "Bearer ", "Bearer nobody", `Basic ${OWNER_TOKEN}`])
      expect((await send({ authorization })).status).toBe(401);
    const path = `/t/${OWNER_TOKEN}/mcp`;
    const { status } = await sendRaw(service.port, {
      method: "POST",
      path,
      headers: { host: "127.0.0.1", "content-type": "application/json" },
      body: JSON.stringify(initialize),
    });
    expect(status).toBe(401);
  });

  test("a page of another site is refused, by its name and by its origin", async () => {
    for (const host of ["evil.test", `evil.test:${service.port}`, "127.0.0.1.evil.test"])
      expect((await send({ host })).status).toBe(403);
    for (const origin of ["https://evil.test", "null", "http://127.0.0.1:1", "file://"])
      expect((await send({ origin })).status).toBe(403);
    expect((await send({ origin: `http://127.0.0.1:${service.port}` })).status).toBe(200);
  });

  test("only JSON is taken, by POST, and not much of it", async () => {
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data",
      "",
    ])
      expect((await send({ "content-type": type })).status).toBe(415);
    for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
      const answer = await send({}, { method, body: "" });
      expect([answer.status, answer.headers.allow]).toEqual([405, "POST"]);
      expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    }
    const large = JSON.stringify({ ...list, params: { cursor: "x".repeat(1024 * 1024) } });
    expect((await send({}, { body: large })).status).toBe(413);
    expect((await send({ "content-length": String(2 ** 40) })).status).toBe(413);
  });

  test("what is no request of the protocol gets an error of the protocol", async () => {
    const codes = await Promise.all(
      ["", "{", "[]", "null", '{"jsonrpc":"2.0"}', "[".repeat(500_000)].map(async (body) => {
        const answer = await send({}, { body });
        const { error } = parseJson(answer.body.toString("utf8")) as { error?: JsonObject };
        return [answer.status, typeof error?.["code"]];
      }),
    );
    for (const code of codes) expect(code).toEqual([400, "number"]);
  });

  test("the list of tools is the same bytes each time, and may be kept for a while", async () => {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const body = JSON.stringify({ ...list, params: { _meta: meta } });
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };
    const one = await send(headers, { body });
    const two = await send({ ...headers, authorization: `Bearer ${TOKENS.bob}` }, { body });
    expect(one.status).toBe(200);
    expect(two.body.toString("utf8")).toBe(one.body.toString("utf8"));
    expect(parseJson(one.body.toString("utf8"))).toMatchObject({
      result: { resultType: "complete", ttlMs: 3_600_000, cacheScope: "public" },
    });
  });

  test("a body that is nested deeply is answered, and the service stays", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const body = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"recall","arguments":{"query":${deep}}}}`;
    const { status } = await send({ "mcp-protocol-version": "2025-11-25" }, { body });
    expect(status).toBeLessThan(600);
    expect((await send({})).status).toBe(200);
  });
});

describe("two tenants", () => {
  const others = [
    { name: "alice" as const, generation: "2025" as const },
    { name: "bob" as const, generation: "2026-07-28" as const },
  ];

  test("never see each other's sessions and handles, whatever they ask for and in whatever order", async () => {
    const clients = await Promise.all(
      others.map(({ name, generation }) => connectMcp(generation, http(TOKENS[name]))),
    );
    const askAll = async (client: McpClient, own: Told, other: Told): Promise<void> => {
      const mine = await Promise.all([
        client.call("read_result", { ref_id: own.handle, grep: own.secret }),
        client.call("read_result", { ref_id: "#3" }),
        client.call("recall", { query: "harbour gate or lighthouse: what is it?" }),
      ]);
      for (const answer of mine) {
        expect(textOf(answer)).toContain(own.secret);
        expect(answer.text).not.toContain(other.secret);
      }
      const { structured } = await client.call("session_status");
      expect(structured?.["session"]).toBe(own.session);
      const theirs = await Promise.all([
        client.call("read_result", { ref_id: other.handle }),
        client.call("read_result", { ref_id: `${other.handle}#3` }),
        client.call("read_result", { ref_id: "#3", session: other.session }),
        client.call("recall", { query: other.secret, session: other.session }),
        client.call("session_status", { session: other.session }),
        client.call("compact_context", { session: other.session }),
      ]);
      for (const answer of theirs) {
        expect([answer.isError, answer.structured]).toEqual([true, undefined]);
        expect(answer.text).toMatch(/opens nothing here|There is no such session/);
      }
    };
    await Promise.all(
      clients.map(async (client, index) => {
        const [own, other] = index === 0 ? [alice, bob] : [bob, alice];
        for (let round = 0; round < 30; round++) await askAll(client, own, other);
      }),
    );
    await Promise.all(clients.map((client) => client.close()));
  });

  test("answers come back to whoever asked, also when all ask at once under the same id", async () => {
    const ask = async (name: "alice" | "bob", own: Told, other: Told): Promise<void> => {
      const response = await fetch(`${service.url}/mcp`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${TOKENS[name]}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name: "read_result", arguments: { ref_id: "#3" } },
        }),
      });
      const answer = await response.text();
      expect(answer).toContain(own.secret);
      expect(answer).not.toContain(other.secret);
    };
    await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        index % 2 === 0 ? ask("alice", alice, bob) : ask("bob", bob, alice),
      ),
    );
  });
});

describe("making room", () => {
  test.each(GENERATIONS)(
    "over HTTP, a client of %s is told what was done, and the session has it",
    async (generation) => {
      const [name, own] =
        generation === "2025" ? (["alice", alice] as const) : (["bob", bob] as const);
      await own.goOn();
      const before = (await readEdits(service, own.session)).length;
      const client = await connectMcp(generation, http(TOKENS[name]));
      const { isError, structured, text: said } = await client.call("compact_context");
      expect(isError, said).toBe(false);
      expect(structured).toMatchObject({ session: own.session, strategies: expect.any(Array) });
      const { tokensBefore, tokensAfter, messagesBefore, messagesAfter } = structured ?? {};
      expect(Number(tokensAfter)).toBeLessThan(Number(tokensBefore));
      expect(Number(messagesAfter)).toBeLessThanOrEqual(Number(messagesBefore));
      expect((await readEdits(service, own.session)).length).toBeGreaterThan(before);
      const last = await eventually(5_000, "its receipt", async () => {
        const { structured: status } = await client.call("session_status");
        const { lastCompaction } = status ?? {};
        return isObject(lastCompaction) && lastCompaction["reason"] === "by hand"
          ? lastCompaction
          : undefined;
      });
      expect(last).toMatchObject({ tokensAfter, tokensBefore });
      await client.close();
    },
  );

  test("over standard input, the service that runs does it", async () => {
    await alice.goOn();
    const before = (await readEdits(service, alice.session)).length;
    const client = await connectMcp("2026-07-28", stdio());
    const done = await client.call("compact_context", { session: alice.session });
    expect(done.isError, done.text).toBe(false);
    expect((await readEdits(service, alice.session)).length).toBeGreaterThan(before);
    const again = await client.call("compact_context", { session: alice.session });
    expect([again.isError, again.text]).toEqual([
      true,
      expect.stringContaining("nothing to take out"),
    ]);
    await client.close();
  });

  test("over standard input, it is done on the folder where no service runs", async () => {
    const folder = await makeDataFolder();
    const other = await startSmall(folder);
    const told = await talkOf(other, "alice", "The cellar of alice smells of juniper-5580.");
    await told.goOn();
    await other.stop();
    const client = await connectMcp("2025", { data: folder });
    try {
      const before = await client.call("session_status");
      const done = await client.call("compact_context");
      expect(done.isError, done.text).toBe(false);
      const after = await client.call("session_status");
      const made = [before, after].map(({ structured }) => Number(structured?.["editsMade"]));
      expect(made[1]).toBeGreaterThan(made[0] ?? 0);
      const found = await client.call("recall", { query: "What does the cellar smell of?" });
      expect(textOf(found)).toContain(told.secret);
    } finally {
      await client.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe("the program on standard input and output", () => {
  const start = (folder: string): ReturnType<typeof spawn> =>
    spawn(process.execPath, [PROGRAM, "mcp", "--data", folder], {
      stdio: ["pipe", "pipe", "pipe"],
      env: childEnvironment({ HOME: folder }),
    });
  const lineOf = (message: JsonObject): string => `${JSON.stringify(message)}\n`;
  const hello = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "t", version: "1" },
    },
  };

  test("says nothing but the protocol, and ends when its input does", async () => {
    const child = start(data);
    let out = "";
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
    const lines = (): JsonObject[] =>
      out
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => parseJson(line) as JsonObject);
    const answer = (id: number): Promise<JsonObject> =>
      eventually(20_000, `answer ${id}`, async () => lines().find((line) => line["id"] === id));
    child.stdin?.write(lineOf(hello));
    await answer(1);
    child.stdin?.write("this is no JSON\n");
    child.stdin?.write(lineOf({ jsonrpc: "2.0", method: "notifications/initialized" }));
    const params = {
      name: "recall",
      arguments: { query: "harbour (gate|door)", session: alice.session },
    };
    child.stdin?.write(lineOf({ jsonrpc: "2.0", id: 2, method: "tools/call", params }));
    expect(JSON.stringify(await answer(2))).toContain("heron-4471");
    const grep = { name: "read_result", arguments: { ref_id: alice.handle, grep: "her.n" } };
    child.stdin?.write(lineOf({ jsonrpc: "2.0", id: 3, method: "tools/call", params: grep }));
    expect(JSON.stringify(await answer(3))).toContain("heron-4471");
    const gone = once(child, "exit");
    child.stdin?.end();
    expect(await within(10_000, "the end", gone)).toEqual([0, null]);
    for (const line of lines()) expect(line["jsonrpc"]).toBe("2.0");
  });

  test.each(["SIGTERM", "SIGINT"] as const)("ends on %s, too", async (signal) => {
    const child = start(data);
    const first = once(child.stdout ?? child, "data");
    child.stdin?.write(lineOf(hello));
    await within(20_000, "the first answer", first);
    const gone = once(child, "exit");
    child.kill(signal);
    expect(await within(10_000, "the end", gone)).toEqual([0, null]);
  });

  test("starts before anything is recorded, and finds what is recorded later", async () => {
    const folder = await makeDataFolder();
    const client = await connectMcp("2025", { data: folder });
    expect((await client.list()).length).toBe(9);
    const early = await client.call("session_status");
    expect([early.isError, early.text]).toEqual([true, expect.stringContaining("plimsoll serve")]);
    const other = await startService({ upstreams: { anthropic: upstream.url }, data: folder });
    try {
      const empty = await client.call("session_status");
      expect([empty.isError, empty.text]).toEqual([true, expect.stringContaining("No session")]);
      const asked = await ask(other.url, {
        wire: "anthropic",
        body: bodyOf("anthropic", [{ role: "user", content: "Where is the blue kettle?" }]),
      });
      const status = await client.call("session_status");
      expect(status.structured).toMatchObject({ session: asked.sessionId, messages: 2, turns: 1 });
      const first = await client.call("read_result", { ref_id: "#1" });
      expect(textOf(first)).toContain("blue kettle");
    } finally {
      await client.close();
      await other.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
});

import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memoryWork } from "../../../test/engine/memory-work.ts";
import { PlimsollError } from "../../message/error.ts";
import type { Asker } from "../../session/lookup/answer-own-call.ts";
import { createMemoryStore } from "../../store/memory.ts";
import { mcpServerOver } from "./mcp-server.ts";
import { type McpHome, type McpTool, mcpTools } from "./tools.ts";

const idOf = (letter: string): string => `ses_${letter.repeat(22)}`;

interface Fake {
  readonly home: McpHome;
  /** Lookups in the store, and the askers of the answers. */
  readonly looked: string[];
  readonly askers: Asker[];
  readonly compacted: string[];
}

/** Two tenants with one session each. Bob's is the newer one. */
async function fake(change: Partial<McpHome> = {}): Promise<Fake> {
  const memory = createMemoryStore();
  for (const [tenant, letter, at] of [
    ["alice", "a", 1],
    ["bob", "b", 2],
  ] as const)
    await memory.commit([
      {
        kind: "session",
        session: { id: idOf(letter), tenant, wire: "anthropic", createdAt: at, updatedAt: at },
      },
    ]);
  const looked: string[] = [];
  const askers: Asker[] = [];
  const compacted: string[] = [];
  const store: McpHome["store"] = {
    ...memory,
    session: (id) => {
      looked.push(id);
      return memory.session(id);
    },
  };
  const own: McpHome["own"] = {
    answer: async (asker, call) => {
      askers.push(asker);
      return { text: call.kind, isError: call.kind === "invalid" };
    },
  };
  const compact: McpHome["compact"] = async (session) => {
    compacted.push(session);
    return {
      edits: [1],
      strategies: ["excerpt"],
      tokensBefore: 9,
      tokensAfter: 5,
      messagesBefore: 4,
      messagesAfter: 2,
    };
  };
  return { home: { store, own, compact, ...change }, looked, askers, compacted };
}

function tool(name: string): McpTool {
  const found = mcpTools.find((known) => known.name === name);
  if (found === undefined) throw new Error(`There is no ${name}.`);
  return found;
}

async function connected(open: () => Promise<McpHome>): Promise<Client> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  await mcpServerOver(open, { tenant: "alice", version: "1.2.3", work: memoryWork() }).connect(far);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(near);
  return client;
}

describe("whose session is meant", () => {
  test("without a name it is the newest of the tenant; of all for the owner", async () => {
    const { home, askers, compacted } = await fake();
    for (const tenant of ["alice", "bob", undefined]) {
      await tool("recall").answer({ home, tenant, input: { query: "x" } });
      await tool("compact_context").answer({ home, tenant, input: {} });
    }
    const meant = [idOf("a"), idOf("b"), idOf("b")];
    expect(askers.map(({ session }) => session)).toEqual(meant);
    expect(askers.map(({ tenant }) => tenant)).toEqual(["alice", "bob", undefined]);
    expect(compacted).toEqual(meant);
  });

  test("only the owner may open a handle without saying whose it is", async () => {
    const { home, askers } = await fake();
    const ask = async (tenant: string | undefined, input: Record<string, string>): Promise<void> =>
      void (await tool("read_result").answer({ home, tenant, input }));
    const handle = { ref_id: "pl_0000000000000000000000" };
    await ask(undefined, handle);
    await ask("alice", handle);
    await ask("alice", { ref_id: "#12" });
    await ask("alice", { ...handle, session: idOf("a") });
    expect(askers.map(({ session }) => session)).toEqual([
      undefined,
      idOf("a"),
      idOf("a"),
      idOf("a"),
    ]);
  });

  test("where several people may share a token, a session must be named", async () => {
    const { home, askers } = await fake();
    const second = {
      id: idOf("c"),
      tenant: "alice",
      wire: "anthropic",
      createdAt: 3,
      updatedAt: 3,
    };
    const sessions: McpHome["store"]["sessions"] = async () =>
      [second, { ...second, id: idOf("a") }].map((session) => ({
        ...session,
        branches: 1,
        messages: 1,
        turns: 1,
      }));
    const shared = { ...home, store: { ...home.store, sessions } };
    for (const { answer } of mcpTools)
      await expect(
        answer({ home: shared, tenant: "alice", input: { query: "x", ref_id: "#1" } }),
      ).rejects.toMatchObject({ code: "USAGE", message: expect.stringContaining("`session`") });
    expect(askers).toEqual([]);
  });

  test("the store is asked by well-formed ids only, and nobody gets a session of another tenant", async () => {
    const { home, looked, askers, compacted } = await fake();
    const ids = fc.oneof(
      fc.constantFrom("../plimsoll.db", "ses_%2e%2e", "ses_\0", "con", `${idOf("a")}\n`, idOf("b")),
      fc.string({ minLength: 1 }),
      fc.string({ minLength: 1 }).map((text) => `ses_${text}`),
      fc.jsonValue().filter((value) => value !== null && value !== "" && value !== idOf("a")),
    );
    await fc.assert(
      fc.asyncProperty(ids, fc.constantFrom(...mcpTools), async (session, { answer }) => {
        const input = { query: "x", ref_id: "#1", session: session as string };
        await expect(answer({ home, tenant: "alice", input })).rejects.toMatchObject({
          code: "SESSION_UNKNOWN",
        });
      }),
    );
    expect([askers, compacted]).toEqual([[], []]);
    for (const id of looked) expect(id).toMatch(/^ses_[0-9A-Za-z]{22}$/);
  });
});

describe("what fails", () => {
  const failing =
    (error: unknown): McpHome["compact"] =>
    () =>
      Promise.reject(error);

  test("is said in a sentence of ours; what others say of files stays here", async () => {
    const known = new PlimsollError("NOTHING_TO_DO", "There is nothing to take out.");
    const foreign = new Error("ENOENT: open '/home/alice/.plimsoll/plimsoll.db'");
    for (const [error, text] of [
      [known, known.message],
      [foreign, "Something went wrong here."],
    ] as const) {
      const { home } = await fake({ compact: failing(error) });
      const client = await connected(async () => home);
      const result = await client.callTool({ name: "compact_context", arguments: {} });
      expect(result).toMatchObject({ isError: true, content: [{ type: "text", text }] });
      await client.close();
    }
  });

  test("to open is tried anew with the next call", async () => {
    const { home } = await fake();
    let tries = 0;
    const client = await connected(async () => {
      tries++;
      if (tries === 1) throw new PlimsollError("NOT_FOUND", "Nothing is recorded yet.");
      return home;
    });
    const call = { name: "recall", arguments: { query: "x" } };
    expect(await client.callTool(call)).toMatchObject({ isError: true });
    expect(await client.callTool(call)).toMatchObject({
      structuredContent: { session: idOf("a"), text: "recall" },
    });
    await client.close();
  });
});

test("numbers that a model wrote as text are taken, and nothing that it asks for is refused by a schema", async () => {
  const { home } = await fake();
  const client = await connected(async () => home);
  const input = { ref_id: "#1", offset: "10", limit: null, grep: "", unknown: [1] };
  expect(await client.callTool({ name: "read_result", arguments: input })).toMatchObject({
    structuredContent: { text: "read_result" },
  });
  await client.close();
});

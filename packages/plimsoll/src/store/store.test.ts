/** One conformance suite for every store. */

import { copyFileSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { Edit } from "../message/edit.ts";
import type { PlimsollEvent } from "../message/event.ts";
import { cutBlocks, joinIds, nameOfBlock } from "./blocks.ts";
import { packBody, sha256 } from "./body.ts";
import { createMemoryStore } from "./memory.ts";
import { schemaVersion } from "./migrations.ts";
import { openSqliteStore } from "./sqlite.ts";
import type { ErrorRecord, NodeRecord, Store, TurnRecord, Write } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "plimsoll-store-"));
afterAll(() => rmSync(folder, { recursive: true }));
let fileNumber = 0;
const freshFile = (): string => join(folder, `store-${++fileNumber}.db`);
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

const open: Store[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});
const openers: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => createMemoryStore(),
  sqlite: () => openSqliteStore({ file: freshFile() }),
};

function session(
  id: string,
  changes: { tenant?: string; clientKey?: string; updatedAt?: number } = {},
): Write {
  const { tenant = "t1", updatedAt = 1 } = changes;
  return {
    kind: "session",
    session: {
      id,
      tenant,
      wire: "anthropic",
      createdAt: 1,
      updatedAt,
      ...(changes.clientKey ? { clientKey: changes.clientKey } : {}),
    },
  };
}

const edit: Edit = {
  seq: 1,
  branch: "main",
  step: "turn_1",
  anchor: "chain-2",
  at: 1,
  action: { kind: "remove", first: "chain-1", last: "chain-2", text: "cut", handle: "pl_1" },
  place: "undefined",
  strategy: "truncate",
  reason: "full",
  tokensBefore: 9,
  tokensAfter: 2,
};

function node(seq: number, text: string, changes: Partial<NodeRecord> = {}): NodeRecord {
  return {
    seq,
    parent: seq === 1 ? null : seq - 1,
    role: "user",
    source: "request",
    turn: "turn_1",
    identity: `identity-${text}`,
    chain: `chain-${seq}-${text}`,
    hash: sha256(text),
    bytes: text.length,
    tokens: 3,
    certainty: "exact",
    isComplete: true,
    at: 5,
    ...changes,
  };
}

async function message(
  id: string,
  seq: number,
  text: string,
  changes: Partial<NodeRecord> = {},
): Promise<Write> {
  return {
    kind: "message",
    session: id,
    tenant: "t1",
    node: node(seq, text, changes),
    body: await packBody(bytesOf(text)),
  };
}

function turn(id: string, startedAt: number): TurnRecord {
  const measurement = {
    system: 1,
    skills: 0,
    tools: 2,
    conversation: 3,
    total: 6,
    certainty: "exact",
  } as const;
  return {
    id,
    branch: "main",
    relation: "new",
    requestTip: 1,
    model: "m\u0000\ud800",
    outcome: "passthrough",
    status: "complete",
    measurement,
    limit: 10,
    window: 20,
    startedAt,
    endedAt: startedAt + 1,
  };
}

async function headWrites(session: string, text: string): Promise<readonly Write[]> {
  const blocks = cutBlocks(bytesOf(text));
  const writes = blocks.map(
    async ({ id, bytes }): Promise<Write> => ({
      kind: "block",
      session,
      id,
      body: await packBody(bytes),
    }),
  );
  return [
    ...(await Promise.all(writes)),
    { kind: "head", session, hash: sha256(text), blocks: joinIds(blocks) },
  ];
}

const event: PlimsollEvent = { type: "session-start", session: "ses_a", at: 1, wire: "anthropic" };

/** One session with something in every table. All such sessions have the same words. */
async function everythingOf(id: string): Promise<readonly Write[]> {
  const spelling = bytesOf("the same words, as the client spells them");
  const source = { kind: "messages", runs: [[1, 1, 14]] } as const;
  return [
    session(id, { clientKey: `client of ${id}` }),
    {
      kind: "branch",
      session: id,
      branch: { id: "main", relation: "new", forkSeq: null, tipSeq: 2, createdAt: 1 },
    },
    await message(id, 1, "the same words"),
    await message(id, 2, "the same words", { role: "assistant", source: "answer", talk: "talk" }),
    ...(await headWrites(id, "the same preamble")),
    {
      kind: "wording",
      session: id,
      seq: 2,
      hash: sha256(spelling),
      bytes: spelling.length,
      body: await packBody(spelling),
    },
    { kind: "turn", session: id, turn: turn("turn_1", 1) },
    { kind: "edit", session: id, edit },
    {
      kind: "archive",
      entry: { handle: `pl_${id}`, tenant: "t1", session: id, bytes: 14, at: 1, source },
    },
    { kind: "reference", tenant: "t1", reference: { name: `resp_${id}`, session: id, seq: 2 } },
    { kind: "memory", session: id, name: "main", memory: { task: "the same words" } },
    {
      kind: "error",
      tenant: "t1",
      error: { session: id, code: "BREAKER_FAILED", message: "the same words", at: 1 },
    },
    { kind: "event", tenant: "t1", event: { ...event, session: id } },
  ];
}

/** Every question that a store answers about one session. */
async function answersAbout(store: Store, id: string): Promise<object> {
  const talks = { tenant: "t1", wire: "anthropic", talks: ["talk"], limit: 9 };
  return {
    snapshot: await store.snapshot(id),
    messages: await store.messages(id, { limit: 9 }),
    spellings: (await store.clientSpellings(id, [2])).size,
    head: await store.head(id, sha256("the same preamble")),
    turns: await store.turns(id, 9),
    archived: await store.archived("t1", `pl_${id}`),
    reference: await store.reference("t1", `resp_${id}`),
    errors: await store.errors({ session: id, limit: 9 }),
    events: await store.events({ session: id, after: 0, limit: 9 }),
    memories: (await store.memories(id)).size,
    named: await store.sessionByClientKey("t1", "anthropic", `client of ${id}`),
    holders: (await store.holders(talks)).toSorted(),
  };
}

for (const [name, opener] of Object.entries(openers)) {
  describe(`${name} store`, () => {
    const fresh = async (): Promise<Store> => {
      const store = await opener();
      open.push(store);
      return store;
    };

    test("memories replace each other, and are forgotten one by one", async () => {
      const store = await fresh();
      const memory = (session: string, name: string, value: object | null): Write => ({
        kind: "memory",
        session,
        name,
        memory: value,
      });
      await store.commit([
        session("ses_a"),
        memory("ses_a", "", { overflows: [1] }),
        memory("ses_a", "main", { turns: 1 }),
        memory("", "p/m", { factor: 1.25 }),
      ]);
      await store.commit([memory("ses_a", "main", { turns: 2 }), memory("ses_a", "", null)]);
      expect((await store.snapshot("ses_a"))?.memories).toEqual(new Map([["main", { turns: 2 }]]));
      expect(await store.memories("")).toEqual(new Map([["p/m", { factor: 1.25 }]]));
      await store.putAside("ses_a");
      expect(await store.memories("ses_a")).toEqual(new Map());
      expect((await store.memories("")).size).toBe(1);
    });

    test("what one commit wrote is read back whole", async () => {
      const store = await fresh();
      const large = `${"log line\n".repeat(2000)}\u0000end`;
      await store.commit([
        session("ses_a", { clientKey: "k" }),
        {
          kind: "branch",
          session: "ses_a",
          branch: {
            id: "main",
            relation: "new",
            forkSeq: null,
            tipSeq: 2,
            counters: { current: 1, schema: 4 },
            createdAt: 1,
          },
        },
        await message("ses_a", 1, "hello"),
        await message("ses_a", 2, large, {
          looseChain: "loose",
          role: "assistant",
          source: "answer",
        }),
        ...(await headWrites("ses_a", "head")),
        { kind: "turn", session: "ses_a", turn: turn("turn_1", 1) },
        {
          kind: "edit",
          session: "ses_a",
          edit,
        },
        { kind: "event", tenant: "t1", event },
      ]);
      const page = await store.messages("ses_a", { limit: 10 });
      expect(page.map(({ body }) => new TextDecoder().decode(body))).toEqual(["hello", large]);
      expect(page.map(({ body: _body, ...rest }) => rest)).toEqual([
        node(1, "hello"),
        node(2, large, { looseChain: "loose", role: "assistant", source: "answer" }),
      ]);
      expect(await store.sessionByClientKey("t1", "anthropic", "k")).toMatchObject({ id: "ses_a" });
      expect((await store.sessionsNamed("anthropic", "k")).map(({ id }) => id)).toContain("ses_a");
      expect(await store.sessionsNamed("openai-chat", "k")).toEqual([]);
      const beginning = async (prefix: string, tenant?: string): Promise<readonly string[]> =>
        (await store.sessionsBeginning(prefix, { tenant, limit: 2 })).map(({ id }) => id);
      expect(await beginning("ses_")).toEqual(["ses_a"]);
      expect([await beginning("ses_a", "t1"), await beginning("ses_a", "t2")]).toEqual([
        ["ses_a"],
        [],
      ]);
      expect([await beginning("ses_b"), await beginning("ses_aa"), await beginning("%")]).toEqual([
        [],
        [],
        [],
      ]);
      expect(await store.snapshot("ses_a")).toMatchObject({
        branches: [{ id: "main", tipSeq: 2, counters: { current: 1, schema: 4 } }],
        nodes: [{ seq: 1 }, { seq: 2 }],
        edits: [edit],
      });
      expect(await store.head("ses_a", sha256("head"))).toEqual(bytesOf("head"));
      expect(await store.turns("ses_a", 5)).toEqual([turn("turn_1", 1)]);
      expect(await store.edits("ses_a")).toEqual([edit]);
      expect(await store.figures()).toEqual({ sessions: 1, messages: 2, archiveBytes: 0 });
      expect((await store.bodies("ses_a", [2, 9])).get(2)).toHaveLength(large.length);
    });

    test("a deleted session is gone from every question, and another with the same words stays", async () => {
      const store = await fresh();
      for (const id of ["ses_a", "ses_b"]) await store.commit(await everythingOf(id));
      const others = await answersAbout(store, "ses_b");
      const { gone, ...rest } = await store.forget({ sessions: ["ses_a", "ses_z"], at: 5 });
      expect(rest).toEqual({ goneAside: [], resumed: [], unfinished: [] });
      expect(gone).toEqual([
        expect.objectContaining({
          session: "ses_a",
          tenant: "t1",
          messages: 2,
          archiveEntries: 1,
          bytes: expect.any(Number),
        }),
      ]);
      expect(await store.holdings(["ses_a", "ses_b"])).toEqual([
        { ...gone[0], session: "ses_b", bytes: expect.any(Number) },
      ]);
      expect(await answersAbout(store, "ses_a")).toEqual({
        snapshot: undefined,
        messages: [],
        spellings: 0,
        head: undefined,
        turns: [],
        archived: undefined,
        reference: undefined,
        errors: [],
        events: [],
        memories: 0,
        named: undefined,
        holders: ["ses_b"],
      });
      expect(await answersAbout(store, "ses_b")).toEqual({ ...others, holders: ["ses_b"] });
      expect((await store.forget({ sessions: ["ses_a"], at: 6 })).gone).toEqual([]);
    });

    test("nothing of a deleted session can be written again, and its client's name is free", async () => {
      const store = await fresh();
      await store.commit(await everythingOf("ses_a"));
      const [{ bytes = 0 } = {}] = await store.holdings(["ses_a"]);
      expect(bytes).toBeGreaterThan(2 * "the same words".length);
      expect(await store.size()).toBeGreaterThanOrEqual(bytes);
      const newest = await store.commit([{ kind: "event", tenant: "t1", event }]);
      await store.forget({ sessions: ["ses_a"], at: 5 });
      const next = { ...event, session: "ses_b" };
      const after = await store.commit([{ kind: "event", tenant: "t1", event: next }]);
      expect(after.events[0]).toBe((newest.events[0] ?? 0) + 1);
      expect((await store.events({ after: 0, limit: 9 })).map((one) => one.event)).toEqual([next]);
      const late = [session("ses_a", { updatedAt: 9 }), await message("ses_a", 3, "late")];
      await expect(store.commit(late)).rejects.toMatchObject({ code: "STORE_CONFLICT" });
      expect(await store.messages("ses_a", { limit: 9 })).toEqual([]);
      await store.commit([session("ses_c", { clientKey: "client of ses_a" })]);
      expect(await store.sessionByClientKey("t1", "anthropic", "client of ses_a")).toMatchObject({
        id: "ses_c",
      });
    });

    test("a commit that fails leaves nothing behind", async () => {
      const store = await fresh();
      await store.commit([session("ses_a"), await message("ses_a", 1, "first")]);
      const doomed = [await message("ses_a", 2, "second"), await message("ses_a", 1, "again")];
      await expect(store.commit(doomed)).rejects.toMatchObject({ code: "STORE_CONFLICT" });
      expect(await store.messages("ses_a", { limit: 10 })).toHaveLength(1);
    });

    test("commits that wait together do not fail together", async () => {
      const store = await fresh();
      await store.commit([session("ses_a"), await message("ses_a", 1, "first")]);
      const texts = Array.from({ length: 20 }, (_, index) => `message ${index}`);
      const writes = await Promise.all(
        texts.map((text, index) => message("ses_a", index === 7 ? 1 : index + 2, text)),
      );
      const spoiled = await message("ses_a", 99, "written before its commit fails");
      const settled = await Promise.allSettled(
        writes.map((write, index) => store.commit(index === 7 ? [spoiled, write] : [write])),
      );
      expect(settled.map(({ status }) => status === "rejected")).toEqual(
        texts.map((_, index) => index === 7),
      );
      expect(await store.messages("ses_a", { limit: 100 })).toHaveLength(20);
    });

    test("a branch and a session move, messages never change", async () => {
      const store = await fresh();
      const branch = {
        id: "main",
        relation: "new",
        forkSeq: null,
        tipSeq: 1,
        createdAt: 1,
      } as const;
      await store.commit([
        session("ses_a"),
        { kind: "branch", session: "ses_a", branch },
        await message("ses_a", 1, "one"),
      ]);
      const more = [2, 3, 4].map((seq) => message("ses_a", seq, `number ${seq}`));
      await store.commit([
        session("ses_a", { updatedAt: 9 }),
        ...(await Promise.all(more)),
        { kind: "branch", session: "ses_a", branch: { ...branch, tipSeq: 4 } },
      ]);
      expect(await store.snapshot("ses_a")).toMatchObject({
        session: { updatedAt: 9 },
        branches: [{ tipSeq: 4, relation: "new" }],
      });
    });

    test("of a session that is written again everything is replaced, whatever has changed", async () => {
      const store = await fresh();
      const changes = [
        { clientKey: "a" },
        { clientKey: "a", updatedAt: 2 },
        { clientKey: "b", updatedAt: 3 },
        { tenant: "t2", updatedAt: 3 },
      ];
      for (const change of changes) {
        const write = session("s", change);
        await store.commit([write]);
        expect(await store.session("s")).toEqual(write.kind === "session" && write.session);
      }
    });

    test("answers are found by what was said, in their own tenant and wire, the newest first", async () => {
      const store = await fresh();
      const answer = { role: "assistant", source: "answer" } as const;
      await store.commit([
        session("ses_a"),
        await message("ses_a", 1, "a", { talk: "k0" }),
        await message("ses_a", 2, "b", { ...answer, talk: "k1" }),
        await message("ses_a", 3, "c", { ...answer, talk: "deep" }),
      ]);
      for (const id of ["ses_b", "ses_c", "ses_d"])
        await store.commit([session(id), await message(id, 1, "b", { ...answer, talk: "k1" })]);
      await store.commit([
        session("ses_n", { clientKey: "named" }),
        await message("ses_n", 1, "b", { ...answer, talk: "k1" }),
      ]);
      const asked = { tenant: "t1", wire: "anthropic", talks: ["deep", "k1", "zz"], limit: 2 };
      expect(await store.answers(asked)).toEqual([
        { session: "ses_a", seq: 3, talk: "deep" },
        { session: "ses_d", seq: 1, talk: "k1" },
        { session: "ses_c", seq: 1, talk: "k1" },
      ]);
      expect(await store.answers({ ...asked, talks: ["k0"] })).toEqual([]);
      expect(await store.answers({ ...asked, tenant: "t2" })).toEqual([]);
      expect(await store.answers({ ...asked, wire: "openai-chat" })).toEqual([]);
      expect(await store.holders({ ...asked, talks: ["k0"] })).toEqual(["ses_a"]);
      const all = await store.holders({ ...asked, talks: ["k1"], limit: 9 });
      expect(all.toSorted()).toEqual(["ses_a", "ses_b", "ses_c", "ses_d", "ses_n"]);
    });

    test("a head that changes a little is put together from blocks, most of them old ones", async () => {
      const store = await fresh();
      const lines = Array.from({ length: 900 }, (_, line) => `line ${line} of a long prompt\n`);
      const heads = ["Monday", "Tuesday"].map((day) => [...lines, day, ...lines].join(""));
      await store.commit([session("ses_a")]);
      for (const head of heads) await store.commit(await headWrites("ses_a", head));
      for (const head of heads)
        expect(await store.head("ses_a", sha256(head))).toEqual(bytesOf(head));
      expect(await store.head("ses_a", sha256("other"))).toBeUndefined();
      const [old, fresher] = heads.map((head) =>
        cutBlocks(bytesOf(head)).map(({ id }) => nameOfBlock(id)),
      );
      const added = fresher?.filter((id) => !old?.includes(id)) ?? [];
      expect(added.length).toBeLessThan(7);
    });

    test("the newest session is the one that was written to last, whatever the clock said", async () => {
      const store = await fresh();
      const turnOf = (id: string, number: number): Write => ({
        kind: "turn",
        session: id,
        turn: turn(`turn_${number}`, number),
      });
      expect(await store.newestSession()).toBeUndefined();
      await store.commit([session("ses_a", { updatedAt: 9_000_000 }), turnOf("ses_a", 1)]);
      await store.commit([session("ses_b", { updatedAt: 5 }), turnOf("ses_b", 2)]);
      expect(await store.newestSession()).toMatchObject({ id: "ses_b" });
      expect(await store.newestSession("t1")).toMatchObject({ id: "ses_b" });
      expect(await store.newestSession("nobody")).toBeUndefined();
    });

    test("a session that is put aside is gone, and everything else is as it was", async () => {
      const store = await fresh();
      for (const id of ["ses_a", "ses_b"])
        await store.commit([
          session(id, { clientKey: id }),
          await message(id, 1, `of ${id}`),
          { kind: "turn", session: id, turn: turn(`turn_${id}`, 1) },
        ]);
      await store.putAside("ses_a");
      expect(await store.session("ses_a")).toBeUndefined();
      expect(await store.turns("ses_a", 9)).toEqual([]);
      expect(await store.messages("ses_b", { limit: 9 })).toHaveLength(1);
      // The client's name for it is free again.
      await store.commit([session("ses_n", { clientKey: "ses_a" })]);
      expect(await store.sessionByClientKey("t1", "anthropic", "ses_a")).toMatchObject({
        id: "ses_n",
      });
    });

    test("a session gets its title later than its client and its folder, and keeps all three", async () => {
      const store = await fresh();
      const one = session("ses_t", { clientKey: "titled" });
      const named = { client: "Claude Code", folder: "/home/me/hull" };
      if (one.kind !== "session") return;
      await store.commit([{ ...one, session: { ...one.session, ...named } }]);
      expect(await store.session("ses_t")).toMatchObject(named);
      const titled = { ...named, title: "Fix the rudder", updatedAt: 5 };
      await store.commit([{ ...one, session: { ...one.session, ...titled } }]);
      expect(await store.session("ses_t")).toMatchObject(titled);
      expect((await store.sessions({ limit: 5 }))[0]).toMatchObject(titled);
    });

    test("the words of a client are kept beside those of the provider, the first of them", async () => {
      const store = await fresh();
      const wording = async (text: string): Promise<Write> => ({
        kind: "wording",
        session: "ses_a",
        seq: 2,
        hash: sha256(text),
        bytes: text.length,
        body: await packBody(bytesOf(text)),
      });
      await store.commit([session("ses_a"), await message("ses_a", 2, "b"), await wording("B")]);
      await store.commit([await wording("other")]);
      expect((await store.clientSpellings("ses_a", [1, 2])).get(2)).toEqual(bytesOf("B"));
      expect(await store.clientSpellingSizes("ses_a")).toEqual(new Map([[2, 1]]));
      expect((await store.bodies("ses_a", [2])).get(2)).toEqual(bytesOf("b"));
    });

    test("a provider's names lead to messages, in their own tenant only", async () => {
      const store = await fresh();
      const reference = { name: "resp_1", session: "ses_a", seq: 4 };
      await store.commit([{ kind: "reference", tenant: "t1", reference }]);
      await store.commit([
        { kind: "reference", tenant: "t1", reference: { ...reference, seq: 9 } },
      ]);
      expect(await store.reference("t1", "resp_1")).toEqual(reference);
      expect(await store.reference("t2", "resp_1")).toBeUndefined();
      expect(await store.reference("t1", "resp_2")).toBeUndefined();
    });

    test("errors are kept, last first, by tenant and session", async () => {
      const store = await fresh();
      const error = (number: number, of: string): ErrorRecord => ({
        session: of,
        code: "TOKEN_LIMIT_EXCEEDED",
        message: `error ${number}`,
        at: number,
        fields: { number },
      });
      await store.commit([
        { kind: "error", tenant: "t1", error: error(1, "ses_a") },
        { kind: "error", tenant: "t1", error: error(2, "ses_b") },
        { kind: "error", tenant: "t2", error: error(3, "ses_c") },
      ]);
      expect(await store.errors({ limit: 2 })).toEqual([error(3, "ses_c"), error(2, "ses_b")]);
      expect(await store.errors({ tenant: "t1", limit: 9 })).toHaveLength(2);
      expect(await store.errors({ tenant: "t1", session: "ses_a", limit: 9 })).toEqual([
        error(1, "ses_a"),
      ]);
    });

    test("the archive answers its own tenant and the owner, and nobody else", async () => {
      const store = await fresh();
      const entry = {
        handle: "pl_1",
        tenant: "t1",
        session: "ses_a",
        bytes: 4,
        at: 1,
        source: { kind: "messages", runs: [[1, 2, 4]] },
      } as const;
      await store.commit([{ kind: "archive", entry }]);
      await store.commit([{ kind: "archive", entry: { ...entry, bytes: 9 } }]);
      expect(await store.archived("t1", "pl_1")).toEqual(entry);
      expect(await store.archived(undefined, "pl_1")).toEqual(entry);
      expect(await store.archived("t2", "pl_1")).toBeUndefined();
      expect(await store.archived("t1", "pl_2")).toBeUndefined();
    });

    test("sessions are listed newest first, page by page, per tenant", async () => {
      const store = await fresh();
      await store.commit(
        [1, 2, 3, 4].map((at) =>
          session(`ses_${at}`, { updatedAt: at, tenant: at === 4 ? "t2" : "t1" }),
        ),
      );
      const ids = async (query: Parameters<Store["sessions"]>[0]): Promise<string[]> =>
        (await store.sessions(query)).map(({ id }) => id);
      expect(await ids({ limit: 2 })).toEqual(["ses_4", "ses_3"]);
      expect(await ids({ limit: 9, before: { updatedAt: 3, id: "ses_3" } })).toEqual([
        "ses_2",
        "ses_1",
      ]);
      expect(await ids({ tenant: "t2", limit: 9 })).toEqual(["ses_4"]);
    });

    test("events are numbered as they are written, and can be asked for again", async () => {
      const store = await fresh();
      const { events: first } = await store.commit([{ kind: "event", tenant: "t1", event }]);
      const { events: next } = await store.commit([
        { kind: "event", tenant: "t2", event },
        { kind: "event", tenant: "t1", event },
      ]);
      expect([...first, ...next]).toEqual([1, 2, 3]);
      expect((await store.events({ after: 1, limit: 9 })).map(({ seq }) => seq)).toEqual([2, 3]);
      expect(
        (await store.events({ after: 0, limit: 9, tenant: "t1" })).map(({ seq }) => seq),
      ).toEqual([1, 3]);
      expect(await store.events({ after: 0, limit: 9, session: "ses_b" })).toEqual([]);
    });

    test("wrong bytes are never given out", async () => {
      const store = await fresh();
      const body = await packBody(bytesOf("changed"));
      await store.commit([
        session("ses_a"),
        { kind: "message", session: "ses_a", tenant: "t1", node: node(1, "original"), body },
      ]);
      await expect(store.messages("ses_a", { limit: 1 })).rejects.toMatchObject({
        code: "STORE_CORRUPT",
      });
    });

    test("a closed store says so", async () => {
      const store = await opener();
      await store.close();
      await expect(store.commit([session("ses_a")])).rejects.toMatchObject({
        code: "STORE_FAILED",
      });
    });
  });
}

describe("sqlite files", () => {
  test("only the user can read them, and what was committed is there after opening again", async () => {
    const file = freshFile();
    const store = await openSqliteStore({ file });
    await store.commit([session("ses_a"), await message("ses_a", 1, "kept")]);
    const modes = readdirSync(folder).filter((name) => join(folder, name).startsWith(file));
    expect(modes.map((name) => statSync(join(folder, name)).mode & 0o077)).toEqual(
      modes.map(() => 0),
    );
    await store.close();
    const again = await openSqliteStore({ file, isReadOnly: true });
    open.push(again);
    expect(await again.messages("ses_a", { limit: 5 })).toHaveLength(1);
  });

  test("a newer schema is refused with a sentence", async () => {
    const file = freshFile();
    const database = new Database(file);
    database.pragma(`user_version = ${schemaVersion + 1}`);
    database.close();
    await expect(openSqliteStore({ file })).rejects.toMatchObject({
      code: "STORE_NEWER",
      message: expect.stringContaining("Update Plimsoll"),
    });
  });

  test("a file that is no database is refused and left alone", async () => {
    const file = freshFile();
    writeFileSync(
      file,
      "this is a letter to my aunt, not a database, and it is long enough to be read".repeat(20),
    );
    await expect(openSqliteStore({ file })).rejects.toMatchObject({ code: "STORE_CORRUPT" });
    expect(statSync(file).size).toBeGreaterThan(1000);
  });

  test("flipped bytes on disk are noticed when they are read", async () => {
    const file = freshFile();
    const store = await openSqliteStore({ file });
    await store.commit([session("ses_a"), await message("ses_a", 1, "precious ".repeat(100))]);
    await store.close();
    const copy = `${file}.copy`;
    copyFileSync(file, copy);
    const database = new Database(copy);
    database.prepare("UPDATE messages SET body = ?").run(Buffer.from("pretious ".repeat(100)));
    database.close();
    const damaged = await openSqliteStore({ file: copy });
    open.push(damaged);
    await expect(damaged.messages("ses_a", { limit: 1 })).rejects.toMatchObject({
      code: "STORE_CORRUPT",
    });
  });
});
